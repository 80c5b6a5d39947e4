import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { linkUser } from '../../test/support/links.ts'

const service = await createApp({ settings: { WELCOME_CREDITS: '1000' } })
const developer = await service.register()
const user = await service.register()
const developer_key = await service.createKey(developer.bearer)
const user_key = await service.createKey(developer.bearer, { billing_mode: 'user' })
await linkUser(service, { developer, user, external_user_id: 'u-1' })

const balance = (key: string, headers: Record<string, string> = {}) =>
  service.request({ url: '/v1/balance', headers: { 'x-api-key': key, ...headers } })

test('a developer key reads the developer’s own wallet', async () => {
  const reply = await balance(developer_key.key)
  assert.equal(reply.statusCode, 200)
  assert.deepEqual(reply.json(), {
    balance: 1000,
    held: 0,
    available: 1000,
    promotional: 1000,
    billing_mode: 'developer',
  })
})

test('with X-Svc-User it reads the linked user’s, and either kind of key may name one so', async () => {
  for (const { key } of [developer_key, user_key]) {
    const reply = await balance(key, { 'x-svc-user': 'u-1' })
    assert.equal(reply.json().billing_mode, 'user')
  }
})

test('a user key takes X-External-User-ID, a developer key does not', async () => {
  const headers = { 'x-external-user-id': 'u-1' }
  assert.equal((await balance(user_key.key, headers)).json().billing_mode, 'user')
  for (const wrong of [headers, { ...headers, 'x-svc-user': 'u-1' }]) {
    const reply = await balance(developer_key.key, wrong)
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
  }
})

test('a user key that names nobody is told how to', async () => {
  const reply = await balance(user_key.key)
  assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
  assert.match(reply.json().error.hint, /X-Svc-User.*X-External-User-ID.*\/v1\/users\/.*X-API-Key/)
})

test('two names that disagree are refused, two that agree are one', async () => {
  const two = (other: string) =>
    balance(user_key.key, { 'x-svc-user': 'u-1', 'x-external-user-id': other })
  assert.equal((await two('u-2')).statusCode, 400)
  assert.equal((await two('u-1')).statusCode, 200)
})

test('an id without a link, or linked to another developer, is user_not_found', async () => {
  const stranger = await service.register()
  const { key } = await service.createKey(stranger.bearer)
  for (const reply of [
    await balance(developer_key.key, { 'x-svc-user': 'u-9' }),
    await balance(key, { 'x-svc-user': 'u-1' }),
  ]) {
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'user_not_found'])
  }
})

test('an ended link is no link', async () => {
  const other = await service.register()
  await linkUser(service, { developer, user: other, external_user_id: 'gone', ended: true })
  assert.equal((await balance(developer_key.key, { 'x-svc-user': 'gone' })).statusCode, 404)
})

test('of links through several apps the newest counts', async () => {
  const [older, newer] = [await service.register(), await service.register()]
  await linkUser(service, { developer, user: older, external_user_id: 'twice' })
  service.clock.advance(1000)
  await linkUser(service, { developer, user: newer, external_user_id: 'twice' })
  const { key } = await service.createKey(developer.bearer)
  const gift = { amount: 1, external_user_id: 'twice' }
  const funded = await service.post('/v1/funding/credit', gift, {
    'x-api-key': key,
    'idempotency-key': 'newest',
  })
  assert.equal(funded.json().user_id, newer.user_id)
})

test('an empty or oversized user id is 400', async () => {
  for (const id of ['', 'x'.repeat(256)]) {
    assert.equal((await balance(developer_key.key, { 'x-svc-user': id })).statusCode, 400)
  }
})

test('a session token is not what /v1/balance takes', async () => {
  const reply = await service.request({ url: '/v1/balance', headers: developer.bearer })
  assert.deepEqual([reply.statusCode, reply.json().error.code], [401, 'invalid_api_key'])
})
