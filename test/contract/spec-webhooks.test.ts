// Webhooks and their deliveries over HTTP, field by field as the specification has them.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectHosted } from '../support/oauth.ts'
import { createWebhookService } from '../support/webhooks.ts'

const service = await createWebhookService()

test('a delivery has its event, what was answered and both times', async () => {
  const { developer, webhook, list, receiver } = await service.owner({
    events: ['usage.completed'],
  })
  receiver.answerWith((response) => {
    response.statusCode = 201
    response.end('thanks')
  })
  const { key } = await service.createKey(developer.bearer)
  await service.call(key)
  await service.work()
  const { deliveries } = await list(webhook.id)
  const [delivery] = deliveries
  assert.ok(delivery)
  assert.equal(deliveries.length, 1)
  assert.equal(delivery.event_type, 'usage.completed')
  assert.equal(delivery.response_status, 201)
  assert.equal(delivery.response_body, 'thanks')
  assert.equal(typeof delivery.id, 'string')
  assert.deepEqual(delivery.payload, JSON.parse(receiver.received[0]?.body ?? ''))
  for (const time of [delivery.delivered_at, delivery.created_at]) {
    assert.equal(new Date(String(time)).toISOString(), time)
  }
})

test('an event has an id with evt_ in front, its type, its time and its data, in this envelope', async () => {
  const { developer, receiver } = await service.owner({ events: ['usage.completed'] })
  const { key } = await service.createKey(developer.bearer)
  await service.call(key)
  await service.work()
  const event = JSON.parse(receiver.received[0]?.body ?? '') as Record<string, unknown>
  assert.deepEqual(Object.keys(event), ['id', 'type', 'created_at', 'data'])
  assert.match(String(event['id']), /^evt_\w+$/)
  assert.equal(event['type'], 'usage.completed')
  assert.equal(new Date(String(event['created_at'])).toISOString(), event['created_at'])
  assert.equal(typeof event['data'], 'object')
})

test('balance.updated names the template of the route, not the address that was called', async () => {
  const { developer, app, receiver } = await service.owner({ events: ['balance.updated'] })
  const user = await service.register()
  await connectHosted(service, { app, user, external_user_id: 'alice' })
  const { key } = await service.createKey(developer.bearer, { billing_mode: 'user' })
  const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }
  await service.post('/v1/users/alice/chat/completions', body, { 'x-api-key': key })
  await service.work()
  assert.deepEqual(
    receiver.received.map(({ event }) => event.data['endpoint']),
    ['/v1/users/:external_user_id/chat/completions'],
  )
})

test('the log shows 50 deliveries unless told otherwise, and at most 100', async () => {
  const { developer, webhook, list, ask } = await service.owner({ events: ['usage.completed'] })
  const { key } = await service.createKey(developer.bearer)
  for (let call = 0; call < 51; call++) await service.call(key)
  await service.work()
  assert.equal((await list(webhook.id)).deliveries.length, 50)
  assert.equal((await list(webhook.id, '?limit=100')).deliveries.length, 51)
  const more = await ask('GET', `/v1/webhooks/${webhook.id}/deliveries?limit=101`)
  assert.equal(more.statusCode, 400)
})

test('each field of a webhook can be changed alone: url, events, threshold, active', async () => {
  const { webhook, ask } = await service.owner()
  const url = `/v1/webhooks/${webhook.id}`
  let expected = (await ask('GET', url)).json<Record<string, unknown>>()
  for (const change of [
    { url: 'https://example.com/other' },
    { events: ['balance.low'] },
    { low_balance_threshold: 7 },
    { active: false },
    { active: true },
  ]) {
    const reply = await ask('PATCH', url, change)
    assert.equal(reply.statusCode, 200, reply.body)
    expected = { ...expected, ...change }
    const { switched_off_at: _one, ...changed } = reply.json<Record<string, unknown>>()
    const { switched_off_at: _two, ...wanted } = expected
    assert.deepEqual(changed, wanted)
  }
})

test('a webhook that is switched off is sent nothing, and switched on again it is', async () => {
  const { developer, webhook, ask, receiver } = await service.owner({ events: ['usage.completed'] })
  const { key } = await service.createKey(developer.bearer)
  const callOnce = async () => {
    await service.call(key)
    await service.work()
    return receiver.received.length
  }
  await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: false })
  assert.equal(await callOnce(), 0)
  await ask('PATCH', `/v1/webhooks/${webhook.id}`, { active: true })
  assert.equal(await callOnce(), 1)
})

test('the signing secret is no bearer token anywhere', async () => {
  const { webhook } = await service.owner()
  const headers = { authorization: `Bearer ${webhook.secret}` }
  for (const url of ['/v1/webhooks', '/auth/me', '/v1/balance', '/developers/keys']) {
    assert.equal((await service.request({ url, headers })).statusCode, 401, url)
  }
})
