// What a stranger copies from docs/usage.md works.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followPage } from '../support/documented-commands.ts'
import { createListeningApp } from '../support/listening-app.ts'

const service = await createListeningApp()

test('docs/usage.md: every command runs, from the first call to its receipt and sums', async () => {
  const addresses = { 'http://localhost:8080': service.address }
  const replies = await followPage({ file: 'docs/usage.md', addresses })
  const bodies = replies
    .flat()
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  const receipt = bodies.find((body) => 'receipt' in body)
  const summary = bodies.find((body) => 'total' in body)
  assert.equal(receipt?.['status'], 'ok')
  const total = summary?.['total'] as Record<string, unknown>
  assert.equal(total['credits'], receipt['credits_used'])
})
