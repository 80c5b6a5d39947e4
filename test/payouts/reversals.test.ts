// Money that goes back: refunds and disputes, on wallets that have it all, a part, or nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { followRefunds } from '../../src/topups/reversals.ts'
import { lockTopup } from '../../src/topups/store.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { transferCredits } from '../../src/wallet/postings.ts'
import { sql } from '../support/database.ts'
import { balanceOf, openShop, type Person, registerPerson } from './shop.ts'

const shop = await openShop()
const { service } = shop
const sink = await registerPerson(shop)

/** A person with exactly 20 dollars that they paid for, and the payment. */
async function buy(card = 'visa') {
  const person = await registerPerson(shop)
  await spend(person, 1_000_000n)
  const reply = await service.post('/account/topups', { amount_usd: 20 }, person.bearer)
  const { id, checkout_url } = reply.json<{ id: string; checkout_url: string }>()
  const session_id = checkout_url.split('/').at(-1) ?? ''
  await shop.control('POST', `/checkout/${session_id}/pay`, { card })
  const session = await stripe<{ payment_intent: string }>(`/v1/checkout/sessions/${session_id}`)
  return { person, id, payment_intent: session.payment_intent }
}

async function stripe<Body>(path: string, form?: Record<string, string>): Promise<Body> {
  const reply = await fetch(shop.sandbox.urls.stripe + path, {
    headers: { authorization: 'Bearer sk_test_sandbox' },
    ...(form && { method: 'POST', body: new URLSearchParams(form) }),
  })
  const text = await reply.text()
  assert.equal(reply.status, 200, text)
  return JSON.parse(text)
}

async function spend(person: Person, amount: bigint): Promise<void> {
  const at = service.clock.now()
  await service.parts.db.transaction((tx) =>
    transferCredits(tx, {
      id: mintWalletId(person.user_id, at),
      receipt_id: mintWalletId(sink.user_id, at),
      from_account_id: person.user_id,
      to_account_id: sink.user_id,
      amount,
      promotional_credits: 'as_money',
    }),
  )
}

async function refund(payment_intent: string, amount?: number): Promise<string> {
  const { id } = await stripe<{ id: string }>('/v1/refunds', {
    payment_intent,
    ...(amount !== undefined && { amount: String(amount) }),
  })
  return id
}

const failRefund = (id: string) => shop.control('POST', `/refunds/${id}/fail`)

const reinstate = (dispute_id: string, wish: object = {}) =>
  shop.control('POST', `/disputes/${dispute_id}/reinstate`, wish)

async function mailsTo(person: Person): Promise<string[]> {
  const rows = await sql<{ subject: string }>(
    service.database_url,
    'select subject from mail_outbox where account_id = $1 order by created_at, id',
    [person.user_id],
  )
  return rows.map((row) => row.subject)
}

async function dispute(payment_intent: string, amount?: number): Promise<string> {
  const wish = { payment_intent, ...(amount !== undefined && { amount }) }
  return (await shop.control<{ id: string }>('POST', '/disputes', wish)).id
}

function decide(dispute_id: string, outcome: 'won' | 'lost') {
  return shop.control('POST', `/disputes/${dispute_id}/close`, { outcome })
}

type Line = { account: string; total: string }

/** What the book's accounts have in transactions of these kinds about this person. */
async function bookOf(person: Person): Promise<Record<string, number>> {
  const rows = await sql<Line>(
    service.database_url,
    `select account, sum(amount) as total from journal
     where kind in ('refund', 'refund_failed', 'dispute', 'dispute_won', 'dispute_lost', 'dispute_reinstated')
       and (tx in (select tx from journal where owner = $1)
         or owner in (select id from topup where account_id = $1)
         or tx in (select j.tx from journal j
           join topup t on t.account_id = $1
           where j.description like '%' || t.id || '%')
         or tx in (select j.tx from journal j join topup t on t.id = j.owner where t.account_id = $1))
     group by account order by account`,
    [person.user_id],
  )
  return Object.fromEntries(rows.map(({ account, total }) => [account, Number(total)]))
}

async function assertBooks(): Promise<void> {
  const { proofs } = await checkLedger(service.parts.db)
  assert.deepEqual(
    proofs.filter((proof) => proof.differences > 0),
    [],
  )
}

async function autoOf(person: Person) {
  const reply = await service.request({ url: '/account/auto-topup', headers: person.bearer })
  return reply.json<{ enabled: boolean; switched_off_reason: string | null }>()
}

test('a refund takes back what was paid, in parts, and each part once', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await refund(payment_intent, 500)
  await refund(payment_intent, 700)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 8_000_000)
  await refund(payment_intent)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  assert.deepEqual(await bookOf(person), { external: 20_000_000, wallet: -20_000_000 })
})

test('a refund of what is spent takes the rest and writes off the loss', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await spend(person, 15_000_000n)
  await refund(payment_intent)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  assert.deepEqual(await bookOf(person), {
    external: 20_000_000,
    wallet: -5_000_000,
    write_off: -15_000_000,
  })
})

test('refunds told backwards and twice end the same', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await shop.control('POST', '/webhooks', { hold: true })
  await refund(payment_intent, 300)
  await refund(payment_intent, 400)
  await shop.control('POST', '/webhooks/release', { order: 'reversed', copies: 2 })
  await shop.control('POST', '/webhooks', { hold: false })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 13_000_000)
})

test('a refund that is told before the payment leaves nothing behind', async () => {
  await shop.settle()
  await shop.control('POST', '/webhooks', { hold: true })
  const { person, payment_intent } = await buy()
  await refund(payment_intent)
  await shop.control('POST', '/webhooks/release', { order: 'reversed', copies: 2 })
  await shop.control('POST', '/webhooks', { hold: false })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  assert.deepEqual(await bookOf(person), { external: 20_000_000, wallet: -20_000_000 })
})

test('a refund that fails gives back exactly what it took, and its loss is none', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await spend(person, 15_000_000n)
  const id = await refund(payment_intent)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  await failRefund(id)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 5_000_000)
  assert.deepEqual(await bookOf(person), { external: 0, wallet: 0, write_off: 0 })
  assert.ok((await mailsTo(person)).includes('A refund failed'))
  await assertBooks()
})

for (const order of ['as_made', 'reversed', 'shuffled']) {
  test(`a refund that fails and another that does not, told ${order} and twice, end the same`, async () => {
    const { person, payment_intent } = await buy()
    await shop.settle()
    await shop.control('POST', '/webhooks', { hold: true })
    await failRefund(await refund(payment_intent, 1_500))
    await refund(payment_intent, 1_500)
    await shop.control('POST', '/webhooks/release', { order, copies: 2 })
    await shop.control('POST', '/webhooks', { hold: false })
    await shop.settle()
    assert.equal(await balanceOf(shop, person), 5_000_000)
    const [topup] = (
      await service.request({ url: '/account/topups', headers: person.bearer })
    ).json<{ data: { refunded_credits: number }[] }>().data
    assert.equal(topup?.refunded_credits, 15_000_000)
    await assertBooks()
  })
}

test('a look at refunds that is older than the failure, and comes later, takes nothing', async () => {
  const { person, payment_intent, id: topup_id } = await buy()
  await shop.settle()
  const id = await refund(payment_intent)
  await failRefund(id)
  await shop.settle()
  const parts = { ...service.parts, wakeMailSender: () => {} }
  await service.parts.db.transaction(async (tx) => {
    const topup = await lockTopup(tx, topup_id)
    assert.ok(topup)
    await followRefunds(parts, tx, topup, [{ id, amount_cents: 2_000n, has_failed: false }])
  })
  assert.equal(await balanceOf(shop, person), 20_000_000)
})

test('a lost dispute whose money comes back is undone, and its loss is none', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await spend(person, 14_000_000n)
  const id = await dispute(payment_intent)
  await shop.settle()
  await decide(id, 'lost')
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  await reinstate(id)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 6_000_000)
  assert.deepEqual(await bookOf(person), { disputed: 0, external: 0, wallet: 0, write_off: 0 })
  const mails = await mailsTo(person)
  assert.ok(mails.includes('A dispute was reversed: the payment stands after all'), mails.join())
  await assertBooks()
})

test('a lost dispute and its reversal, told backwards and twice, end the same', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await shop.control('POST', '/webhooks', { hold: true })
  const id = await dispute(payment_intent)
  await decide(id, 'lost')
  await reinstate(id)
  await shop.control('POST', '/webhooks/release', { order: 'reversed', copies: 2 })
  await shop.control('POST', '/webhooks', { hold: false })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 20_000_000)
  await assertBooks()
})

test('a part of a lost dispute that comes back is kept on record for an operator, and credited to nobody', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  const id = await dispute(payment_intent)
  await decide(id, 'lost')
  await reinstate(id, { amount: 700 })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  const rows = await sql<{ state: string; cents: string }>(
    service.database_url,
    'select state, reinstated_cents as cents from topup_dispute where stripe_dispute_id = $1',
    [id],
  )
  assert.deepEqual(
    rows.map(({ state, cents }) => [state, Number(cents)]),
    [['lost', 700]],
  )
  await assertBooks()
})

test('a dispute freezes the credits, and a dispute that is won gives them back', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  const id = await dispute(payment_intent)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  assert.deepEqual(await bookOf(person), { disputed: 20_000_000, wallet: -20_000_000 })
  await assertBooks()
  await decide(id, 'won')
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 20_000_000)
  assert.deepEqual(await bookOf(person), { disputed: 0, wallet: 0 })
})

test('a dispute that is lost takes the frozen credits, and only those of the payment', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  const id = await dispute(payment_intent, 1_200)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 8_000_000)
  await decide(id, 'lost')
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 8_000_000)
  assert.deepEqual(await bookOf(person), { disputed: 0, external: 12_000_000, wallet: -12_000_000 })
})

test('a dispute about credits that are partly spent: never below zero, the rest is written off', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await spend(person, 14_000_000n)
  const id = await dispute(payment_intent)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  await decide(id, 'lost')
  await shop.settle()
  assert.deepEqual(await bookOf(person), {
    disputed: 0,
    external: 20_000_000,
    wallet: -6_000_000,
    write_off: -14_000_000,
  })
  await assertBooks()
})

test('credits that came meanwhile pay for a dispute that is lost', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await spend(person, 20_000_000n)
  const id = await dispute(payment_intent)
  await shop.settle()
  await service.parts.db.transaction((tx) =>
    transferCredits(tx, {
      id: mintWalletId(sink.user_id, service.clock.now()),
      receipt_id: mintWalletId(person.user_id, service.clock.now()),
      from_account_id: sink.user_id,
      to_account_id: person.user_id,
      amount: 3_000_000n,
      promotional_credits: 'as_money',
    }),
  )
  await decide(id, 'lost')
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 0)
  assert.deepEqual(await bookOf(person), {
    external: 20_000_000,
    wallet: -3_000_000,
    write_off: -17_000_000,
  })
})

test('credits that running calls hold are left to them', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  const { call_ledger } = service.parts
  const hold = await call_ledger.hold({
    id: mintWalletId(person.user_id, new Date()),
    wallet_id: person.user_id,
    min_credits: 5_000_000n,
    max_credits: 5_000_000n,
  })
  await dispute(payment_intent)
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 5_000_000)
  await call_ledger.release(hold)
  await assertBooks()
})

for (const outcome of ['won', 'lost'] as const) {
  test(`a dispute whose end (${outcome}) is told before its beginning, everything twice`, async () => {
    const { person, payment_intent } = await buy()
    await shop.settle()
    await shop.control('POST', '/webhooks', { hold: true })
    await decide(await dispute(payment_intent), outcome)
    await shop.control('POST', '/webhooks/release', { order: 'reversed', copies: 2 })
    await shop.control('POST', '/webhooks', { hold: false })
    await shop.settle()
    assert.equal(await balanceOf(shop, person), outcome === 'won' ? 20_000_000 : 0)
    const open = await sql(
      service.database_url,
      `select 1 from topup_dispute where state = 'open' and account_id = $1`,
      [person.user_id],
    )
    assert.deepEqual(open, [])
  })
}

test('an inquiry of the bank freezes nothing', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  const object = {
    id: 'du_inquiry',
    object: 'dispute',
    amount: 2_000,
    payment_intent,
    status: 'warning_needs_response',
  }
  await shop.control('POST', '/events', { type: 'charge.dispute.created', object })
  await shop.settle()
  assert.equal(await balanceOf(shop, person), 20_000_000)
})

test('a dispute switches automatic top-up off: the card may be a stolen one', async () => {
  const { person, payment_intent } = await buy()
  await shop.settle()
  await sql(
    service.database_url,
    `insert into auto_topup (account_id, enabled) values ($1, true)`,
    [person.user_id],
  )
  await dispute(payment_intent)
  await shop.settle()
  assert.deepEqual(
    [(await autoOf(person)).enabled, (await autoOf(person)).switched_off_reason],
    [false, 'disputed'],
  )
})

for (const [proof, damage, repair] of [
  [
    'disputes_are_the_disputed_account',
    `update topup_dispute set frozen_credits = frozen_credits - 1 where state = 'open' and frozen_credits > 1`,
    `update topup_dispute set frozen_credits = frozen_credits + 1 where state = 'open' and frozen_credits > 0`,
  ],
  [
    'topups_give_back_what_they_had',
    'update topup set refunded_credits = refunded_credits - 1 where refunded_credits > 0',
    'update topup set refunded_credits = refunded_credits + 1 where refunded_credits > 0',
  ],
] as const) {
  test(`the books agree after all of this, and ${proof} sees damage`, async () => {
    await assertBooks()
    await sql(service.database_url, damage)
    const { proofs } = await checkLedger(service.parts.db)
    await sql(service.database_url, repair)
    const broken = proofs.filter((found) => found.differences > 0)
    assert.deepEqual(
      broken.map(({ name }) => name),
      [proof],
    )
    await assertBooks()
  })
}
