import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Stripe } from 'stripe'
import { listOf } from '../json.ts'
import { type Platform, refusal, seedAccount, startPlatform, until } from './test-platform.ts'

let platform: Platform
let destination: string

before(async () => {
  platform = await startPlatform()
})
beforeEach(async () => {
  await platform.control('POST', '/reset', {})
  destination = await seedAccount(platform)
})
after(async () => {
  await platform.close()
})

function pay(client = platform.stripe) {
  const params = { amount: 100, currency: 'usd', destination, transfer_group: 'po_1' }
  return client.transfers.create(params, { idempotencyKey: 'k1' })
}

/** A client that gave up may be ahead of the request it sent. */
async function lastOutcome(): Promise<unknown> {
  const { requests } = await platform.control('GET', '/requests?path=/v1/transfers&method=POST')
  return (
    listOf(requests)
      .map((record) => Object(record).outcome)
      .at(-1) ?? 'open'
  )
}

async function transferCount(): Promise<number> {
  return (await platform.stripe.transfers.list()).data.length
}

type Case = { fault: object; executed: boolean; error: new (...args: never[]) => Error }

const { StripeAPIError, StripeConnectionError, StripeRateLimitError, StripePermissionError } =
  Stripe.errors
const CASES: readonly Case[] = [
  { fault: { status: 429, when: 'before' }, executed: false, error: StripeRateLimitError },
  { fault: { status: 409, when: 'before' }, executed: false, error: StripeAPIError },
  { fault: { status: 500, when: 'before' }, executed: false, error: StripeAPIError },
  { fault: { status: 503, when: 'before' }, executed: false, error: StripeAPIError },
  { fault: { status: 403, when: 'before' }, executed: false, error: StripePermissionError },
  { fault: { fault: 'timeout', when: 'before' }, executed: false, error: StripeConnectionError },
  { fault: { fault: 'garbage', when: 'before' }, executed: false, error: StripeAPIError },
  { fault: { status: 500, when: 'after' }, executed: true, error: StripeAPIError },
  { fault: { status: 503, when: 'after' }, executed: true, error: StripeAPIError },
  { fault: { fault: 'timeout', when: 'after' }, executed: true, error: StripeConnectionError },
  {
    fault: { fault: 'slow', ms: 5_000, when: 'after' },
    executed: true,
    error: StripeConnectionError,
  },
  { fault: { fault: 'garbage', when: 'after' }, executed: true, error: StripeAPIError },
  { fault: { fault: 'cut' }, executed: true, error: Stripe.errors.StripeError },
]

for (const { fault, executed, error } of CASES) {
  test(`${JSON.stringify(fault)}: ${executed ? 'executed, the answer is lost' : 'not executed'}`, async () => {
    await platform.control('POST', '/faults', { method: 'POST', path: '/v1/transfers', ...fault })
    const is_slow = 'fault' in fault && (fault.fault === 'timeout' || fault.fault === 'slow')
    const client = is_slow ? platform.client({ timeout: 250 }) : platform.stripe
    const failure = await refusal(pay(client))
    assert.ok(failure instanceof error, `${failure.type} ${failure.message}`)
    await until(async () => (await lastOutcome()) !== 'open')
    assert.equal(await transferCount(), executed ? 1 : 0)
    const retried = await pay()
    const replayed = retried.lastResponse.headers['idempotent-replayed']
    assert.equal(replayed, executed ? 'true' : undefined)
    assert.equal(await transferCount(), 1)
  })
}

test('a reset before or after executing ends the connection without an answer', async () => {
  for (const when of ['before', 'after']) {
    await platform.control('POST', '/reset', {})
    destination = await seedAccount(platform)
    // The client itself tries once more after a reset, so two are needed to be seen.
    await platform.control('POST', '/faults', {
      path: '/v1/transfers',
      fault: 'reset',
      when,
      times: 2,
    })
    const failure = await refusal(pay())
    assert.ok(failure instanceof StripeConnectionError)
    assert.equal(
      (await platform.stripe.transfers.list({}, { maxNetworkRetries: 0 })).data.length,
      when === 'before' ? 0 : 1,
    )
  }
})

test('a request that arrives after its client has paid by a retry is replayed, not executed', async () => {
  const rule = { path: '/v1/transfers', fault: 'slow', when: 'before', ms: 1_500 }
  await platform.control('POST', '/faults', rule)
  const lost = await refusal(pay(platform.client({ timeout: 250 })))
  assert.ok(lost instanceof StripeConnectionError)
  const { requests: sent } = await platform.control('GET', '/requests?idempotency_key=k1')
  const { id } = await pay()
  await until(async () => {
    const { keys } = await platform.control('GET', '/keys?key=k1')
    return Object(listOf(keys)[0]).seen === listOf(sent).length + 1
  })
  const { keys } = await platform.control('GET', '/keys?key=k1')
  const { executed, object_ids } = Object(listOf(keys)[0])
  assert.deepEqual([executed, object_ids], [1, [id]])
})

test('after_saved executes and replays the error: the client must look whether it happened', async () => {
  await platform.control('POST', '/faults', {
    path: '/v1/transfers',
    when: 'after_saved',
    status: 500,
  })
  for (const replayed of [undefined, 'true']) {
    const failure = await refusal(pay())
    assert.equal(failure.statusCode, 500)
    assert.equal(failure.headers?.['idempotent-replayed'], replayed)
  }
  assert.equal(await transferCount(), 1)
})

test('a rule names method, path and parameters, may skip some, and is used up', async () => {
  const other = await seedAccount(platform)
  await platform.control('POST', '/faults', {
    faults: [
      { method: 'POST', path: '/v1/accounts/*/login_links', status: 503 },
      { path: '/v1/transfers', match: { destination: other }, status: 503, skip: 1, times: 2 },
    ],
  })
  const send = async (to: string) => {
    const params = { amount: 1, currency: 'usd', destination: to }
    return await platform.stripe.transfers.create(params).then(
      () => 200,
      () => 503,
    )
  }
  assert.equal(await send(destination), 200)
  assert.deepEqual(
    [await send(other), await send(other), await send(other), await send(other)],
    [200, 503, 503, 200],
  )
  assert.equal((await refusal(platform.stripe.accounts.createLoginLink(other))).statusCode, 503)
  await platform.stripe.accounts.createLoginLink(other)
  const { faults } = await platform.control('GET', '/faults')
  assert.deepEqual(faults, [])
})

test('a fault that makes no sense is refused, so that a typing error cannot pass as a test', async () => {
  for (const wish of [
    { fault: 'surprise' },
    { fault: 'cut', when: 'before' },
    { fault: 'timeout', when: 'during' },
    { staus: 500 },
    { status: 'high' },
  ]) {
    await assert.rejects(platform.control('POST', '/faults', wish), JSON.stringify(wish))
  }
})

test('every request is on record, with what was done and what went wrong on the way', async () => {
  await platform.control('POST', '/faults', { path: '/v1/transfers', fault: 'cut' })
  await refusal(pay())
  const { id } = await pay()
  const { requests } = await platform.control('GET', '/requests?path=/v1/transfers&method=POST')
  assert.deepEqual(
    listOf(requests).map((record) => {
      const { outcome, status, object_id, fault, idempotency_key } = Object(record)
      return { outcome, status, object_id, fault, idempotency_key }
    }),
    [
      {
        outcome: 'executed',
        status: 200,
        object_id: id,
        fault: 'after cut',
        idempotency_key: 'k1',
      },
      { outcome: 'replayed', status: 200, object_id: id, fault: null, idempotency_key: 'k1' },
    ],
  )
})
