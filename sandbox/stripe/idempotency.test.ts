import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Stripe } from 'stripe'
import { listOf, objectOf } from '../json.ts'
import { KEY, type Platform, refusal, seedAccount, startPlatform, until } from './test-platform.ts'

let platform: Platform
let stripe: Stripe
let destination: string

before(async () => {
  platform = await startPlatform()
  stripe = platform.stripe
})
beforeEach(async () => {
  await platform.control('POST', '/reset', {})
  destination = await seedAccount(platform)
})
after(async () => {
  await platform.close()
})

function pay(idempotencyKey: string, wish: Partial<Stripe.TransferCreateParams> = {}) {
  const params = { amount: 100, currency: 'usd', destination, transfer_group: 'po_1', ...wish }
  return stripe.transfers.create(params, { idempotencyKey })
}

async function keyRecord(key: string) {
  const { keys } = await platform.control('GET', `/keys?key=${encodeURIComponent(key)}`)
  return objectOf(listOf(keys)[0])
}

async function transferCount(): Promise<number> {
  return (await stripe.transfers.list({ limit: 100 })).data.length
}

test('a second request with the key replays the first result and says so', async () => {
  const first = await pay('k1')
  const second = await pay('k1')
  assert.equal(second.id, first.id)
  assert.equal(first.lastResponse.headers['idempotent-replayed'], undefined)
  assert.equal(second.lastResponse.headers['idempotent-replayed'], 'true')
  assert.equal(second.lastResponse.headers['original-request'], first.lastResponse.requestId)
  assert.notEqual(second.lastResponse.requestId, first.lastResponse.requestId)
  assert.equal(await transferCount(), 1)
  assert.deepEqual(await keyRecord('k1'), {
    key: 'k1',
    endpoint: 'POST /v1/transfers',
    transfer_group: 'po_1',
    seen: 2,
    executed: 1,
    succeeded: 1,
    replayed: 1,
    in_use: 0,
    mismatched: 0,
    refused: 0,
    object_ids: [first.id],
  })
})

test('a failure that began to execute is saved: the key stays poisoned when the cause has gone', async () => {
  await platform.control('POST', '/balance', { amount: 99 })
  const first = await refusal(pay('k1'))
  assert.equal(first.code, 'balance_insufficient')
  assert.equal(first.headers?.['idempotent-replayed'], undefined)
  await platform.control('POST', '/balance', { amount: 1_000_000 })
  const second = await refusal(pay('k1'))
  assert.equal(second.code, 'balance_insufficient')
  assert.equal(second.headers?.['idempotent-replayed'], 'true')
  await pay('k2')
  assert.equal(await transferCount(), 1)
})

test('an error of Stripe itself is saved and replayed as well, and Stripe asks not to retry', async () => {
  await platform.control('POST', '/faults', { path: '/v1/transfers', when: 'during', status: 500 })
  const first = await refusal(pay('k1'))
  assert.ok(first instanceof Stripe.errors.StripeAPIError)
  assert.equal(first.statusCode, 500)
  assert.equal(first.headers?.['stripe-should-retry'], 'false')
  const second = await refusal(pay('k1'))
  assert.equal(second.statusCode, 500)
  assert.equal(second.headers?.['idempotent-replayed'], 'true')
  assert.equal(await transferCount(), 0)
})

test('the key with other parameters, or at another address, is refused', async () => {
  await pay('k1')
  const amount = await refusal(pay('k1', { amount: 101 }))
  assert.ok(amount instanceof Stripe.errors.StripeIdempotencyError)
  assert.equal(amount.statusCode, 400)
  const address = await refusal(stripe.customers.create({}, { idempotencyKey: 'k1' }))
  assert.ok(address instanceof Stripe.errors.StripeIdempotencyError)
  assert.match(address.message, /'\/v1\/transfers' vs '\/v1\/customers'/)
  assert.equal(objectOf(await keyRecord('k1'))['mismatched'], 2)
})

test('the order of the parameters does not matter', async () => {
  const send = async (body: string) => {
    const response = await fetch(`${platform.sandbox.urls.stripe}/v1/transfers`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${KEY}`,
        'content-type': 'application/x-www-form-urlencoded',
        'idempotency-key': 'k1',
      },
      body,
    })
    await response.arrayBuffer()
    return response
  }
  await send(`amount=5&currency=usd&destination=${destination}&metadata[a]=1&metadata[b]=2`)
  const again = await send(
    `metadata[b]=2&destination=${destination}&metadata[a]=1&currency=usd&amount=5`,
  )
  assert.equal(again.headers.get('idempotent-replayed'), 'true')
})

test('while the first request runs, a second one with the key gets 409, and the work goes on', async () => {
  await platform.control('POST', '/faults', {
    path: '/v1/transfers',
    fault: 'slow',
    when: 'during',
    ms: 1_500,
  })
  const hasty = platform.client({ timeout: 200 })
  const params = { amount: 100, currency: 'usd', destination, transfer_group: 'po_1' }
  const lost = refusal(hasty.transfers.create(params, { idempotencyKey: 'k1' }))
  await until(async () => {
    const { requests } = await platform.control('GET', '/requests?idempotency_key=k1')
    return listOf(requests).length === 1
  })
  const busy = await refusal(pay('k1'))
  assert.ok(busy instanceof Stripe.errors.StripeAPIError)
  assert.equal(busy.statusCode, 409)
  assert.equal(busy.code, 'idempotency_key_in_use')
  assert.ok((await lost) instanceof Stripe.errors.StripeConnectionError)
  await until(async () => (await transferCount()) === 1)
  assert.equal((await pay('k1')).lastResponse.headers['idempotent-replayed'], 'true')
  assert.equal(await transferCount(), 1)
})

test('parameters are checked and rates limited before the layer: neither is remembered', async () => {
  await refusal(pay('k1', { amount: 0 }))
  await platform.control('POST', '/faults', { path: '/v1/transfers', status: 429 })
  const limited = await refusal(pay('k1'))
  assert.ok(limited instanceof Stripe.errors.StripeRateLimitError)
  const transfer = await pay('k1')
  assert.equal(transfer.lastResponse.headers['idempotent-replayed'], undefined)
  const record = await keyRecord('k1')
  assert.deepEqual([record['refused'], record['executed']], [2, 1])
})

test('a key is pruned after a day and executes again', async () => {
  await pay('k1')
  await platform.control('POST', '/clock', { advance_s: 24 * 3_600 - 60 })
  assert.equal((await pay('k1')).lastResponse.headers['idempotent-replayed'], 'true')
  await platform.control('POST', '/clock', { advance_s: 120 })
  assert.equal((await pay('k1')).lastResponse.headers['idempotent-replayed'], undefined)
  assert.equal(await transferCount(), 2)
  const { duplicates } = await platform.control('GET', '/duplicates')
  assert.equal(listOf(duplicates).length, 1)
})

test('a key has at most 255 characters', async () => {
  await pay('k'.repeat(255))
  assert.equal((await refusal(pay('k'.repeat(256)))).statusCode, 400)
  assert.equal(await transferCount(), 1)
})

test('requests that only read ignore keys', async () => {
  const options = { idempotencyKey: 'k1' }
  await stripe.transfers.list({}, options)
  const second = await stripe.transfers.list({ limit: 1 }, options)
  assert.equal(second.lastResponse.headers['idempotent-replayed'], undefined)
})

test('of many requests at once with one key, one executes and none is paid twice', async () => {
  await platform.control('POST', '/faults', {
    path: '/v1/transfers',
    fault: 'slow',
    when: 'during',
    ms: 50,
  })
  const results = await Promise.all(
    Array.from({ length: 40 }, () =>
      pay('k1').then(
        ({ id }) => id,
        (error: unknown) => (error instanceof Stripe.errors.StripeAPIError ? error.statusCode : 0),
      ),
    ),
  )
  const { id } = await pay('k1')
  assert.ok(results.every((result) => result === 409 || result === id))
  const record = await keyRecord('k1')
  assert.deepEqual([record['seen'], record['executed'], record['object_ids']], [41, 1, [id]])
})
