import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { Stripe } from 'stripe'
import { listOf, objectOf } from '../json.ts'
import { type Platform, refusal, startPlatform } from './test-platform.ts'

let platform: Platform
let stripe: Stripe

before(async () => {
  platform = await startPlatform()
  stripe = platform.stripe
})
beforeEach(async () => {
  await platform.control('POST', '/reset', {})
  await platform.control('POST', '/balance', { amount: 0 })
})
after(async () => {
  await platform.close()
})

const TOPUP: Stripe.Checkout.SessionCreateParams = {
  mode: 'payment',
  line_items: [
    {
      price_data: {
        currency: 'usd',
        unit_amount: 2_000,
        product_data: { name: '20,000,000 credits' },
      },
      quantity: 1,
    },
  ],
  client_reference_id: 'user_1',
  metadata: { topup_id: 'top_1' },
  payment_intent_data: { metadata: { topup_id: 'top_1' } },
  success_url: 'http://127.0.0.1:1/done?session={CHECKOUT_SESSION_ID}',
  cancel_url: 'http://127.0.0.1:1/cancel',
}

async function submit(url: string | null, form: Record<string, string>) {
  const body = new URLSearchParams({ email: 'ada@example.com', ...form })
  const response = await fetch(url ?? '', { method: 'POST', body, redirect: 'manual' })
  return { location: response.headers.get('location'), text: await response.text() }
}

async function eventTypes(): Promise<string[]> {
  const { data } = await stripe.events.list({ limit: 100 })
  return data.map(({ type }) => type).toReversed()
}

async function balance(): Promise<number> {
  return (await stripe.balance.retrieve()).available[0]?.amount ?? 0
}

async function seedCustomer(card: string) {
  const { customers } = await platform.control('POST', '/seed', { customers: [{ card }] })
  const { id, payment_method } = objectOf(listOf(customers)[0])
  return { customer: String(id), payment_method: String(payment_method) }
}

function chargeAway(saved: { customer: string; payment_method: string }, amount = 1_000) {
  const params = {
    amount,
    currency: 'usd',
    off_session: true,
    confirm: true,
    metadata: { auto: '1' },
  }
  return stripe.paymentIntents.create({ ...params, ...saved })
}

test('a session is paid on its page, and leads back with its id', async () => {
  const session = await stripe.checkout.sessions.create(TOPUP)
  assert.match(session.id, /^cs_test_/)
  assert.equal(session.status, 'open')
  assert.equal(session.payment_status, 'unpaid')
  assert.equal(session.amount_total, 2_000)
  assert.equal(session.payment_intent, null)
  const page = await (await fetch(session.url ?? '')).text()
  assert.match(page, /20,000,000 credits/)
  const { location } = await submit(session.url, { card: 'visa' })
  assert.equal(location, `http://127.0.0.1:1/done?session=${session.id}`)
  const paid = await stripe.checkout.sessions.retrieve(session.id, {
    expand: ['payment_intent.latest_charge', 'line_items'],
  })
  assert.equal(paid.status, 'complete')
  assert.equal(paid.payment_status, 'paid')
  assert.equal(paid.client_reference_id, 'user_1')
  assert.equal(paid.url, null)
  assert.equal(paid.customer_details?.email, 'ada@example.com')
  assert.equal(paid.line_items?.data[0]?.amount_total, 2_000)
  assert.ok(typeof paid.payment_intent === 'object' && paid.payment_intent !== null)
  assert.equal(paid.payment_intent.status, 'succeeded')
  assert.deepEqual(paid.payment_intent.metadata, { topup_id: 'top_1' })
  assert.ok(typeof paid.payment_intent.latest_charge === 'object')
  assert.equal(await balance(), 2_000)
  assert.deepEqual(await eventTypes(), [
    'payment_intent.created',
    'charge.succeeded',
    'payment_intent.succeeded',
    'checkout.session.completed',
  ])
})

test('paying twice on the page charges once', async () => {
  const session = await stripe.checkout.sessions.create(TOPUP)
  await submit(session.url, { card: 'visa' })
  assert.match((await submit(session.url, { card: 'visa' })).text, /done already/)
  assert.equal(await balance(), 2_000)
})

test('a declined card leaves the session open, for another try with the same payment intent', async () => {
  const { id, url } = await stripe.checkout.sessions.create(TOPUP)
  assert.match((await submit(url, { card: 'declined' })).text, /Your card was declined\./)
  const first = await stripe.checkout.sessions.retrieve(id)
  assert.equal(first.status, 'open')
  await submit(url, { card: 'visa' })
  const second = await stripe.checkout.sessions.retrieve(id)
  assert.equal(second.payment_status, 'paid')
  assert.equal(second.payment_intent, first.payment_intent)
  assert.ok((await eventTypes()).includes('payment_intent.payment_failed'))
})

test('a card that asks is paid only when its owner confirms', async () => {
  const { id, url } = await stripe.checkout.sessions.create(TOPUP)
  assert.match((await submit(url, { card: 'asks_once' })).text, /Confirm with your bank/)
  assert.match(
    (await submit(url, { card: 'asks_once', answer: 'refuse' })).text,
    /unable to authenticate/,
  )
  assert.equal((await stripe.checkout.sessions.retrieve(id)).status, 'open')
  await submit(url, { card: 'asks_once', answer: 'confirm' })
  assert.equal((await stripe.checkout.sessions.retrieve(id)).payment_status, 'paid')
})

for (const card of ['bank', 'bank_fails']) {
  test(`a delayed method (${card}) completes unpaid, and is decided later`, async () => {
    await platform.control('POST', '/settings', { settle_after_s: 86_400 })
    const { id, url } = await stripe.checkout.sessions.create(TOPUP)
    await submit(url, { card })
    const waiting = await stripe.checkout.sessions.retrieve(id)
    assert.deepEqual([waiting.status, waiting.payment_status], ['complete', 'unpaid'])
    assert.equal(await balance(), 0)
    await platform.control('POST', '/clock', { advance_s: 86_401 })
    const decided = await stripe.checkout.sessions.retrieve(id)
    const succeeded = card === 'bank'
    assert.equal(decided.payment_status, succeeded ? 'paid' : 'unpaid')
    assert.equal(await balance(), succeeded ? 2_000 : 0)
    const types = await eventTypes()
    assert.ok(types.includes('checkout.session.completed'))
    assert.equal(
      types.at(-1),
      `checkout.session.async_payment_${succeeded ? 'succeeded' : 'failed'}`,
    )
    assert.equal(types.includes('payment_intent.payment_failed'), !succeeded)
  })
}

test('a session that nobody paid expires, by itself or on request', async () => {
  const [one, two] = [
    await stripe.checkout.sessions.create(TOPUP),
    await stripe.checkout.sessions.create(TOPUP),
  ]
  assert.equal((await stripe.checkout.sessions.expire(one.id)).status, 'expired')
  assert.equal((await refusal(stripe.checkout.sessions.expire(one.id))).statusCode, 400)
  await platform.control('POST', '/clock', { advance_s: 86_401 })
  assert.equal((await stripe.checkout.sessions.retrieve(two.id)).status, 'expired')
  assert.match((await submit(two.url, { card: 'visa' })).text, /has expired/)
  const expired = await stripe.events.list({ type: 'checkout.session.expired' })
  assert.equal(expired.data.length, 2)
  assert.equal(await balance(), 0)
})

test('a session is checked before it is made', async () => {
  const { line_items: _, ...no_items } = TOPUP
  const small = [
    { quantity: 1, price_data: { currency: 'usd', unit_amount: 49, product_data: { name: 'x' } } },
  ]
  const cases: { wish: Stripe.Checkout.SessionCreateParams; code: string }[] = [
    { wish: no_items, code: 'parameter_missing' },
    { wish: { ...TOPUP, line_items: small }, code: 'amount_too_small' },
    { wish: { ...TOPUP, success_url: 'done' }, code: 'url_invalid' },
    { wish: { ...TOPUP, customer: 'cus_nobody' }, code: 'resource_missing' },
  ]
  for (const { wish, code } of cases) {
    assert.equal((await refusal(stripe.checkout.sessions.create(wish))).code, code)
  }
})

test('a card is saved while paying, and charged later without its owner', async () => {
  const customer = await stripe.customers.create({
    email: 'ada@example.com',
    metadata: { user: 'u1' },
  })
  const session = await stripe.checkout.sessions.create({
    ...TOPUP,
    customer: customer.id,
    payment_intent_data: { setup_future_usage: 'off_session' },
  })
  await submit(session.url, { card: 'visa' })
  const [method] = (await stripe.customers.listPaymentMethods(customer.id)).data
  assert.equal(method?.card?.last4, '4242')
  const intent = await chargeAway({ customer: customer.id, payment_method: method?.id ?? '' })
  assert.equal(intent.status, 'succeeded')
  assert.equal(intent.amount_received, 1_000)
  assert.equal(await balance(), 3_000)
})

test('a card is saved without paying', async () => {
  const customer = await stripe.customers.create({})
  const session = await stripe.checkout.sessions.create({
    mode: 'setup',
    currency: 'usd',
    customer: customer.id,
    success_url: 'http://127.0.0.1:1/done',
  })
  await submit(session.url, { card: 'asks_once', answer: 'confirm' })
  const done = await stripe.checkout.sessions.retrieve(session.id, { expand: ['setup_intent'] })
  assert.equal(done.payment_status, 'no_payment_required')
  assert.ok(typeof done.setup_intent === 'object')
  const saved = await stripe.paymentMethods.list({ customer: customer.id, type: 'card' })
  assert.equal(saved.data[0]?.id, done.setup_intent?.payment_method)
  assert.equal(
    (await stripe.paymentMethods.retrieve(saved.data[0]?.id ?? '')).customer,
    customer.id,
  )
  await stripe.paymentMethods.detach(saved.data[0]?.id ?? '')
  assert.equal((await stripe.paymentMethods.list({ customer: customer.id })).data.length, 0)
  const gone = { customer: customer.id, payment_method: saved.data[0]?.id ?? '' }
  assert.equal((await refusal(chargeAway(gone))).code, 'resource_missing')
})

const REFUSALS = [
  { card: 'fails_later', code: 'card_declined', decline_code: 'generic_decline' },
  { card: 'insufficient', code: 'card_declined', decline_code: 'insufficient_funds' },
  { card: 'asks_always', code: 'authentication_required', decline_code: 'authentication_required' },
]

for (const { card, code, decline_code } of REFUSALS) {
  test(`charging a saved card that ${card} is a card error with its intent`, async () => {
    const error = await refusal(chargeAway(await seedCustomer(card)))
    assert.ok(error instanceof Stripe.errors.StripeCardError)
    assert.equal(error.statusCode, 402)
    assert.equal(error.code, code)
    assert.equal(error.decline_code, decline_code)
    assert.equal(error.payment_intent?.status, 'requires_payment_method')
    const intent = await stripe.paymentIntents.retrieve(error.payment_intent?.id ?? '')
    assert.equal(intent.last_payment_error?.code, code)
    assert.ok((await eventTypes()).includes('payment_intent.payment_failed'))
    assert.equal(await balance(), 0)
  })
}

test('a saved card is charged for its own customer only', async () => {
  const { payment_method } = await seedCustomer('visa')
  const { id } = await stripe.customers.create({})
  assert.equal(
    (await refusal(chargeAway({ customer: id, payment_method }))).code,
    'resource_missing',
  )
  const late = { amount: 1_000, currency: 'usd', off_session: true }
  assert.equal((await refusal(stripe.paymentIntents.create(late))).param, 'off_session')
})

test('Stripe’s names of test cards can be attached', async () => {
  const { id } = await stripe.customers.create({})
  const method = await stripe.paymentMethods.attach('pm_card_visa', { customer: id })
  assert.equal((await chargeAway({ customer: id, payment_method: method.id })).status, 'succeeded')
  const declined = await refusal(
    stripe.paymentMethods.attach('pm_card_chargeDeclined', { customer: id }),
  )
  assert.equal(declined.code, 'card_declined')
})

test('a charge is refunded, in parts until nothing is left', async () => {
  const intent = await chargeAway(await seedCustomer('visa'))
  const part = await stripe.refunds.create({ payment_intent: intent.id, amount: 400 })
  assert.equal(part.status, 'succeeded')
  assert.equal(await balance(), 600)
  const [paid] = (await stripe.charges.list({ payment_intent: intent.id })).data
  assert.equal(paid?.id, intent.latest_charge)
  await stripe.refunds.create({ charge: paid?.id ?? '' })
  const charge = await stripe.charges.retrieve(paid?.id ?? '')
  assert.deepEqual([charge.refunded, charge.amount_refunded], [true, 1_000])
  const again = await refusal(stripe.refunds.create({ payment_intent: intent.id }))
  assert.equal(again.code, 'charge_already_refunded')
  const events = await stripe.events.list({ type: 'charge.refunded' })
  assert.equal(events.data.length, 2)
  assert.equal((await stripe.refunds.list({ payment_intent: intent.id })).data.length, 2)
})

for (const outcome of ['won', 'lost']) {
  test(`a dispute takes the money at once, and is ${outcome}`, async () => {
    const intent = await chargeAway(await seedCustomer('visa'))
    const { id } = await platform.control('POST', '/disputes', { payment_intent: intent.id })
    assert.equal(await balance(), 0)
    const dispute = await stripe.disputes.retrieve(String(id))
    assert.deepEqual([dispute.status, dispute.amount], ['needs_response', 1_000])
    assert.equal(dispute.payment_intent, intent.id)
    assert.equal(
      (await refusal(stripe.refunds.create({ payment_intent: intent.id }))).code,
      'charge_disputed',
    )
    await platform.control('POST', `/disputes/${String(id)}/close`, { outcome })
    assert.equal((await stripe.disputes.retrieve(String(id))).status, outcome)
    assert.equal(await balance(), outcome === 'won' ? 1_000 : 0)
    const types = (await eventTypes()).filter((type) => type.startsWith('charge.dispute'))
    const back = outcome === 'won' ? ['charge.dispute.funds_reinstated'] : []
    assert.deepEqual(types, [
      'charge.dispute.created',
      'charge.dispute.funds_withdrawn',
      ...back,
      'charge.dispute.closed',
    ])
  })
}

test('a refund that fails brings the money back, and the charge can be refunded again', async () => {
  const intent = await chargeAway(await seedCustomer('visa'))
  const before = await balance()
  const { id } = await stripe.refunds.create({ payment_intent: intent.id })
  assert.equal(await balance(), before - 1_000)
  await platform.control('POST', `/refunds/${id}/fail`)
  await platform.control('POST', `/refunds/${id}/fail`)
  assert.equal(await balance(), before)
  const failed = await stripe.refunds.retrieve(id)
  assert.deepEqual([failed.status, failed.failure_reason], ['failed', 'lost_or_stolen_card'])
  assert.equal((await eventTypes()).filter((type) => type === 'refund.failed').length, 1)
  assert.equal((await stripe.refunds.create({ payment_intent: intent.id })).status, 'succeeded')
})

test('the money of a lost dispute comes back in part, and then it is still lost, or whole', async () => {
  const intent = await chargeAway(await seedCustomer('visa'))
  const before = await balance()
  const { id } = await platform.control('POST', '/disputes', { payment_intent: intent.id })
  const reinstate = (wish: object) =>
    platform.control('POST', `/disputes/${String(id)}/reinstate`, wish)
  await reinstate({})
  assert.equal(await balance(), before - 1_000, 'only what is lost can come back')
  await platform.control('POST', `/disputes/${String(id)}/close`, { outcome: 'lost' })
  await reinstate({ amount: 300 })
  assert.equal((await stripe.disputes.retrieve(String(id))).status, 'lost')
  await reinstate({})
  const dispute = await stripe.disputes.retrieve(String(id))
  assert.equal(dispute.status, 'won')
  assert.deepEqual(
    dispute.balance_transactions.map(({ amount }) => amount),
    [-1_000, 300, 1_000],
  )
})

test('a card whose owner disputes every payment does so a little later', async () => {
  const { url } = await stripe.checkout.sessions.create(TOPUP)
  await submit(url, { card: 'disputed' })
  assert.equal((await eventTypes()).at(-1), 'checkout.session.completed')
  await platform.control('POST', '/clock', { advance_s: 10 })
  assert.ok((await eventTypes()).includes('charge.dispute.created'))
})

test('a session can be paid without a browser', async () => {
  const { id } = await stripe.checkout.sessions.create(TOPUP)
  const declined = await platform.control('POST', `/checkout/${id}/pay`, { card: 'declined' })
  assert.equal(declined['declined'], 'Your card was declined.')
  const paid = await platform.control('POST', `/checkout/${id}/pay`, {})
  assert.equal(objectOf(paid['session'])['payment_status'], 'paid')
})
