// What a stranger copies from docs/idempotency.md works.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followPage } from '../support/documented-commands.ts'
import { createListeningApp } from '../support/listening-app.ts'

const service = await createListeningApp()

test('docs/idempotency.md: every command runs, and the second call prints what the first did', async () => {
  const addresses = { 'http://localhost:8080': service.address }
  const replies = await followPage({ file: 'docs/idempotency.md', addresses })
  const [first, second] = replies.at(-1) ?? []
  assert.match(first ?? '', /"svc":/)
  assert.equal(second, first)
})
