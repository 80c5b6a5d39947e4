// Automatic top-ups: off by default, one charge at a time, under the ceiling, and told each time.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chargeDue, followOpen } from '../../src/topups/automatic-charges.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { LIVE_SETTINGS } from '../support/live-settings.ts'
import { balanceOf, openShop, type Person, registerPerson } from './shop.ts'

const WELCOME = 1_000_000
const MINUTE_MS = 60_000
const KEY_LIFE_MS = 23 * 60 * MINUTE_MS

const shop = await openShop({ STRIPE_TIMEOUT_MS: '300' })
const { service } = shop
const parts = { ...service.parts, wakeMailSender: () => {} }
const { signal } = new AbortController()

const WISH = {
  enabled: true,
  threshold_credits: 30_000_000,
  amount_usd: 10,
  monthly_ceiling_usd: 1_000,
}

type Auto = {
  enabled: boolean
  payment_method: string | null
  switched_off_reason: string | null
  charged_this_month_usd: number
}
type Listed = { state: string; source: string; failure_code: string | null }

function put(person: Person, wish: object) {
  return service.request({
    method: 'PUT',
    url: '/account/auto-topup',
    headers: { ...person.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify(wish),
  })
}

async function autoOf(person: Person): Promise<Auto> {
  const reply = await service.request({ url: '/account/auto-topup', headers: person.bearer })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<Auto>()
}

/** A person whose payment of five dollars saved this card: 6,000,000 credits. */
async function savedCard(card = 'visa'): Promise<Person> {
  const person = await registerPerson(shop)
  const wish = { amount_usd: 5, save_payment_method: true }
  const reply = await service.post('/account/topups', wish, person.bearer)
  const { checkout_url } = reply.json<{ checkout_url: string }>()
  await shop.control('POST', `/checkout/${checkout_url.split('/').at(-1)}/pay`, { card })
  await shop.settle()
  return person
}

async function wanting(card = 'visa', wish: object = {}): Promise<Person> {
  const person = await savedCard(card)
  const reply = await put(person, { ...WISH, ...wish })
  assert.equal(reply.statusCode, 200, reply.body)
  return person
}

async function automaticOf(person: Person): Promise<Listed[]> {
  const reply = await service.request({ url: '/account/topups', headers: person.bearer })
  return reply.json<{ data: Listed[] }>().data.filter((topup) => topup.source === 'automatic')
}

async function mailsTo(person: Person): Promise<string[]> {
  const rows = await sql<{ subject: string }>(
    service.database_url,
    'select subject from mail_outbox where account_id = $1 order by created_at, id',
    [person.user_id],
  )
  return rows.map((row) => row.subject)
}

async function chargesOf(person: Person): Promise<number> {
  const [row] = await sql<{ customer: string }>(
    service.database_url,
    'select stripe_customer_id as customer from auto_topup where account_id = $1',
    [person.user_id],
  )
  const url = `${shop.sandbox.urls.stripe}/v1/charges?customer=${row?.customer}&limit=100`
  const reply = await fetch(url, { headers: { authorization: 'Bearer sk_test_sandbox' } })
  const { data } = (await reply.json()) as { data: { status: string; amount: number }[] }
  return data.filter((charge) => charge.status === 'succeeded' && charge.amount === 1_000).length
}

/** No other test's person is due while one is looked at. */
async function switchAllOff(): Promise<void> {
  await sql(service.database_url, 'update auto_topup set enabled = false')
}

test('it is off until somebody switches it on, and needs a saved payment method', async () => {
  const person = await registerPerson(shop)
  const never = await autoOf(person)
  assert.deepEqual([never.enabled, never.payment_method], [false, null])
  const refused = await put(person, WISH)
  assert.equal(refused.statusCode, 400)
  assert.match(refused.json().error.message, /no saved payment method/)
  assert.equal((await put(person, { ...WISH, enabled: false })).statusCode, 200)
  const saver = await savedCard()
  const saved = await autoOf(saver)
  assert.deepEqual([saved.enabled, saved.payment_method], [false, 'visa 4242'])
  assert.equal((await put(saver, WISH)).statusCode, 200)
  assert.equal((await autoOf(saver)).enabled, true)
  await switchAllOff()
})

test('wishes are held to their bounds', async () => {
  const person = await savedCard()
  for (const wrong of [
    { amount_usd: 4.99 },
    { amount_usd: 10.001 },
    { amount_usd: 10_000 },
    { monthly_ceiling_usd: 9.99 },
    { threshold_credits: 0 },
    { threshold_credits: 1.5 },
    { threshold_credits: 2 ** 53 },
    { enabled: 'yes' },
    { amount_usd: null },
  ]) {
    const reply = await put(person, { ...WISH, ...wrong })
    assert.equal(reply.statusCode, 400, JSON.stringify(wrong))
  }
  assert.equal((await autoOf(person)).enabled, false)
})

test('a low balance is charged once, credited once, and told', async () => {
  const person = await wanting('visa', { threshold_credits: 10_000_000 })
  await chargeDue(parts, signal)
  await shop.settle()
  await chargeDue(parts, signal)
  assert.equal(await balanceOf(shop, person), WELCOME + 15_000_000)
  assert.equal(await chargesOf(person), 1)
  const [topup] = await automaticOf(person)
  assert.equal(topup?.state, 'paid')
  assert.equal((await mailsTo(person)).filter((mail) => mail.includes('$10.00')).length, 1)
  assert.equal((await autoOf(person)).charged_this_month_usd, 10)
  await switchAllOff()
})

test('many workers at once charge once', async () => {
  const person = await wanting('visa', { threshold_credits: 10_000_000 })
  await Promise.all(Array.from({ length: 6 }, () => chargeDue(parts, signal)))
  await shop.settle()
  assert.equal(await chargesOf(person), 1)
  assert.equal(await balanceOf(shop, person), WELCOME + 15_000_000)
  await switchAllOff()
})

test('the ceiling of a month ends it, is told once, and a new month goes on', async () => {
  const person = await wanting('visa', { monthly_ceiling_usd: 25, threshold_credits: 500_000_000 })
  for (let run = 0; run < 5; run++) {
    await chargeDue(parts, signal)
    await shop.settle()
  }
  assert.equal(await chargesOf(person), 2)
  const told = (await mailsTo(person)).filter((mail) => mail.includes('ceiling'))
  assert.equal(told.length, 1)
  assert.equal((await autoOf(person)).enabled, true)
  await put(person, { ...WISH, monthly_ceiling_usd: 35, threshold_credits: 500_000_000 })
  await chargeDue(parts, signal)
  await shop.settle()
  assert.equal(await chargesOf(person), 3)
  await sql(
    service.database_url,
    `update topup set created_at = created_at - interval '32 days' where account_id = $1`,
    [person.user_id],
  )
  await chargeDue(parts, signal)
  assert.equal(await chargesOf(person), 4)
  await switchAllOff()
})

for (const [card, code] of [
  ['fails_later', 'card_declined'],
  ['asks_always', 'authentication_required'],
] as const) {
  test(`a card that is refused (${card}) switches it off, and its owner is told`, async () => {
    const person = await wanting(card)
    await chargeDue(parts, signal)
    await shop.settle()
    await chargeDue(parts, signal)
    const auto = await autoOf(person)
    assert.equal(auto.enabled, false)
    assert.equal(auto.switched_off_reason, code)
    const charges = await automaticOf(person)
    assert.deepEqual(
      charges.map((topup) => [topup.state, topup.failure_code]),
      [['failed', code]],
    )
    const told = (await mailsTo(person)).filter((mail) => mail.includes('failed'))
    assert.equal(told.length, 1)
    assert.equal(await balanceOf(shop, person), WELCOME + 5_000_000)
  })
}

test('a bank debit is one charge in flight until it is decided', async () => {
  await shop.control('POST', '/settings', { settle_after_s: 3600 })
  const person = await savedCard('bank')
  await shop.control('POST', '/clock', { advance_s: 3601 })
  await shop.settle()
  assert.equal((await put(person, WISH)).statusCode, 200)
  for (let run = 0; run < 3; run++) await chargeDue(parts, signal)
  await shop.settle()
  assert.equal((await automaticOf(person)).length, 1)
  assert.equal((await automaticOf(person))[0]?.state, 'pending')
  await switchAllOff()
  await shop.control('POST', '/clock', { advance_s: 3601 })
  await shop.settle()
  assert.equal((await automaticOf(person))[0]?.state, 'paid')
  assert.equal(await balanceOf(shop, person), WELCOME + 15_000_000)
})

for (const fault of [
  { fault: 'timeout', when: 'after', times: 3 },
  { fault: 'timeout', when: 'before', times: 3 },
  { fault: 'status', status: 500, when: 'before', times: 3 },
  { fault: 'status', status: 500, when: 'after_saved', times: 3 },
  { fault: 'reset', when: 'after', times: 4 },
  { fault: 'cut', when: 'after', times: 3 },
  { fault: 'status', status: 429, times: 1 },
]) {
  const name = [fault.fault, fault.status, fault.when].filter(Boolean).join(' ')
  test(`no clear answer (${name}): it stays open, and ends as one charge and one credit`, async () => {
    await shop.settle()
    const person = await wanting('visa', { threshold_credits: 10_000_000 })
    await shop.control('POST', '/webhooks', { hold: true })
    await shop.fail('/v1/payment_intents', fault)
    await chargeDue(parts, signal)
    await shop.heal()
    assert.equal((await automaticOf(person))[0]?.state, 'pending')
    await chargeDue(parts, signal)
    await followOpen(parts, signal)
    assert.equal((await automaticOf(person)).length, 1, 'nobody else charges meanwhile')
    service.clock.advance(MINUTE_MS)
    await followOpen(parts, signal)
    await shop.control('POST', '/webhooks', { hold: false })
    await shop.settle()
    await switchAllOff()
    assert.equal((await automaticOf(person))[0]?.state, 'paid')
    assert.equal(await chargesOf(person), 1)
    assert.equal(await balanceOf(shop, person), WELCOME + 15_000_000)
  })
}

test('a credential that is refused switches nobody off: it is charged once the operator has mended it', async () => {
  const person = await wanting('visa', { threshold_credits: 10_000_000 })
  await shop.fail('/v1/payment_intents', { fault: 'status', status: 401 })
  await chargeDue(parts, signal)
  await shop.heal()
  assert.equal((await autoOf(person)).enabled, true)
  assert.equal((await automaticOf(person))[0]?.state, 'pending')
  service.clock.advance(MINUTE_MS)
  await followOpen(parts, signal)
  await shop.settle()
  await switchAllOff()
  assert.equal((await automaticOf(person))[0]?.state, 'paid')
  assert.equal(await chargesOf(person), 1)
})

test('a refund does not make the card be charged again', async () => {
  const person = await wanting('visa', { threshold_credits: 10_000_000 })
  await chargeDue(parts, signal)
  await shop.settle()
  const [paid] = await sql<{ payment: string }>(
    service.database_url,
    `select stripe_payment_intent_id as payment from topup where account_id = $1 and source = 'automatic'`,
    [person.user_id],
  )
  await service.parts.stripe?.refunds.create({ payment_intent: paid?.payment ?? '' })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), WELCOME + 5_000_000)
  await chargeDue(parts, signal)
  assert.equal((await automaticOf(person)).length, 1)
  const { enabled, switched_off_reason } = await autoOf(person)
  assert.deepEqual([enabled, switched_off_reason], [false, 'refunded'])
})

test('killed after the charge and before the credit: the event alone credits it', async () => {
  const person = await wanting('visa', { threshold_credits: 10_000_000 })
  await shop.fail('/v1/payment_intents', { fault: 'timeout', when: 'after', times: 3 })
  await chargeDue(parts, signal)
  await shop.heal()
  await shop.settle()
  await switchAllOff()
  assert.equal((await automaticOf(person))[0]?.state, 'paid')
  assert.equal(await balanceOf(shop, person), WELCOME + 15_000_000)
  service.clock.advance(MINUTE_MS)
  await followOpen(parts, signal)
  assert.equal(await chargesOf(person), 1)
  assert.equal(await balanceOf(shop, person), WELCOME + 15_000_000)
})

test('a charge that was never made is given up once its key may be forgotten, and never sent again', async () => {
  const person = await wanting('visa', { threshold_credits: 10_000_000 })
  await shop.fail('/v1/payment_intents', { fault: 'status', status: 500, times: 3 })
  await chargeDue(parts, signal)
  await shop.heal()
  service.clock.advance(KEY_LIFE_MS)
  await followOpen(parts, signal)
  const [topup] = await automaticOf(person)
  assert.deepEqual([topup?.state, topup?.failure_code], ['failed', 'no_answer'])
  assert.equal(await chargesOf(person), 0)
  assert.equal(await balanceOf(shop, person), WELCOME + 5_000_000)
})

test('without keys nothing is charged and nothing can be switched on', async () => {
  const live = await createApp({ settings: { ...LIVE_SETTINGS, STRIPE_SECRET_KEY: '' } })
  await chargeDue({ ...live.parts, wakeMailSender: () => {} }, signal)
  await followOpen({ ...live.parts, wakeMailSender: () => {} }, signal)
  const { bearer } = await live.register()
  const reply = await live.request({
    method: 'PUT',
    url: '/account/auto-topup',
    headers: bearer,
    payload: WISH,
  })
  assert.equal(reply.statusCode, 503)
  assert.equal(reply.json().error.code, 'provider_misconfigured')
})

test('the books agree after all of this', async () => {
  const { ok, proofs } = await checkLedger(service.parts.db)
  assert.ok(ok, JSON.stringify(proofs))
})
