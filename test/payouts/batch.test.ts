import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { after, describe, it } from 'node:test'
import { foldEarnings, readSeries } from '../../src/payouts/earnings.ts'
import {
  claimPayout,
  markFailed,
  markPaid,
  reversePayout,
  takeNextKey,
} from '../../src/payouts/payouts.ts'
import { MINIMUM_CREDITS } from '../../src/payouts/rules.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import {
  assertPaidOnce,
  batch,
  DAY,
  earn,
  makeDeveloper,
  payoutsOf,
  startStandIn,
  summaryOf,
} from './support.ts'

const database_url = await createDatabase()
const db = openDb(database_url)
const stand_in = await startStandIn()
after(async () => {
  await db.close()
  await stand_in.close()
})
const bench = { db, database_url, stand_in }
const start = new Date('2026-11-20T10:30:15.250Z')
const later = (ms: number) => new Date(start.getTime() + ms)

describe('a batch', () => {
  it('follows the worked example: two payouts, a reserve that is released and rolled in', async () => {
    const developer = await makeDeveloper(db, stand_in)
    const ids = await earn(db, developer, { amounts: [25_000_000n, 7n], at: start })
    const first = await batch(bench, { now: later(7 * DAY) })
    assert.deepEqual([first.status, first.paid, first.paid_cents], ['done', 1, 2250n])
    const [payout] = await payoutsOf(db, developer)
    assert.equal(
      payout?.idempotency_key,
      `payout_${developer}_${hash('sha256', ids.sort().join(','))}`,
    )
    const day_7 = await summaryOf(db, developer, later(7 * DAY))
    assert.equal(day_7.total_paid_out_credits, 22_500_007n)
    assert.equal(day_7.reserve_held_credits, 2_500_000n)

    const day_97 = await summaryOf(db, developer, later(97 * DAY))
    assert.equal(day_97.reserve_held_credits, 0n)
    assert.equal(day_97.released_reserve_credits, 2_500_000n)
    await earn(db, developer, { amounts: [10_000_000n], at: later(97 * DAY) })
    await batch(bench, { now: later(104 * DAY) })
    const second = (await payoutsOf(db, developer)).at(-1)
    assert.deepEqual([second?.gross_credits, second?.amount_cents], [12_500_000n, 1125n])
    const end = await summaryOf(db, developer, later(104 * DAY))
    assert.equal(end.total_earned_credits, 35_000_007n)
    assert.equal(end.total_paid_out_credits, 33_750_007n)
    assert.equal(end.reserve_held_credits, 1_250_000n)
    assert.equal(end.released_reserve_credits, 0n)
    await assertPaidOnce(bench)
  })

  it('changes its mind at seven days, ten dollars and ninety days, and not a moment before', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [MINIMUM_CREDITS - 1n], at: start })
    assert.equal(
      (await summaryOf(db, developer, later(7 * DAY - 1000))).on_hold_credits,
      9_999_999n,
    )
    assert.equal((await summaryOf(db, developer, later(7 * DAY - 1))).on_hold_credits, 9_999_999n)
    assert.equal((await summaryOf(db, developer, later(7 * DAY))).accumulating_credits, 9_999_999n)
    assert.equal((await batch(bench, { now: later(7 * DAY) })).paid, 0)

    await earn(db, developer, { amounts: [1n], at: start })
    assert.equal((await batch(bench, { now: later(7 * DAY - 1000) })).paid, 0)
    const due = await summaryOf(db, developer, later(7 * DAY))
    assert.deepEqual([due.pending_payout_credits, due.accumulating_credits], [10_000_000n, 0n])
    assert.equal((await batch(bench, { now: later(7 * DAY) })).paid, 1)

    assert.equal(
      (await summaryOf(db, developer, later(97 * DAY - 1000))).reserve_held_credits,
      1_000_000n,
    )
    assert.equal((await summaryOf(db, developer, later(97 * DAY))).reserve_held_credits, 0n)
    await earn(db, developer, { amounts: [10_000_000n], at: later(80 * DAY) })
    assert.equal((await batch(bench, { now: later(97 * DAY - 1000) })).paid, 1)
    assert.equal((await payoutsOf(db, developer)).at(-1)?.rolled_reserve_credits, 0n)
    await earn(db, developer, { amounts: [10_000_000n], at: later(80 * DAY) })
    assert.equal((await batch(bench, { now: later(97 * DAY) })).paid, 1)
    assert.equal((await payoutsOf(db, developer)).at(-1)?.rolled_reserve_credits, 1_000_000n)
    await assertPaidOnce(bench)
  })

  it('pays nobody without an account, without payouts enabled, or below a cent; and then pays', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    const now = later(8 * DAY)
    const [account] = await sql<{ stripe_account_id: string }>(
      database_url,
      'select stripe_account_id from payout_account where developer_id = $1',
      [developer],
    )
    await stand_in.control(`/accounts/${account?.stripe_account_id}`, { outcome: 'needs_document' })
    // The mirror is from today; the batch is a week ahead and asks again.
    assert.equal((await batch(bench, { now })).paid, 0)
    await sql(
      database_url,
      'update payout_account set stripe_account_id = null where developer_id = $1',
      [developer],
    )
    assert.equal((await batch(bench, { now })).paid, 0)
    assert.deepEqual(await payoutsOf(db, developer), [])
    await stand_in.control(`/accounts/${account?.stripe_account_id}`, { outcome: 'complete' })
    await sql(
      database_url,
      'update payout_account set stripe_account_id = $2, mirrored_at = null where developer_id = $1',
      [developer, account?.stripe_account_id],
    )
    assert.equal((await batch(bench, { now })).paid, 1)
    assert.equal((await payoutsOf(db, developer)).length, 1)

    const small = await makeDeveloper(db, stand_in)
    await earn(db, small, { amounts: [11_110n], at: start })
    assert.equal((await batch(bench, { now, minimum_credits: 1n })).paid, 0)
    assert.deepEqual(await payoutsOf(db, small), [])
    assert.equal((await summaryOf(db, small, now)).accumulating_credits, 11_110n)
    await earn(db, small, { amounts: [1n], at: start })
    assert.equal((await batch(bench, { now, minimum_credits: 1n })).paid_cents, 1n)
    await assertPaidOnce(bench)
  })

  it('claims nothing below the minimum, for a developer who may not be paid, or while a payout is pending', async () => {
    const developer_id = await makeDeveloper(db, stand_in)
    const now = later(8 * DAY)
    const claim = () => claimPayout(db, { developer_id, now })
    const change = (what: string) =>
      sql(database_url, `update payout_account set ${what} where developer_id = $1`, [developer_id])
    assert.equal(await claim(), undefined)
    await earn(db, developer_id, { amounts: [9_999_999n], at: start })
    assert.equal(await claim(), undefined)
    await earn(db, developer_id, { amounts: [1n], at: start })
    for (const what of ['payouts_enabled', 'payouts_blocked']) {
      await change(`${what} = not ${what}`)
      assert.equal(await claim(), undefined)
      await change(`${what} = not ${what}`)
    }
    const payout = await claim()
    assert.ok(payout)
    await earn(db, developer_id, { amounts: [20_000_000n], at: start })
    assert.equal(await claim(), undefined)
    const next = await takeNextKey(db, payout, now)
    assert.equal(next?.attempt, 1)
    assert.notEqual(next.idempotency_key, payout.idempotency_key)
    const failure = { code: 'test', message: 'test' }
    assert.equal(await markFailed(db, { payout: next, failure, now }), true)
    assert.equal(await markFailed(db, { payout: next, failure, now }), false)
    assert.equal(await markPaid(db, { payout, transfer_id: 'tr_late', now }), false)
    assert.equal((await summaryOf(db, developer_id, now)).pending_payout_credits, 30_000_000n)
    assert.equal((await batch(bench, { now })).paid, 1)
    await assertPaidOnce(bench)
  })

  it('counts a call on the stroke of the hour that the seven days cut', async () => {
    const developer = await makeDeveloper(db, stand_in)
    const hour = new Date('2026-11-20T10:00:00.000Z')
    await earn(db, developer, { amounts: [5n], at: hour })
    const summary = await summaryOf(db, developer, new Date(hour.getTime() + 7 * DAY + 1_800_000))
    assert.deepEqual([summary.accumulating_credits, summary.on_hold_credits], [5n, 0n])
  })

  it('never pays what is marked as not payable, and shows it', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [50_000_000n], at: start, payable: false })
    await earn(db, developer, { amounts: [9_999_999n], at: start })
    assert.equal((await batch(bench, { now: later(9 * DAY) })).paid, 0)
    const summary = await summaryOf(db, developer, later(9 * DAY))
    assert.equal(summary.not_payable_credits, 50_000_000n)
    assert.equal(summary.accumulating_credits, 9_999_999n)
    assert.equal(summary.total_earned_credits, 59_999_999n)
    await assertPaidOnce(bench)
  })

  it('says in a dry run what it would do, and does nothing', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [30_000_000n], at: start })
    const due: string[] = []
    const result = await batch(bench, {
      now: later(9 * DAY),
      dry_run: true,
      onPayout: (payout) =>
        due.push(`${payout.developer_id} ${payout.amount_cents} ${payout.outcome}`),
    })
    assert.deepEqual(due, [`${developer} 2700 due`])
    assert.equal(result.paid, 0)
    assert.deepEqual(await payoutsOf(db, developer), [])
    assert.equal((await batch(bench, { now: later(9 * DAY) })).paid, 1)
  })

  it('returns at once while another runs', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [30_000_000n], at: start })
    await stand_in.control('/faults', {
      method: 'POST',
      path: '/v1/transfers',
      fault: 'slow',
      when: 'before',
      ms: 250,
    })
    const now = later(9 * DAY)
    const first = batch(bench, { now, limits: { timeout: 5_000, maxNetworkRetries: 0 } })
    const began = performance.now()
    const second = await batch(bench, { now })
    assert.ok(performance.now() - began < 500)
    assert.equal(second.status, 'already_running')
    assert.equal((await first).paid, 1)
    await assertPaidOnce(bench)
  })

  it('takes a reversed transfer back: earnings are due again, and nothing goes out by itself', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [40_000_000n], at: start })
    const now = later(9 * DAY)
    await batch(bench, { now })
    const [payout] = await payoutsOf(db, developer)
    const transfer_id = payout?.stripe_transfer_id ?? ''
    await stand_in.stripe.transfers.createReversal(transfer_id)
    const reversal = { transfer_id, reversed_cents: 3600n, now }
    assert.equal(await reversePayout(db, reversal), 'reversed')
    assert.equal(await reversePayout(db, reversal), 'repeated')
    assert.equal(await reversePayout(db, { ...reversal, transfer_id: 'tr_none' }), 'unknown')
    const summary = await summaryOf(db, developer, now)
    assert.equal(summary.pending_payout_credits, 40_000_000n)
    assert.deepEqual([summary.total_paid_out_credits, summary.reserve_held_credits], [0n, 0n])
    assert.equal((await batch(bench, { now })).paid, 0)
    await sql(
      database_url,
      'update payout_account set payouts_blocked = false where developer_id = $1',
      [developer],
    )
    assert.equal((await batch(bench, { now })).paid, 1)
    assert.deepEqual(
      (await payoutsOf(db, developer)).map(({ status, attempt }) => [status, attempt]),
      [
        ['failed', 0],
        ['paid', 1],
      ],
    )
    await assertPaidOnce(bench)
  })

  it('leaves a reversal to an operator when its reserve was paid out since, or it is partial', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [40_000_000n], at: start })
    await batch(bench, { now: later(9 * DAY) })
    await earn(db, developer, { amounts: [40_000_000n], at: start })
    await batch(bench, { now: later(99 * DAY) })
    const [first, second] = await payoutsOf(db, developer)
    const now = later(99 * DAY)
    const transfer_id = first?.stripe_transfer_id ?? ''
    assert.equal(
      await reversePayout(db, { transfer_id, reversed_cents: first?.amount_cents ?? 0n, now }),
      'needs_operator',
    )
    const other = second?.stripe_transfer_id ?? ''
    assert.equal(
      await reversePayout(db, { transfer_id: other, reversed_cents: 1n, now }),
      'needs_operator',
    )
    assert.deepEqual(
      (await payoutsOf(db, developer)).map(({ status }) => status),
      ['paid', 'paid'],
    )
    await earn(db, developer, { amounts: [40_000_000n], at: start })
    assert.equal((await batch(bench, { now })).paid, 0)
    await assertPaidOnce(bench)
  })

  it('has the same sums before and after they are folded, also by day and by app', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [3n, 4n], at: start, client_id: 'one' })
    await earn(db, developer, { amounts: [5n], at: later(DAY), client_id: 'two' })
    const look = async () => ({
      summary: await summaryOf(db, developer, later(7 * DAY)),
      days: await readSeries(db, developer, {
        group_by: 'day',
        from: '2026-11-20',
        to: '2026-11-21',
        now: start,
      }),
      apps: await readSeries(db, developer, {
        group_by: 'app',
        from: '2026-11-20',
        to: '2026-11-21',
        now: start,
      }),
    })
    const before = await look()
    await foldEarnings(db, new AbortController().signal)
    assert.deepEqual(await sql(database_url, 'select from earning_delta'), [])
    assert.deepEqual(await look(), before)
    assert.deepEqual(before.days, [
      { name: '2026-11-20', earned_credits: 7n, calls: 2n },
      { name: '2026-11-21', earned_credits: 5n, calls: 1n },
    ])
    assert.deepEqual(before.apps, [
      { name: 'one', earned_credits: 7n, calls: 2n },
      { name: 'two', earned_credits: 5n, calls: 1n },
    ])
    await assertPaidOnce(bench)
  })
})
