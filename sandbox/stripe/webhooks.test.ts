import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import type { Stripe } from 'stripe'
import { listOf, objectOf } from '../json.ts'
import {
  type Platform,
  refusal,
  seedAccount,
  startPlatform,
  startReceiver,
} from './test-platform.ts'

const SECRET = 'whsec_account'
const CONNECT_SECRET = 'whsec_connect'
let platform: Platform
let stripe: Stripe
let receiver: Awaited<ReturnType<typeof startReceiver>>

before(async () => {
  platform = await startPlatform({ webhooks: { secret: SECRET, connect_secret: CONNECT_SECRET } })
  stripe = platform.stripe
})
beforeEach(async () => {
  receiver = await startReceiver()
  await platform.control('POST', '/reset', {})
  await platform.control('POST', '/webhooks', {
    url: receiver.url,
    hold: false,
    copies: 1,
    events: ['*'],
  })
})
afterEach(() => receiver.close())
after(async () => {
  await platform.close()
})

async function transfer(group = 'po_1') {
  const destination = await seedAccount(platform)
  return await stripe.transfers.create({
    amount: 1,
    currency: 'usd',
    destination,
    transfer_group: group,
  })
}

const wait = () => platform.control('POST', '/webhooks/wait', {})

test('an event is signed so that the official client accepts it, and only with the right secret', async () => {
  const { id, lastResponse } = await transfer()
  await wait()
  const [first] = receiver.received
  assert.ok(first !== undefined)
  const event = stripe.webhooks.constructEvent(first.body, first.signature, SECRET)
  assert.equal(event.type, 'transfer.created')
  assert.equal(event.account, undefined)
  assert.ok('id' in event.data.object)
  assert.equal(event.data.object.id, id)
  assert.equal(event.request?.id, lastResponse.requestId)
  assert.equal(event.request?.idempotency_key, lastResponse.idempotencyKey)
  assert.throws(() => stripe.webhooks.constructEvent(first.body, first.signature, CONNECT_SECRET))
  const stored = await stripe.events.retrieve(event.id)
  assert.equal(stored.type, 'transfer.created')
})

test('events of connected accounts name the account and are signed with the other secret', async () => {
  const id = await seedAccount(platform, { outcome: 'incomplete' })
  await platform.control('POST', `/accounts/${id}`, { outcome: 'complete' })
  await platform.control('POST', `/accounts/${id}/deauthorize`, {})
  await wait()
  assert.deepEqual(receiver.types(), [
    'account.updated',
    'capability.updated',
    'account.application.deauthorized',
  ])
  for (const { body, signature } of receiver.received) {
    const event = stripe.webhooks.constructEvent(body, signature, CONNECT_SECRET)
    assert.equal(event.account, id)
  }
})

test('delivery is in order, and an event that is refused is tried again before the next one', async () => {
  receiver.close()
  receiver = await startReceiver(500, 503)
  await platform.control('POST', '/webhooks', { url: receiver.url })
  const first = await transfer('po_1')
  const second = await transfer('po_2')
  await wait()
  const ids = receiver.received.map(({ event }) => objectOf(event.data.object)['id'])
  assert.deepEqual(ids, [first.id, first.id, first.id, second.id])
  const { deliveries } = await platform.control('GET', '/webhooks/deliveries')
  assert.deepEqual(
    listOf(deliveries).map((delivery) => [Object(delivery).state, Object(delivery).statuses]),
    [
      ['delivered', [500, 503, 200]],
      ['delivered', [200]],
    ],
  )
})

test('an endpoint that never accepts is given up on', async () => {
  receiver.close()
  receiver = await startReceiver(...Array.from({ length: 5 }, () => 500))
  await platform.control('POST', '/webhooks', { url: receiver.url })
  await transfer()
  await wait()
  const { deliveries } = await platform.control('GET', '/webhooks/deliveries')
  assert.equal(Object(listOf(deliveries)[0]).state, 'failed')
  assert.equal(receiver.received.length, 5)
})

test('events can be held back, and let go in another order and twice', async () => {
  await platform.control('POST', '/webhooks', { hold: true })
  const ids = [(await transfer('a')).id, (await transfer('b')).id, (await transfer('c')).id]
  await wait()
  assert.equal(receiver.received.length, 0)
  const { released } = await platform.control('POST', '/webhooks/release', {
    order: 'reversed',
    copies: 2,
  })
  assert.equal(released, 6)
  await wait()
  const seen = receiver.received.map(({ event }) => String(objectOf(event.data.object)['id']))
  const backwards = ids.toReversed()
  assert.deepEqual(
    seen,
    backwards.flatMap((id) => [id, id]),
  )
  assert.equal(new Set(receiver.received.map(({ event }) => event.id)).size, 3)
})

test('every event can be sent twice', async () => {
  await platform.control('POST', '/webhooks', { copies: 2 })
  await transfer()
  await wait()
  assert.equal(receiver.received.length, 2)
  assert.equal(receiver.received[0]?.event.id, receiver.received[1]?.event.id)
})

test('an event can be sent again, too old, wrongly signed, or with another body', async () => {
  await transfer()
  await wait()
  const [event] = (await stripe.events.list()).data
  const send = async (wish: object) => {
    const { statuses } = await platform.control('POST', `/events/${event?.id}/send`, wish)
    const last = receiver.received.at(-1)
    assert.ok(last !== undefined)
    return {
      statuses,
      accept: () => stripe.webhooks.constructEvent(last.body, last.signature, SECRET),
    }
  }
  assert.deepEqual((await send({ times: 3 })).statuses, [200, 200, 200])
  assert.doesNotThrow((await send({})).accept)
  assert.throws((await send({ age_s: 301 })).accept, /outside the tolerance/)
  assert.throws((await send({ secret: 'whsec_wrong' })).accept)
  assert.doesNotThrow((await send({ body: '{"object":"event","type":"x"}' })).accept)
})

test('only the types that are wanted are sent, and any event can be forged', async () => {
  await platform.control('POST', '/webhooks', { events: ['payout.*'] })
  await transfer()
  const object = { id: 'po_1', object: 'payout', failure_code: 'account_closed' }
  await platform.control('POST', '/events', { type: 'payout.failed', account: 'acct_1', object })
  await wait()
  assert.deepEqual(receiver.types(), ['payout.failed'])
  assert.equal(receiver.received[0]?.event.account, 'acct_1')
})

test('events are listed by type and time, newest first, by pages', async () => {
  await transfer('a')
  await platform.control('POST', '/clock', { advance_s: 100 })
  const later = await transfer('b')
  const newest = await stripe.events.list({ type: 'transfer.created', limit: 1 })
  assert.equal(newest.has_more, true)
  assert.equal(objectOf(newest.data[0]?.data.object)['id'], later.id)
  const rest = await stripe.events.list({ starting_after: newest.data[0]?.id ?? '' })
  assert.equal(rest.data.length, 1)
  const recent = await stripe.events.list({
    created: { gte: later.created },
    types: ['transfer.created'],
  })
  assert.equal(recent.data.length, 1)
  assert.equal((await refusal(stripe.events.retrieve('evt_none'))).statusCode, 404)
})

test('without an address events are kept and go nowhere', async () => {
  await platform.control('POST', '/webhooks', { url: null })
  await transfer()
  assert.equal((await stripe.events.list()).data.length, 1)
  const { deliveries } = await platform.control('GET', '/webhooks/deliveries')
  assert.deepEqual(deliveries, [])
})

test('a reset forgets events that wait', async () => {
  await platform.control('POST', '/webhooks', { hold: true })
  await transfer()
  await platform.control('POST', '/reset', {})
  assert.equal((await platform.control('POST', '/webhooks/release', {}))['released'], 0)
  await wait()
  assert.equal(receiver.received.length, 0)
})
