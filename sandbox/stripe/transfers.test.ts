import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Stripe } from 'stripe'
import { KEY, type Platform, refusal, seedAccount, startPlatform } from './test-platform.ts'

let platform: Platform
let stripe: Stripe

before(async () => {
  platform = await startPlatform()
  stripe = platform.stripe
})
beforeEach(async () => {
  await platform.control('POST', '/reset', {})
})
after(async () => {
  await platform.close()
})

const GROUP = { currency: 'usd', transfer_group: 'po_1' }

test('a transfer moves cents from the platform to the account', async () => {
  const destination = await seedAccount(platform)
  await platform.control('POST', '/balance', { amount: 5_000 })
  const transfer = await stripe.transfers.create({
    ...GROUP,
    amount: 1_234,
    destination,
    description: 'Earnings',
    metadata: { payout_id: 'po_1', note: 'a&b=c ü' },
  })
  assert.match(transfer.id, /^tr_\w{24}$/)
  assert.equal(transfer.object, 'transfer')
  assert.equal(transfer.amount, 1_234)
  assert.equal(transfer.destination, destination)
  assert.deepEqual(transfer.metadata, { payout_id: 'po_1', note: 'a&b=c ü' })
  assert.equal(transfer.livemode, false)
  assert.equal((await stripe.balance.retrieve()).available[0]?.amount, 3_766)
  const theirs = await stripe.balance.retrieve({}, { stripeAccount: destination })
  assert.equal(theirs.available[0]?.amount, 1_234)
  assert.deepEqual(
    await stripe.transfers.retrieve(transfer.id),
    await stripe.transfers.retrieve(transfer.id),
  )
})

test('a transfer needs a destination that exists, can be paid, and money to pay it with', async () => {
  const destination = await seedAccount(platform)
  const unready = await seedAccount(platform, { outcome: 'incomplete' })
  await platform.control('POST', '/balance', { amount: 99 })
  const cases = [
    { wish: { amount: 1, destination: 'acct_nobody' }, code: 'resource_missing' },
    { wish: { amount: 1, destination: unready }, code: 'insufficient_capabilities_for_transfer' },
    { wish: { amount: 100, destination }, code: 'balance_insufficient' },
    { wish: { amount: 0, destination }, code: 'parameter_invalid_integer' },
    { wish: { amount: 1.5, destination }, code: 'parameter_invalid_integer' },
    { wish: { destination }, code: 'parameter_missing' },
    { wish: { amount: 1, destination, surprise: 1 }, code: 'parameter_unknown' },
  ]
  for (const { wish, code } of cases) {
    const error = await refusal(stripe.transfers.create({ ...GROUP, ...wish }))
    assert.ok(error instanceof Stripe.errors.StripeInvalidRequestError, code)
    assert.equal(error.statusCode, 400)
    assert.equal(error.code, code)
    assert.match(error.requestId ?? '', /^req_/)
  }
  assert.equal((await stripe.transfers.list()).data.length, 0)
  await stripe.transfers.create({ ...GROUP, amount: 99, destination })
})

test('transfers are listed newest first, by page, group, destination and time', async () => {
  const [one, two] = [await seedAccount(platform), await seedAccount(platform)]
  const ids: string[] = []
  for (let at = 0; at < 7; at += 1) {
    const { id } = await stripe.transfers.create({
      currency: 'usd',
      amount: at + 1,
      destination: at % 2 === 0 ? one : two,
      transfer_group: at < 3 ? 'early' : 'late',
    })
    ids.unshift(id)
    await platform.control('POST', '/clock', { advance_s: 60 })
  }
  const idsOf = async (params: Stripe.TransferListParams) =>
    (await stripe.transfers.list(params)).data.map(({ id }) => id)
  assert.deepEqual(await idsOf({}), ids)
  assert.deepEqual(await idsOf({ limit: 2, starting_after: ids[1] ?? '' }), ids.slice(2, 4))
  assert.deepEqual(await idsOf({ limit: 2, ending_before: ids[4] ?? '' }), ids.slice(2, 4))
  assert.deepEqual(await idsOf({ transfer_group: 'early' }), ids.slice(4))
  assert.deepEqual(await idsOf({ transfer_group: 'early', destination: two }), [ids[5]])
  assert.deepEqual(await idsOf({ transfer_group: 'nobody' }), [])
  const third = await stripe.transfers.retrieve(ids[4] ?? '')
  assert.deepEqual(await idsOf({ created: { gte: third.created } }), ids.slice(0, 5))
  assert.deepEqual(await idsOf({ created: { gt: third.created, lt: third.created + 90 } }), [
    ids[3],
  ])
  const all: string[] = []
  for await (const { id } of stripe.transfers.list({ limit: 3 })) all.push(id)
  assert.deepEqual(all, ids)
  const first = await stripe.transfers.list({ limit: 3 })
  assert.equal(first.has_more, true)
  assert.equal(first.url, '/v1/transfers')
  const wrong = await refusal(stripe.transfers.list({ starting_after: 'tr_none' }))
  assert.equal(wrong.code, 'resource_missing')
})

test('a reversal takes the money back, in parts until nothing is left', async () => {
  const destination = await seedAccount(platform)
  await platform.control('POST', '/balance', { amount: 1_000 })
  const { id } = await stripe.transfers.create({ ...GROUP, amount: 1_000, destination })
  const part = await stripe.transfers.createReversal(id, { amount: 300 })
  assert.equal(part.object, 'transfer_reversal')
  assert.equal(part.transfer, id)
  assert.equal((await stripe.transfers.retrieve(id)).reversed, false)
  const too_much = await refusal(stripe.transfers.createReversal(id, { amount: 701 }))
  assert.equal(too_much.statusCode, 400)
  await stripe.transfers.createReversal(id)
  const transfer = await stripe.transfers.retrieve(id)
  assert.equal(transfer.reversed, true)
  assert.equal(transfer.amount_reversed, 1_000)
  assert.equal(transfer.reversals.data.length, 2)
  assert.equal((await stripe.balance.retrieve()).available[0]?.amount, 1_000)
  assert.equal((await refusal(stripe.transfers.createReversal(id))).statusCode, 400)
  const events = await stripe.events.list({ type: 'transfer.reversed' })
  assert.equal(events.data.length, 2)
})

test('ids stand for whole objects where a client asks for them', async () => {
  const destination = await seedAccount(platform)
  const transfer = await stripe.transfers.create({
    ...GROUP,
    amount: 5,
    destination,
    expand: ['destination'],
  })
  assert.ok(typeof transfer.destination === 'object')
  assert.equal(transfer.destination?.id, destination)
  const listed = await stripe.transfers.list({ expand: ['data.destination'] })
  assert.ok(typeof listed.data[0]?.destination === 'object')
  const wrong = await refusal(
    stripe.transfers.create({ ...GROUP, amount: 5, destination, expand: ['surprise'] }),
  )
  assert.match(wrong.message, /cannot be expanded \(surprise\)/)
  assert.equal((await stripe.transfers.list()).data.length, 1)
})

test('without a test key nobody comes in', async () => {
  for (const key of ['sk_live_x', 'sk_test_invalid', 'pk_test_x']) {
    const error = await refusal(platform.client({ key }).balance.retrieve())
    assert.ok(error instanceof Stripe.errors.StripeAuthenticationError, key)
  }
  const bare = await fetch(`${platform.sandbox.urls.stripe}/v1/balance`)
  assert.equal(bare.status, 401)
  const basic = await fetch(`${platform.sandbox.urls.stripe}/v1/balance`, {
    headers: { authorization: `Basic ${Buffer.from(`${KEY}:`).toString('base64')}` },
  })
  assert.equal(basic.status, 200)
  assert.match(basic.headers.get('request-id') ?? '', /^req_/)
  assert.equal(basic.headers.get('stripe-version'), Stripe.API_VERSION)
})

test('an unknown address and a wrong version are said to be so', async () => {
  const headers = { authorization: `Bearer ${KEY}` }
  const base = platform.sandbox.urls.stripe
  const unknown = await fetch(`${base}/v1/nothing`, { headers })
  assert.equal(unknown.status, 404)
  assert.match(await unknown.text(), /Unrecognized request URL \(GET: \/v1\/nothing\)/)
  const version = await fetch(`${base}/v1/balance`, {
    headers: { ...headers, 'stripe-version': 'soon' },
  })
  assert.equal(version.status, 400)
})

test('the same seed gives the same ids', async () => {
  const run = async () => {
    await platform.control('POST', '/reset', { seed: 'again' })
    const destination = await seedAccount(platform)
    return (await stripe.transfers.create({ ...GROUP, amount: 1, destination })).id
  }
  const first = await run()
  assert.equal(await run(), first)
})
