// What a stranger copies from docs/idempotency.md and docs/responses.md works.

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

test('docs/responses.md: every command runs, and the call says what it cost', async () => {
  const addresses = { 'http://localhost:8080': service.address }
  const replies = await followPage({ file: 'docs/responses.md', addresses })
  assert.match(replies.at(-1)?.[0] ?? '', /"object":"response".*"svc":/)
})
