// What nobody should send, and what they get for it: a 4xx in the envelope, with nothing of the inside.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { createApp } from '../support/app.ts'

const service = await createApp()
const { bearer } = await service.register()

const send = (payload: string, content_type = 'application/json') =>
  service.request({
    method: 'POST',
    url: '/developers/keys',
    headers: { ...bearer, 'content-type': content_type },
    payload,
  })

function assertRefused(reply: LightMyRequestResponse, status: number, code = 'bad_request'): void {
  assert.equal(reply.statusCode, status, reply.body)
  const { error } = reply.json()
  assert.equal(error.code, code)
  assert.equal(error.request_id, reply.headers['x-request-id'])
  assert.doesNotMatch(reply.body, /stack|node_modules|\.ts:/)
}

test('what is not JSON is 400', async () => {
  for (const body of ['{', 'hello', '{"a":1}}', '\u0000', '{"a":01}', "{'a':1}"]) {
    assertRefused(await send(body), 400)
  }
})

test('no body where one is needed is 400', async () => {
  assertRefused(await send(''), 400)
})

test('JSON 100,000 levels deep is 400', async () => {
  assertRefused(await send('['.repeat(100_000) + ']'.repeat(100_000)), 400)
  const inside = `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)},"billing_mode":"developer"}`
  assertRefused(await send(inside), 400)
})

test('keys that would change prototypes are 400', async () => {
  assertRefused(await send('{"__proto__":{"a":1},"name":"x","billing_mode":"user"}'), 400)
  assertRefused(
    await send('{"constructor":{"prototype":{}},"name":"x","billing_mode":"user"}'),
    400,
  )
})

test('another content type is 415, whatever it holds', async () => {
  const body = '{"name":"x","billing_mode":"developer"}'
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'x/y',
  ]) {
    assertRefused(await send(body, type), 415)
  }
})

test('a body past the limit is 413', async () => {
  assertRefused(await send(`{"name":"${'x'.repeat(2_000_000)}"}`), 413)
})

test('an unknown address is 404, a known one with another method 405 with Allow', async () => {
  assertRefused(await service.request({ url: '/v1/nothing' }), 404, 'not_found')
  assertRefused(await service.request({ method: 'POST', url: '/' }), 405)
  const reply = await service.request({ method: 'PATCH', url: '/developers/keys', headers: bearer })
  assertRefused(reply, 405)
  assert.equal(reply.headers['allow'], 'POST, GET, HEAD')
  const broken = await service.request({
    method: 'PUT',
    url: '/auth/login',
    headers: { 'content-type': 'application/json' },
    payload: '{',
  })
  assertRefused(broken, 405)
})

test('an address that cannot be decoded or is too long is 4xx', async () => {
  assertRefused(await service.request({ url: '/%zz' }), 400)
  const long = await service.request({
    method: 'DELETE',
    url: `/developers/keys/${'a'.repeat(5_000)}`,
    headers: bearer,
  })
  assert.ok([404, 414].includes(long.statusCode))
})

test('unknown methods and paths under /v1/messages speak Anthropic', async () => {
  const reply = await service.request({ url: '/v1/messages/nothing' })
  assert.equal(reply.statusCode, 404)
  const body = reply.json()
  assert.equal(body.type, 'error')
  assert.equal(body.error.type, 'not_found')
  assert.equal(body.error.code, 'not_found')
  assert.equal(body.request_id, reply.headers['x-request-id'])
})
