import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { checkPayouts, provePayouts } from '../../src/payouts/check.ts'
import { foldEarnings } from '../../src/payouts/earnings.ts'
import { payoutJobs } from '../../src/payouts/jobs.ts'
import { listPayouts, readPayout, unblockPayouts } from '../../src/payouts/operator.ts'
import { reconcile } from '../../src/payouts/reconcile.ts'
import { FrozenClock } from '../../src/platform/clock.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import type { Proof } from '../../src/wallet/check.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { collectLog } from '../support/log.ts'
import { batch, DAY, earn, makeDeveloper, payoutsOf, silent, startStandIn } from './support.ts'

const database_url = await createDatabase()
const db = openDb(database_url)
const stand_in = await startStandIn('books')
after(async () => {
  await db.close()
  await stand_in.close()
})
const bench = { db, database_url, stand_in }
const start = new Date('2026-11-20T00:00:00Z')
const later = (ms: number) => new Date(start.getTime() + ms)

// Three payouts: one paid with a reserve that the next rolled in, one pending.
const developer = await makeDeveloper(db, stand_in)
for (const day of [7, 97]) {
  await earn(db, developer, { amounts: [25_000_000n, 7n], at: start })
  await batch(bench, { now: later(day * DAY) })
}
await foldEarnings(db, new AbortController().signal)
await earn(db, developer, { amounts: [12_000_000n], at: start })
await stand_in.control('/faults', {
  method: 'POST',
  path: '/v1/transfers',
  fault: 'status',
  status: 500,
  when: 'before',
})
await batch(bench, { now: later(98 * DAY) })
await earn(db, developer, { amounts: [3n], at: start })

/** Each breaks one fact behind the service's back. */
const DAMAGE: readonly [proof: string, text: string][] = [
  [
    'payouts_add_up',
    "update payout set reserve_credits = reserve_credits + 1 where status = 'paid'",
  ],
  [
    'payouts_add_up',
    "update payout set transfer_credits = transfer_credits - 1 where status = 'paid'",
  ],
  ['payouts_add_up', "update payout set amount_cents = amount_cents + 1 where status = 'paid'"],
  [
    'payouts_add_up',
    "update payout set earnings_count = earnings_count + 1 where status = 'pending'",
  ],
  ['payouts_add_up', 'update developer_earning set payout_id = null where amount = 7'],
  ['payouts_add_up', 'update developer_earning set amount = 8 where amount = 7'],
  ['payouts_add_up', 'update payout_reserve set rolled_into = null'],
  ['reserves_are_of_payouts', 'update payout_reserve set amount = amount - 1'],
  [
    'reserves_are_of_payouts',
    "update payout_reserve set release_at = release_at - interval '1 day'",
  ],
  ['reserves_are_of_payouts', 'delete from payout_reserve where rolled_into is null'],
  ['payout_accounts_are_in_the_journal', "delete from journal where account = 'rounding'"],
  [
    'payout_accounts_are_in_the_journal',
    "update journal set amount = amount + 1 where account = 'payout_clearing'",
  ],
  [
    'payout_accounts_are_in_the_journal',
    "update payout set amount_cents = amount_cents + 1 where status = 'paid'",
  ],
  ['payout_accounts_are_in_the_journal', 'delete from payout_reserve where rolled_into is null'],
  ['payout_accounts_are_in_the_journal', 'delete from developer_earning where amount = 3'],
  ['earnings_are_somewhere', 'delete from developer_earning where amount = 3'],
  ['earnings_are_somewhere', 'update earning_total set earned = earned + 1'],
  ['earnings_are_somewhere', "update payout set status = 'failed' where status = 'pending'"],
  ['unclaimed_sums_are_of_rows', 'update developer_earning set amount = 4 where amount = 3'],
  ['unclaimed_sums_are_of_rows', 'delete from earning_delta where unclaimed < 0'],
  ['days_are_the_total', 'update earning_day set earned = earned + 1'],
]

class Undo extends Error {}

/** What the proofs say of the damage; it is undone. */
async function damagedBy(text: string): Promise<Proof[]> {
  let proofs: Proof[] = []
  const steps = [
    'set local session_replication_role = replica',
    `do $$ declare c record; begin
      for c in select conname from pg_constraint where contype = 'c' and conrelid = 'payout'::regclass loop
        execute format('alter table payout drop constraint %I', c.conname);
      end loop;
    end $$`,
    text,
  ]
  const broken = db.transaction(async (tx) => {
    for (const [index, part] of steps.entries()) {
      await tx.run({ name: `test.damage_${hash('md5', text)}_${index}`, text: part })
    }
    proofs = await provePayouts(tx)
    throw new Undo()
  })
  await assert.rejects(broken, Undo)
  return proofs
}

describe('the payout books', () => {
  it('are right, and every proof looked at something', async () => {
    const { ok, proofs } = await checkPayouts(db)
    assert.ok(ok, JSON.stringify(proofs))
    for (const { name, checked } of proofs) assert.ok(checked > 0, name)
  })

  for (const [proof, text] of DAMAGE) {
    it(`${proof} sees: ${text}`, async () => {
      const report = await damagedBy(text)
      assert.ok(report.some(({ name, differences }) => name === proof && differences > 0))
    })
  }

  it('refuses a payout that does not add up, whoever writes it', async () => {
    for (const change of [
      'reserve_credits = reserve_credits + 1',
      'amount_cents = amount_cents + 1',
      'gross_credits = 1',
    ]) {
      await assert.rejects(
        sql(database_url, `update payout set ${change}`),
        /violates check constraint/,
      )
    }
  })

  it('are compared with the processor, and each difference is named', async () => {
    await batch(bench, { now: later(99 * DAY) })
    const parts = { db, stripe: stand_in.stripe }
    const agreed = await reconcile(parts)
    assert.deepEqual(agreed.differences, [])
    assert.equal(agreed.transferred_cents, agreed.paid_cents)
    const [first, second, third] = await payoutsOf(db, developer)
    assert.ok(first && second && third)
    await sql(database_url, "update payout set stripe_transfer_id = 'tr_other' where id = $1", [
      first.id,
    ])
    await sql(database_url, "update payout set status = 'failed' where id = $1", [third.id])
    await stand_in.stripe.transfers.createReversal(second.stripe_transfer_id ?? '', { amount: 5 })
    const [account] = await sql<{ id: string }>(
      database_url,
      'select stripe_account_id as id from payout_account',
    )
    await stand_in.stripe.transfers.create({
      amount: 9,
      currency: 'usd',
      destination: account?.id ?? '',
    })
    const { differences } = await reconcile(parts)
    const named = differences.join('\n')
    assert.equal(differences.length, 5, named)
    assert.match(named, /of 9 cents: no payout of ours/)
    assert.match(named, new RegExp(`payout ${first.id} was paid by tr_other`))
    assert.match(
      named,
      new RegExp(`payout ${first.id} of \\d+ cents: the processor has no transfer tr_other`),
    )
    assert.match(named, new RegExp(`payout ${second.id} is paid here, and 5 cents came back`))
    assert.match(named, new RegExp(`payout ${third.id} has failed here`))
    await sql(database_url, 'update payout set stripe_transfer_id = $2 where id = $1', [
      first.id,
      first.stripe_transfer_id,
    ])
    await sql(database_url, "update payout set status = 'paid' where id = $1", [third.id])
  })

  it('are listed for an operator, who lets a developer be paid again', async () => {
    assert.equal((await listPayouts(db, { status: undefined, limit: 2 })).length, 2)
    assert.deepEqual(await listPayouts(db, { status: 'failed', limit: 2 }), [])
    const [first] = await payoutsOf(db, developer)
    assert.equal((await readPayout(db, first?.id ?? ''))?.idempotency_key, first?.idempotency_key)
    assert.equal(await unblockPayouts(db, developer), false)
    await sql(database_url, 'update payout_account set payouts_blocked = true')
    assert.equal(await unblockPayouts(db, developer), true)
  })
})

describe('the daily batch of the worker', () => {
  it('runs once a day, also in two workers, and again when it did not end', async () => {
    const url = await createDatabase()
    const own = openDb(url)
    const clock = new FrozenClock('2026-12-01T05:00:00Z')
    const { log, lines } = collectLog()
    const parts = {
      db: own,
      database_url: url,
      stripe: stand_in.stripe,
      clock,
      log,
      metrics: createMetrics(),
    }
    const job = payoutJobs(parts).find(({ name }) => name === 'payouts.batch')
    assert.ok(job)
    const look = async () => await job.run(new AbortController().signal)
    const batches = () => lines().filter(({ msg }) => msg === 'payout batch').length
    await look()
    await look()
    assert.equal(batches(), 1)
    clock.advance(3_600_000)
    await Promise.all([look(), look()])
    assert.equal(batches(), 2)
    await sql(url, 'update payout_run set ended_at = null')
    clock.advance(3_599_999)
    await look()
    assert.equal(batches(), 2)
    clock.advance(1)
    await look()
    assert.equal(batches(), 3)
    const nobody = payoutJobs({ ...parts, log: silent, stripe: undefined })
    for (const each of nobody) await each.run(new AbortController().signal)
    await own.close()
  })
})
