// How the client of Stripe is set up: where it goes, how long it waits, how often it tries.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProcessorError } from '../../src/payouts/processor.ts'
import { createStripe } from '../../src/payouts/stripe-client.ts'
import { createProcessor } from '../../src/payouts/stripe-processor.ts'
import { openShop } from './shop.ts'

const shop = await openShop()
const TIMEOUT_MS = 400
const stripe = createStripe({
  secret_key: 'sk_test_client',
  base_url: shop.sandbox.urls.stripe,
  timeout_ms: TIMEOUT_MS,
})
const processor = createProcessor(stripe, TIMEOUT_MS)
const CHARGE = {
  amount_cents: 1_000n,
  customer_id: 'cus_none',
  payment_method_id: 'pm_none',
  topup_id: '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10',
}

type Seen = { requests: { path: string; idempotency_key: string | null }[] }

async function requestsOf(path: string): Promise<Seen['requests']> {
  const { requests } = await shop.control<Seen>('GET', `/requests?path=${path}&limit=100`)
  return requests
}

async function failureOf(work: Promise<unknown>): Promise<ProcessorError> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  )
  assert.ok(error instanceof ProcessorError, String(error))
  return error
}

test('it goes where it is told, and says nothing about this machine', async () => {
  const { accounts } = await shop.control<{ accounts: string[] }>('POST', '/seed', { accounts: 1 })
  const account = await processor.readAccount(accounts[0] ?? '')
  assert.equal(account.payouts_enabled, true)
  assert.equal(stripe.getTelemetryEnabled(), false)
})

test('where a person waits it tries twice within the time of one request', async () => {
  const path = '/v1/accounts/acct_slow'
  await shop.fail(path, { fault: 'timeout', times: 9 }, 'GET')
  const began = performance.now()
  const error = await failureOf(processor.readAccount('acct_slow'))
  const took_ms = performance.now() - began
  await shop.heal()
  assert.equal(error.reason, 'unknown')
  assert.equal((await requestsOf(path)).length, 2)
  assert.ok(took_ms < 5_000, `${took_ms} ms`)
})

test('in the background it tries three times, always with the same key', async () => {
  const path = '/v1/payment_intents'
  await shop.fail(path, { fault: 'status', status: 500, times: 9 })
  const error = await failureOf(processor.chargeSaved(CHARGE))
  await shop.heal()
  assert.equal(error.reason, 'unknown')
  const keys = (await requestsOf(path)).map((request) => request.idempotency_key)
  assert.deepEqual(
    keys,
    Array.from({ length: 3 }, () => `topup_${CHARGE.topup_id}`),
  )
})

test('what failed for certain is told from what may have been done', async () => {
  const reasonOf = async (fault: object) => {
    await shop.fail('/v1/accounts/*', fault, 'GET')
    const { reason } = await failureOf(processor.readAccount('acct_any'))
    await shop.heal()
    return reason
  }
  assert.equal((await failureOf(processor.readAccount('acct_none'))).reason, 'missing')
  assert.equal(await reasonOf({ fault: 'status', status: 400 }), 'refused')
  assert.equal(await reasonOf({ fault: 'status', status: 401 }), 'unauthorized')
  assert.equal(await reasonOf({ fault: 'status', status: 403 }), 'unauthorized')
  assert.equal(await reasonOf({ fault: 'status', status: 402 }), 'declined')
  assert.equal(await reasonOf({ fault: 'status', status: 409, times: 2 }), 'unknown')
  assert.equal(await reasonOf({ fault: 'status', status: 429 }), 'unknown')
  assert.equal(await reasonOf({ fault: 'status', status: 503, times: 2 }), 'unknown')
  assert.equal(await reasonOf({ fault: 'garbage', times: 2 }), 'unknown')
  assert.equal(await reasonOf({ fault: 'reset', times: 4 }), 'unknown')
})

test('a refused connection leaves it unknown', async () => {
  const nowhere = createStripe({ secret_key: 'sk_test_x', base_url: 'http://127.0.0.1:9' })
  const error = await failureOf(createProcessor(nowhere, 300).readAccount('acct_any'))
  assert.equal(error.reason, 'unknown')
})
