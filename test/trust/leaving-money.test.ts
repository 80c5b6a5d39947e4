// Money of somebody who leaves: what was suspended stays unpaid, and what arrives late leaves books that hold.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { deleteClosed } from '../../src/accounts/closing/closing.ts'
import { accessEnder } from '../../src/end-access.ts'
import { readOpenEarnings } from '../../src/open-earnings.ts'
import { cutOffAccount, findPayoutAccount } from '../../src/payouts/accounts.ts'
import { claimPayout } from '../../src/payouts/payouts.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { savePaymentMethod } from '../../src/topups/auto-store.ts'
import { followDispute, followRefunds } from '../../src/topups/reversals.ts'
import { insertTopup, lockTopup } from '../../src/topups/store.ts'
import { creditTopup } from '../../src/topups/topups.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { grantCredits, transferCredits } from '../../src/wallet/postings.ts'
import { batch, DAY, earn, makeDeveloper, startStandIn } from '../payouts/support.ts'
import { createApp } from '../support/app.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import type { Person } from '../support/oauth.ts'

const service = await createApp()
const { database_url, parts } = service
const telling = { ...parts, wakeMailSender: () => {} }
const CENTS = 500n
const CREDITS = 5_000_000n

async function leave(person: Person): Promise<void> {
  const reply = await service.request({
    method: 'DELETE',
    url: '/account',
    headers: person.bearer,
  })
  assert.equal(reply.statusCode, 200)
}

async function runDeletion(): Promise<void> {
  const wanted = { ...parts, readOpenEarnings, endAccess: accessEnder(parts) }
  await deleteClosed(wanted, new AbortController().signal)
}

const exists = async (account_id: string) =>
  (await sql(database_url, 'select 1 from account where id = $1', [account_id])).length > 0

async function startTopup(account_id: string): Promise<string> {
  const id = mintId({ at: parts.clock.now() })
  await insertTopup(parts.db, {
    id,
    account_id,
    amount_cents: CENTS,
    credits: CREDITS,
    source: 'checkout',
    save_payment_method: true,
    at: parts.clock.now(),
  })
  return id
}

type Follow = Parameters<typeof followRefunds>

async function onTopup(
  id: string,
  work: (tx: Follow[1], topup: Follow[2]) => Promise<unknown>,
): Promise<void> {
  await parts.db.transaction(async (tx) => {
    const topup = await lockTopup(tx, id)
    assert.ok(topup)
    await work(tx, topup)
  })
}

const pay = (id: string) =>
  onTopup(id, (tx, topup) =>
    creditTopup(telling, tx, topup, { id: `pi_${id}`, amount_cents: CENTS, currency: 'usd' }),
  )

const tellDispute = (id: string, state: 'open' | 'won' | 'lost', amount_cents = CENTS) =>
  onTopup(id, (tx, topup) =>
    followDispute(telling, tx, topup, {
      id: `dp_${id}`,
      payment_id: `pi_${id}`,
      state,
      amount_cents,
      reinstated_cents: 0n,
    }),
  )

const tellRefund = (id: string, has_failed: boolean) =>
  onTopup(id, (tx, topup) =>
    followRefunds(telling, tx, topup, [{ id: `re_${id}`, amount_cents: CENTS, has_failed }]),
  )

async function assertBooksHold(): Promise<void> {
  const report = await checkLedger(parts.db)
  assert.deepEqual(
    report.proofs.filter((proof) => proof.differences > 0),
    [],
  )
}

async function readWallet(id: string) {
  const [wallet] = await sql<{ posted: string; promotional: string }>(
    database_url,
    'select posted::text, promotional::text from wallet where id = $1',
    [id],
  )
  return wallet
}

test('a suspended account is not deleted, so that its earnings stay unpaid, and is once it is resumed', async () => {
  const [suspended, other] = [await service.register(), await service.register()]
  await leave(suspended)
  await leave(other)
  const change = (set: string) =>
    sql(database_url, `update account set ${set} where id = $1`, [suspended.user_id])
  await change(`suspended_at = now(), suspended_reason = 'fraud'`)
  service.clock.advance(30 * DAY)
  await runDeletion()
  assert.deepEqual([await exists(suspended.user_id), await exists(other.user_id)], [true, false])
  await change('suspended_at = null, suspended_reason = null')
  await runDeletion()
  assert.equal(await exists(suspended.user_id), false)
})

test('a developer who is suspended after the batch has read its page is not paid', async () => {
  const payout_url = await createDatabase()
  const db = openDb(payout_url)
  const stand_in = await startStandIn()
  after(async () => {
    await db.close()
    await stand_in.close()
  })
  const start = new Date('2026-11-20T10:30:15.250Z')
  const developer_id = await makeDeveloper(db, stand_in)
  await earn(db, developer_id, { amounts: [25_000_000n], at: start })
  const claim = { developer_id, now: new Date(start.getTime() + 7 * DAY) }
  const change = (set: string) =>
    sql(payout_url, `update account set ${set} where id = $1`, [developer_id])
  await change(`suspended_at = now(), suspended_reason = 'fraud'`)
  assert.equal(await claimPayout(db, claim), undefined)
  await change('suspended_at = null, suspended_reason = null')
  assert.equal((await claimPayout(db, claim))?.gross_credits, 25_000_000n)
})

test('whoever left is paid, and what the processor changes of their payout account is still followed', async () => {
  const payout_url = await createDatabase()
  const db = openDb(payout_url)
  const stand_in = await startStandIn()
  after(async () => {
    await db.close()
    await stand_in.close()
  })
  const start = new Date('2026-11-20T10:30:15.250Z')
  const now = new Date(start.getTime() + 7 * DAY)
  const developer_id = await makeDeveloper(db, stand_in)
  await earn(db, developer_id, { amounts: [25_000_000n], at: start })
  await sql(payout_url, 'delete from account where id = $1', [developer_id])
  const { status, paid, errors } = await batch({ db, database_url: payout_url, stand_in }, { now })
  assert.deepEqual([status, paid, errors], ['done', 1, 0])
  const account = await findPayoutAccount(db, developer_id)
  const stripe_account_id = account?.stripe_account_id ?? ''
  assert.notEqual(stripe_account_id, '')
  await db.transaction((tx) => cutOffAccount(parts, tx, { developer_id, stripe_account_id }))
  assert.equal(await findPayoutAccount(db, developer_id), undefined)
})

test('a checkout that is paid after its owner left is credited, and saves no payment method', async () => {
  const person = await service.register()
  const [early, late] = [await startTopup(person.user_id), await startTopup(person.user_id)]
  const save = () =>
    parts.db.transaction((tx) =>
      savePaymentMethod(tx, person.user_id, {
        customer_id: 'cus_1',
        payment_method_id: 'pm_1',
        label: 'a card',
      }),
    )
  const saved = 'select 1 from auto_topup where account_id = $1'
  await leave(person)
  await pay(early)
  await save()
  assert.equal((await sql(database_url, saved, [person.user_id])).length, 0)
  service.clock.advance(30 * DAY)
  await runDeletion()
  assert.equal(await exists(person.user_id), false)
  await pay(late)
  await save()
  assert.deepEqual(await readWallet(person.user_id), { posted: '5000000', promotional: '0' })
  assert.ok(service.log_lines.some((line) => line.includes('deleted') && line.includes(late)))
  await assertBooksHold()
})

test('promotional credits that refunds and disputes took come back as such after the deletion, and the books hold', async () => {
  const [person, friend] = [await service.register(), await service.register()]
  const { user_id } = person
  const at = parts.clock.now()
  const [refunded, won, lost] = [
    await startTopup(user_id),
    await startTopup(user_id),
    await startTopup(user_id),
  ]
  for (const id of [refunded, won, lost]) await pay(id)
  const granted = mintWalletId(user_id, at)
  await parts.db.transaction(async (tx) => {
    await grantCredits(tx, { id: granted, account_id: user_id, amount: 3_000_000n })
    // All that was paid for goes, so that what is asked back is promotional.
    await transferCredits(tx, {
      id: mintWalletId(user_id, at),
      receipt_id: mintWalletId(friend.user_id, at),
      from_account_id: user_id,
      to_account_id: friend.user_id,
      amount: 3n * CREDITS,
      promotional_credits: 'spend_only',
    })
  })
  assert.deepEqual(await readWallet(user_id), { posted: '4000000', promotional: '4000000' })
  await tellDispute(won, 'open', 200n)
  await tellDispute(lost, 'open', 100n)
  await tellRefund(refunded, false)
  assert.deepEqual(await readWallet(user_id), { posted: '0', promotional: '0' })
  await leave(person)
  service.clock.advance(30 * DAY)
  await runDeletion()
  assert.equal(await exists(user_id), false)
  await tellRefund(refunded, true)
  await tellDispute(won, 'won', 200n)
  await tellDispute(lost, 'lost', 100n)
  assert.deepEqual(await readWallet(user_id), { posted: '3000000', promotional: '3000000' })
  await assertBooksHold()
})
