// Buying credits: every answer, and events that come twice, late, in any order, altered or not at all.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { type EventHandlers, receiveEvent } from '../../src/payouts/stripe-events.ts'
import { ApiError } from '../../src/platform/errors.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { createApp, sendQueuedMail } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { collectLog } from '../support/log.ts'
import { balanceOf, openShop, type Person, registerPerson } from './shop.ts'

const WELCOME = 1_000_000

const shop = await openShop({ STRIPE_TIMEOUT_MS: '2000', TOPUP_MIN_USD: '5', TOPUP_MAX_USD: '100' })
const { service } = shop

type Started = { id: string; checkout_url: string }
type Listed = {
  id: string
  state: string
  amount_usd: number
  credits: number
  refunded_credits: number
  receipt_url: string | null
}
type Event = { id: string; type: string; data: { object: { id: string } } }

async function start(person: Person, amount_usd: unknown = 20, more: object = {}) {
  service.clock.advance(1)
  return await service.post('/account/topups', { amount_usd, ...more }, person.bearer)
}

async function startPaid(person: Person, options: { card?: string; amount_usd?: number } = {}) {
  const reply = await start(person, options.amount_usd ?? 20)
  assert.equal(reply.statusCode, 200, reply.body)
  const started = reply.json<Started>()
  await pay(started, options.card)
  return started
}

async function pay({ checkout_url }: Started, card = 'visa') {
  const session_id = checkout_url.split('/').at(-1) ?? ''
  await shop.control('POST', `/checkout/${session_id}/pay`, { card })
}

async function listOf(person: Person): Promise<Listed[]> {
  const reply = await service.request({ url: '/account/topups', headers: person.bearer })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<{ data: Listed[] }>().data
}

async function statementOf(person: Person) {
  const reply = await service.request({ url: '/account/transactions', headers: person.bearer })
  return reply.json<{ data: { kind: string; amount: number; description: string }[] }>().data
}

async function eventsOf(type: string): Promise<Event[]> {
  const url = `${shop.sandbox.urls.stripe}/v1/events?type=${type}&limit=100`
  const reply = await fetch(url, { headers: { authorization: 'Bearer sk_test_sandbox' } })
  return ((await reply.json()) as { data: Event[] }).data
}

/** The newest event of a kind. */
async function latest(type: string): Promise<Event> {
  const [event] = await eventsOf(type)
  assert.ok(event, type)
  return event
}

function send(event: Event, wish: object = {}) {
  return shop.control<{ statuses: number[] }>('POST', `/events/${event.id}/send`, wish)
}

async function holdEvents<Result>(work: () => Promise<Result>, release: object): Promise<Result> {
  await shop.settle()
  await shop.control('POST', '/webhooks', { hold: true })
  const result = await work()
  await shop.control('POST', '/webhooks/release', release)
  await shop.control('POST', '/webhooks', { hold: false })
  await shop.settle()
  return result
}

async function assertBooks(): Promise<void> {
  const { proofs } = await checkLedger(service.parts.db)
  const broken = proofs.filter((proof) => proof.differences > 0)
  assert.deepEqual(broken, [])
}

test('a checkout that is paid is credited exactly, listed, in the statement and told by mail', async () => {
  const person = await registerPerson(shop)
  const { id } = await startPaid(person, { amount_usd: 20.1 })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME + 20_100_000)
  const [topup] = await listOf(person)
  assert.deepEqual(
    { id: topup?.id, state: topup?.state, usd: topup?.amount_usd, credits: topup?.credits },
    { id, state: 'paid', usd: 20.1, credits: 20_100_000 },
  )
  const [line] = await statementOf(person)
  assert.deepEqual([line?.kind, line?.amount], ['topup', 20_100_000])
  assert.match(line?.description ?? '', /\$20\.10/)
  await sendQueuedMail(service)
  const folder = path.join(service.data_dir, 'mail')
  const mails = readdirSync(folder).map((file) => readFileSync(path.join(folder, file), 'utf8'))
  const receipt = mails.find((mail) => mail.includes(person.email) && mail.includes('Receipt'))
  assert.match(receipt ?? '', /20100000 credits/)
})

test('amounts: whole cents between the bounds, and nothing else', async () => {
  const person = await registerPerson(shop)
  for (const amount of [4.99, 100.01, 0, -5, 5.001, 1e21, '20', null, true, [20]]) {
    const reply = await start(person, amount)
    assert.equal(reply.statusCode, 400, `${JSON.stringify(amount)}: ${reply.body}`)
    assert.equal(reply.json().error.code, 'bad_request')
  }
  for (const amount of [5, 99.99, 100]) assert.equal((await start(person, amount)).statusCode, 200)
  assert.deepEqual(
    (await listOf(person)).map((topup) => topup.credits),
    [100_000_000, 99_990_000, 5_000_000],
  )
  assert.equal((await start(person, 20, { save_payment_method: 'yes' })).statusCode, 400)
})

test('top-ups belong to their owner and are read page by page', async () => {
  const [person, stranger] = [await registerPerson(shop), await registerPerson(shop)]
  for (const amount of [5, 6, 7]) await start(person, amount)
  assert.deepEqual(await listOf(stranger), [])
  const seen: number[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${cursor}`
    const url = `/account/topups?limit=2${query}`
    const page = (await service.request({ url, headers: person.bearer })).json<{
      data: Listed[]
      next_cursor: string | null
    }>()
    seen.push(...page.data.map((topup) => topup.amount_usd))
    cursor = page.next_cursor
  } while (cursor !== null)
  assert.deepEqual(seen, [7, 6, 5])
  const wrong = await service.request({ url: '/account/topups?cursor=x', headers: person.bearer })
  assert.equal(wrong.statusCode, 400)
  assert.equal((await service.request({ url: '/account/topups' })).statusCode, 401)
})

test('events that come three times, backwards, credit once', async () => {
  const person = await registerPerson(shop)
  await holdEvents(() => startPaid(person), { order: 'reversed', copies: 3 })
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
  const event = await latest('checkout.session.completed')
  const { statuses } = await send(event, { times: 5 })
  assert.deepEqual(statuses, [200, 200, 200, 200, 200])
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
})

test('ten copies at once credit once', async () => {
  const person = await registerPerson(shop)
  await shop.control('POST', '/webhooks', { url: null })
  await startPaid(person)
  await shop.settle()
  await shop.control('POST', '/webhooks', { url: `${shop.base}/webhooks/stripe` })
  const event = await latest('checkout.session.completed')
  const sent = await Promise.all(Array.from({ length: 10 }, () => send(event)))
  assert.deepEqual([...new Set(sent.flatMap(({ statuses }) => statuses))], [200])
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
})

test('two different events of one payment credit once', async () => {
  const person = await registerPerson(shop)
  await startPaid(person)
  await shop.settle()
  const { data } = await latest('checkout.session.completed')
  await shop.control('POST', '/events', {
    type: 'checkout.session.async_payment_succeeded',
    object: data.object,
  })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
})

test('what is altered, signed by nobody, too old or no event is refused and credits nothing', async () => {
  const person = await registerPerson(shop)
  await shop.control('POST', '/webhooks', { hold: true })
  await startPaid(person)
  const event = await latest('checkout.session.completed')
  assert.deepEqual((await send(event, { secret: 'whsec_wrong' })).statuses, [400])
  assert.deepEqual((await send(event, { age_s: 301 })).statuses, [400])
  assert.deepEqual((await send(event, { body: 'no json' })).statuses, [400])
  const url = '/webhooks/stripe'
  assert.equal((await service.post(url, event)).statusCode, 400)
  for (const signature of ['', 't=1,v1=00', 'x'.repeat(5_000)]) {
    const reply = await service.post(url, event, { 'stripe-signature': signature })
    assert.equal(reply.statusCode, 400, reply.body)
  }
  const large = await service.post(url, 'x'.repeat(1_100_000), { 'stripe-signature': 't=1,v1=00' })
  assert.equal(large.statusCode, 413)
  const form = await service.request({
    method: 'POST',
    url,
    payload: 'a=1',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'stripe-signature': 't=1,v1=0',
    },
  })
  assert.equal(form.statusCode, 415)
  assert.equal(await balanceOf(shop, person), WELCOME)
  // Late, but in time: a signature is made anew for each attempt.
  assert.deepEqual((await send(event, { age_s: 290 })).statuses, [200])
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
  await shop.control('POST', '/webhooks', { hold: false })
  await shop.settle()
})

test('an event that a connected account caused cannot credit anything', async () => {
  const person = await registerPerson(shop)
  const { id } = (await start(person)).json<Started>()
  const object = {
    id: 'cs_forged',
    object: 'checkout.session',
    client_reference_id: id,
    metadata: { topup_id: id },
    payment_intent: 'pi_forged',
    payment_status: 'paid',
    amount_total: 2_000,
    currency: 'usd',
    customer: null,
  }
  const type = 'checkout.session.completed'
  await shop.control('POST', '/events', { type, object, account: 'acct_somebody' })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME)
  // Nor does another amount than was asked for.
  await shop.control('POST', '/events', { type, object: { ...object, amount_total: 1 } })
  await shop.control('POST', '/events', { type, object: { ...object, currency: 'jpy' } })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME)
  assert.equal((await listOf(person))[0]?.state, 'pending')
})

test('a payment by a link of the same Stripe account credits nobody, whatever reference it names', async () => {
  const person = await registerPerson(shop)
  const { id } = (await start(person)).json<Started>()
  const object = {
    id: 'cs_payment_link',
    object: 'checkout.session',
    client_reference_id: id,
    metadata: {},
    payment_intent: 'pi_payment_link',
    payment_link: 'plink_1',
    payment_status: 'paid',
    amount_total: 2_000,
    currency: 'usd',
    customer: null,
  }
  await shop.control('POST', '/events', { type: 'checkout.session.completed', object })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME)
})

test('the refund of a second payment of one top-up takes nothing of what the first one bought', async () => {
  const person = await registerPerson(shop)
  const { id } = await startPaid(person)
  await shop.settle()
  const { stripe } = service.parts
  assert.ok(stripe)
  const second = await stripe.paymentIntents.create({
    amount: 2_000,
    currency: 'usd',
    confirm: true,
    payment_method: 'pm_card_visa',
    metadata: { topup_id: id },
    automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
  })
  await shop.settle()
  await stripe.refunds.create({ payment_intent: second.id })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
  assert.equal((await listOf(person))[0]?.refunded_credits, 0)
})

test('an event that we refuse ourselves is an alarm: Stripe would give up without a word', async () => {
  const { log, lines } = collectLog()
  const { parts } = service
  const handlers: EventHandlers = {
    'charge.refunded': {
      from: 'platform',
      prepare: async () => {
        throw new ApiError('bad_request', { message: 'The balance would be too large.' })
      },
    },
  }
  const event = { id: 'evt_refused', object: 'event', type: 'charge.refunded', data: {} }
  const body = JSON.stringify(event)
  const secret = 'whsec_refused'
  const signature = parts.stripe?.webhooks.generateTestHeaderString({ payload: body, secret }) ?? ''
  await assert.rejects(
    receiveEvent({ ...parts, log, secrets: [secret], handlers }, { body, signature }),
  )
  const [line] = lines()
  assert.deepEqual(
    [line?.level, line?.['alarm'], line?.['event']],
    ['error', 'stripe_event', 'evt_refused'],
  )
})

test('events of other kinds and of other products are acknowledged and change nothing', async () => {
  const before = await sql(service.database_url, 'select count(*) as n from journal')
  for (const [type, object] of [
    ['customer.subscription.created', { id: 'sub_1' }],
    ['checkout.session.completed', { id: 'cs_2', client_reference_id: 'order 7' }],
    ['payment_intent.succeeded', { id: 'pi_2', metadata: {}, status: 'succeeded', amount: 5 }],
  ] as const) {
    const { event } = await shop.control<{ event: Event }>('POST', '/events', { type, object })
    assert.deepEqual((await send(event)).statuses, [200], type)
  }
  assert.deepEqual(await sql(service.database_url, 'select count(*) as n from journal'), before)
})

test('a bank debit is credited when the money is there, and not when it fails', async () => {
  await shop.control('POST', '/settings', { settle_after_s: 3600 })
  const [lucky, unlucky] = [await registerPerson(shop), await registerPerson(shop)]
  await startPaid(lucky, { card: 'bank' })
  await startPaid(unlucky, { card: 'bank_fails' })
  await shop.settle()
  assert.equal(await balanceOf(shop, lucky), WELCOME)
  await holdEvents(() => shop.control('POST', '/clock', { advance_s: 3601 }), {
    order: 'reversed',
    copies: 2,
  })
  assert.equal(await balanceOf(shop, lucky), WELCOME + 20_000_000)
  assert.equal(await balanceOf(shop, unlucky), WELCOME)
  assert.equal((await listOf(unlucky))[0]?.state, 'failed')
})

test('a checkout that nobody pays expires', async () => {
  const person = await registerPerson(shop)
  await start(person)
  await shop.control('POST', '/clock', { advance_s: 90_000 })
  await shop.settle()
  assert.equal((await listOf(person))[0]?.state, 'expired')
})

for (const fault of [
  { fault: 'status', status: 500, times: 2 },
  { fault: 'status', status: 429 },
  { fault: 'reset', times: 2 },
  { fault: 'timeout', times: 2 },
  { fault: 'cut', when: 'after' },
]) {
  test(`Stripe fails (${fault.fault} ${fault.status ?? ''}): 502 stripe_error, and a repeat works`, async () => {
    const person = await registerPerson(shop)
    await shop.fail('/v1/checkout/sessions', fault)
    const reply = await start(person)
    await shop.heal()
    assert.equal(reply.statusCode, 502, reply.body)
    assert.equal(reply.json().error.code, 'stripe_error')
    await startPaid(person)
    await shop.settle()
    assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
  })
}

test('a commit that fails keeps nothing: Stripe repeats the event, and it is done once', async () => {
  const person = await registerPerson(shop)
  // At the commit, after everything was written. A sequence counts what is rolled back, too.
  await sql(
    service.database_url,
    `create sequence failed_commits;
     create function fail_twice() returns trigger language plpgsql as $$
     begin
       if nextval('failed_commits') <= 2 then raise exception 'the disk is full'; end if;
       return null;
     end $$;
     create constraint trigger fail_twice after update on topup deferrable initially deferred
     for each row when (new.state = 'paid') execute function fail_twice()`,
  )
  await startPaid(person)
  await shop.settle()
  const [tried] = await sql<{ n: string }>(
    service.database_url,
    `select last_value as n from failed_commits`,
  )
  await sql(service.database_url, 'drop trigger fail_twice on topup')
  assert.ok(Number(tried?.n) >= 3)
  assert.equal(await balanceOf(shop, person), WELCOME + 20_000_000)
})

test('the endpoint is not counted against any limit', async () => {
  const tight = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '3' } })
  const headers = { 'stripe-signature': 't=1,v1=00' }
  for (let i = 0; i < 10; i++) {
    assert.equal((await tight.post('/webhooks/stripe', {}, headers)).statusCode, 400)
  }
})

test('in live mode without keys nobody can top up, and the rest works', async () => {
  const settings = { ...LIVE_SETTINGS, STRIPE_SECRET_KEY: '', STRIPE_WEBHOOK_SECRET: '' }
  const live = await createApp({ settings })
  const { bearer } = await live.register()
  const reply = await live.post('/account/topups', { amount_usd: 20 }, bearer)
  assert.equal(reply.statusCode, 503)
  assert.equal(reply.json().error.code, 'provider_misconfigured')
  const list = await live.request({ url: '/account/topups', headers: bearer })
  assert.deepEqual(list.json().data, [])
})

test('without a webhook secret nobody is let pay: the payment would not be heard of', async () => {
  const deaf = await createApp({ settings: { STRIPE_WEBHOOK_SECRET: '' } })
  const { bearer } = await deaf.register()
  const reply = await deaf.post('/account/topups', { amount_usd: 20 }, bearer)
  assert.equal(reply.statusCode, 503)
})

test('a top-up that is paid has a receipt, for who paid it and nobody else', async () => {
  const person = await registerPerson(shop)
  const open = (await start(person)).json<Started>()
  const { id } = await startPaid(person)
  await shop.settle()
  const [paid, pending] = await listOf(person)
  assert.equal(paid?.receipt_url, `${service.parts.config.PUBLIC_URL}/account/topups/${id}/receipt`)
  assert.equal(pending?.receipt_url, null)
  const read = (of: string, headers: Record<string, string>) =>
    service.request({ url: `/account/topups/${of}/receipt`, headers })
  const receipt = await read(id, person.cookie)
  assert.equal(receipt.statusCode, 200)
  assert.match(String(receipt.headers['content-type']), /^text\/html/)
  for (const told of [person.email, '$20.00', '20,000,000', id]) {
    assert.ok(receipt.body.includes(told), told)
  }
  const stranger = await registerPerson(shop)
  assert.equal((await read(id, stranger.cookie)).statusCode, 404)
  assert.equal((await read(open.id, person.cookie)).statusCode, 404)
  assert.equal((await read('no-id', person.cookie)).statusCode, 404)
  assert.equal((await read(id, {})).statusCode, 401)
})

test('a browser comes back from the processor to the console, and to no other site', async () => {
  const person = await registerPerson(shop)
  const started = await start(person, 20, { return_to: '/console/wallet/top-ups' })
  const { id, checkout_url } = started.json<Started>()
  const session_id = checkout_url.split('/').at(-1) ?? ''
  const reply = await fetch(`${shop.sandbox.urls.stripe}/v1/checkout/sessions/${session_id}`, {
    headers: { authorization: 'Bearer sk_test_sandbox' },
  })
  const session = (await reply.json()) as { success_url: string; cancel_url: string }
  const page = `${service.parts.config.PUBLIC_URL}/console/wallet/top-ups`
  assert.equal(session.success_url, `${page}?result=paid&topup_id=${id}`)
  assert.equal(session.cancel_url, `${page}?result=canceled&topup_id=${id}`)
  for (const return_to of [
    'https://evil.example',
    '//evil.example',
    '/oauth/authorize',
    '/console.evil.example',
    '/console@evil.example',
    '/console/../oauth/logout',
    '/console//evil.example',
    '/console/a?b=c',
    '/console/a#b',
    '/console/\\evil.example',
    '/console/{CHECKOUT_SESSION_ID}',
    `/console/${'a'.repeat(200)}`,
    7,
  ]) {
    const refused = await start(person, 20, { return_to })
    assert.equal(refused.statusCode, 400, String(return_to))
  }
})

test('the books agree after all of this', assertBooks)
