// Chat over HTTP, field by field and line by line as the specification has it, and each way to say who pays.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { readEventStream } from '../support/event-stream.ts'
import { connect, connectHosted, createOAuthApp } from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer)
const { key } = await service.createKey(developer.bearer)

const CHAT = '/v1/chat/completions'
const BODY = {
  model: 'gpt-4o-mini',
  max_tokens: 40,
  messages: [{ role: 'user', content: '[[sandbox:echo]] Hello there.' }],
}
const ask = (headers: Record<string, string>, url = CHAT, more: object = {}) =>
  service.post(url, { ...BODY, ...more }, headers)

type Svc = {
  credits_used: number
  balance_before: number
  balance_after: number
  billing_mode?: string
}

function assertNumbers(svc: Svc, fields: readonly (keyof Svc)[]): void {
  for (const field of fields) assert.ok(field in svc, field)
  assert.ok(Number.isInteger(svc.credits_used) && svc.credits_used > 0)
  assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
}

const NUMBERS = ['credits_used', 'balance_before', 'balance_after'] as const

test('a completion has the fields of OpenAI, with svc beside them', async () => {
  const before = Math.floor(Date.now() / 1000)
  const reply = await ask({ authorization: `Bearer ${key}` })
  assert.equal(reply.statusCode, 200)
  assert.match(String(reply.headers['content-type']), /^application\/json/)
  const body = reply.json()
  assert.equal(typeof body.id, 'string')
  assert.equal(body.object, 'chat.completion')
  assert.ok(Number.isInteger(body.created) && body.created >= before - 5)
  assert.equal(body.model, 'gpt-4o-mini')
  assert.equal(body.choices[0].message.content, 'Hello there.')
  const { prompt_tokens, completion_tokens, total_tokens } = body.usage
  assert.ok(prompt_tokens > 0 && completion_tokens > 0)
  assert.equal(prompt_tokens + completion_tokens, total_tokens)
  assertNumbers(body.svc, [...NUMBERS, 'billing_mode'])
  assert.equal(body.svc.billing_mode, 'developer')
})

test('a streamed completion is data lines with deltas, then [DONE], then one line with svc', async () => {
  const reply = await ask({ 'x-api-key': key }, CHAT, { stream: true })
  assert.match(String(reply.headers['content-type']), /^text\/event-stream/)
  const events = readEventStream(reply.body)
  assert.ok(events.every(({ name }) => name === undefined))
  const done = events.findIndex(({ data }) => data === '[DONE]')
  assert.equal(done, events.length - 2, 'one line after [DONE]')
  const chunks = events.slice(0, done).map(({ data }) => JSON.parse(data))
  const said = chunks.map(({ choices }) => choices[0]?.delta?.content ?? '').join('')
  assert.equal(said, 'Hello there.')
  assertNumbers(JSON.parse(events.at(-1)?.data ?? '').svc, NUMBERS)
})

test('a streamed message is named events, from message_start to message_stop, and svc_usage last', async () => {
  const model = 'anthropic/claude-haiku-3.5'
  const reply = await ask({ 'x-api-key': key }, '/v1/messages', { model, stream: true })
  assert.match(String(reply.headers['content-type']), /^text\/event-stream/)
  assert.match(reply.body, /^event: message_start\ndata: \{/)
  const events = readEventStream(reply.body)
  assert.equal(events[0]?.name, 'message_start')
  assert.deepEqual(
    events.slice(-2).map(({ name }) => name),
    ['message_stop', 'svc_usage'],
  )
  const deltas = events
    .filter(({ name }) => name === 'content_block_delta')
    .map(({ data }) => JSON.parse(data).delta)
  assert.ok(deltas.every(({ type }) => type === 'text_delta'))
  assert.equal(deltas.map(({ text }) => text).join(''), 'Hello there.')
  assertNumbers(JSON.parse(events.at(-1)?.data ?? ''), NUMBERS)
})

test('a message that is not streamed carries svc too, and its errors are Anthropic’s', async () => {
  const reply = await ask({ 'x-api-key': key }, '/v1/messages')
  assert.equal(reply.json().type, 'message')
  assertNumbers(reply.json().svc, [...NUMBERS, 'billing_mode'])
  const { type, error } = (await ask({}, '/v1/messages')).json()
  assert.deepEqual([type, error.type, error.code], ['error', 'invalid_api_key', 'invalid_api_key'])
})

test('who pays: a key its developer, a token its user, and a key that names a linked user that user', async () => {
  await connectHosted(service, { app, user, external_user_id: 'u-1' })
  const { access_token } = await connect(service, { app, user })
  const user_key = (await service.createKey(developer.bearer, { billing_mode: 'user' })).key
  const balance = async ({ bearer }: typeof user) =>
    (await service.request({ url: '/auth/me', headers: bearer })).json<{ balance: number }>()
      .balance
  const ways: [string, Record<string, string>, string?][] = [
    ['developer', { 'x-api-key': key }],
    ['developer', { authorization: `Bearer ${key}` }],
    ['user', { authorization: `Bearer ${access_token}` }],
    ['user', { 'x-api-key': key, 'x-svc-user': 'u-1' }],
    ['user', { 'x-api-key': user_key, 'x-external-user-id': 'u-1' }],
    ['user', { 'x-api-key': user_key }, '/v1/users/u-1/chat/completions'],
    ['user', { 'x-api-key': user_key, authorization: `Bearer ${access_token}` }],
  ]
  for (const [mode, headers, url] of ways) {
    const payer = mode === 'user' ? user : developer
    const before = await balance(payer)
    const reply = await ask(headers, url)
    assert.equal(reply.statusCode, 200, reply.body)
    const svc = reply.json<{ svc: Svc }>().svc
    assert.equal(svc.billing_mode, mode, Object.keys(headers).join())
    assert.equal(svc.balance_before, before)
    assert.equal(await balance(payer), svc.balance_after)
  }
})

test('a key made for users does not bill its developer, whatever the endpoint', async () => {
  const { key: user_key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
  const reply = await ask({ 'x-api-key': user_key })
  assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
})

test('model and messages are needed: without them it is 400 bad_request', async () => {
  for (const missing of ['model', 'messages']) {
    const reply = await ask({ 'x-api-key': key }, CHAT, { [missing]: undefined })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'], missing)
    assert.equal(reply.json().error.param, missing)
  }
})

test('a call whose price is out of range is 500 pricing_error, and nothing is charged', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-catalog-'))
  const file = path.join(folder, 'catalog.json')
  const tokens = 100_000_000
  const output = { max_output_tokens: tokens, context_window: tokens }
  const prices = { input: 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 1e12 }
  const models = { 'gpt-4o-mini': { ...output, prices } }
  writeFileSync(file, JSON.stringify({ models }))
  const dear = await createApp({ settings: { CATALOG_FILE: file } })
  rmSync(folder, { recursive: true })
  const { bearer } = await dear.register()
  const made = await dear.createKey(bearer)
  const body = { ...BODY, max_tokens: undefined, n: 128 }
  const reply = await dear.post(CHAT, body, { 'x-api-key': made.key })
  assert.deepEqual([reply.statusCode, reply.json().error.code], [500, 'pricing_error'])
  const me = await dear.request({ url: '/auth/me', headers: bearer })
  assert.equal(me.json().balance, 1_000_000)
})
