import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { unblockPayouts } from '../../src/payouts/operator.ts'
import { markFailed } from '../../src/payouts/payouts.ts'
import { SELECT_PAYOUT } from '../../src/payouts/store.ts'
import { createStripe } from '../../src/payouts/stripe-client.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { collectLog } from '../support/log.ts'
import {
  assertPaidOnce,
  batch,
  DAY,
  earn,
  makeDeveloper,
  makeDevelopers,
  payoutsOf,
  startStandIn,
  summaryOf,
} from './support.ts'

const database_url = await createDatabase()
const db = openDb(database_url)
const stand_in = await startStandIn('faults')
after(async () => {
  await db.close()
  await stand_in.close()
})
const bench = { db, database_url, stand_in }
const start = new Date('2026-11-20T00:00:00Z')
const now = new Date(start.getTime() + 7 * DAY)
const hours = (count: number) => new Date(now.getTime() + count * 3_600_000)

type KeyReport = { keys: { key: string; executed: number; succeeded: number }[] }

/** Keys that requests for this payout came with. */
async function keysOf(payout_id: string): Promise<number> {
  const { keys } = await stand_in.control<KeyReport>(`/keys?transfer_group=${payout_id}&limit=100`)
  return keys.length
}

const strike = (fault: object) =>
  stand_in.control('/faults', { method: 'POST', path: '/v1/transfers', ...fault })

/** What the first run makes of it. Whatever is unknown is paid by the second run, under the one key. */
const FAULTS: readonly [fault: object, first: 'pending' | 'failed' | 'paid'][] = [
  [{ fault: 'timeout', when: 'before' }, 'pending'],
  [{ fault: 'timeout', when: 'after' }, 'pending'],
  // The client asks a second time by itself when a connection is reset.
  [{ fault: 'reset', when: 'before', times: 2 }, 'pending'],
  [{ fault: 'reset', when: 'after', times: 2 }, 'pending'],
  [{ fault: 'cut', when: 'after' }, 'pending'],
  [{ fault: 'garbage', when: 'before' }, 'pending'],
  [{ fault: 'garbage', when: 'after' }, 'pending'],
  [{ fault: 'garbage', when: 'after', status: 400 }, 'pending'],
  [{ fault: 'slow', when: 'before', ms: 600 }, 'pending'],
  [{ fault: 'slow', when: 'during', ms: 600 }, 'pending'],
  [{ fault: 'slow', when: 'after', ms: 600 }, 'pending'],
  [{ fault: 'status', status: 500, when: 'before' }, 'pending'],
  [{ fault: 'status', status: 500, when: 'after' }, 'pending'],
  [{ fault: 'status', status: 500, when: 'after_saved' }, 'pending'],
  [{ fault: 'status', status: 503, when: 'before' }, 'pending'],
  [{ fault: 'status', status: 409, when: 'before' }, 'pending'],
  [{ fault: 'status', status: 429, when: 'before' }, 'pending'],
  // A refusal of which the list says that it is none.
  [{ fault: 'status', status: 400, when: 'after_saved' }, 'paid'],
  [{ fault: 'status', status: 400, when: 'after' }, 'paid'],
  [{ fault: 'status', status: 400, when: 'during' }, 'failed'],
  [{ fault: 'status', status: 400, when: 'before' }, 'failed'],
  [{ fault: 'status', status: 402, when: 'during' }, 'failed'],
  [{ fault: 'status', status: 403, when: 'before' }, 'failed'],
  [{ fault: 'status', status: 401, when: 'before' }, 'failed'],
]

describe('a processor that fails', () => {
  for (const [fault, expected] of FAULTS) {
    it(`pays once through ${JSON.stringify(fault)}`, async () => {
      const developer = await makeDeveloper(db, stand_in)
      await earn(db, developer, { amounts: [20_000_000n, 1n], at: start })
      await strike(fault)
      await batch(bench, { now })
      const [first] = await payoutsOf(db, developer)
      assert.equal(first?.status, expected)
      const between = await summaryOf(db, developer, now)
      assert.equal(between.pending_payout_credits, expected === 'failed' ? 20_000_001n : 0n)
      assert.equal(between.in_flight_credits, expected === 'pending' ? 20_000_001n : 0n)

      if (JSON.stringify(fault).includes('slow')) await new Promise((wait) => setTimeout(wait, 700))
      const second = await batch(bench, { now: hours(1) })
      assert.equal(second.status, 'done')
      const payouts = await payoutsOf(db, developer)
      assert.deepEqual(
        payouts.map(({ status }) => status),
        expected === 'failed' ? ['failed', 'paid'] : ['paid'],
      )
      if (expected !== 'failed') assert.equal(await keysOf(first?.id ?? ''), 1)
      await summaryOf(db, developer, hours(1))
      await assertPaidOnce(bench)
    })
  }

  it('keeps a payout pending behind a saved 500 that did nothing, and pays it when the key is forgotten', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'status', status: 500, when: 'during' })
    for (const hour of [0, 1, 2])
      assert.equal((await batch(bench, { now: hours(hour) })).pending, 1)
    const { log, lines } = collectLog()
    await batch({ ...bench, log }, { now: hours(73) })
    assert.ok(lines().some(({ alarm, msg }) => alarm === 'payout' && msg.includes('for days')))
    await stand_in.control('/clock', { advance_s: 25 * 3600 })
    assert.equal((await batch(bench, { now: hours(74) })).paid, 1)
    assert.equal((await payoutsOf(db, developer)).length, 1)
    await assertPaidOnce(bench)
  })

  for (const [name, advance_s] of [
    ['25 hours', 25 * 3600],
    ['31 days', 31 * 86_400],
  ] as const) {
    for (const when of ['before', 'after'] as const) {
      it(`pays once when its keys are forgotten after ${name}, the answer lost ${when} the transfer`, async () => {
        const developer = await makeDeveloper(db, stand_in)
        await earn(db, developer, { amounts: [20_000_000n], at: start })
        await strike({ fault: 'timeout', when })
        assert.equal((await batch(bench, { now })).pending, 1)
        await stand_in.control('/clock', { advance_s })
        assert.equal((await batch(bench, { now: hours(advance_s / 3600) })).paid, 1)
        assert.equal((await payoutsOf(db, developer)).length, 1)
        await assertPaidOnce(bench)
      })
    }
  }

  it('asks again without the list only while the key is remembered', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'timeout', when: 'after' })
    assert.equal((await batch(bench, { now })).pending, 1)
    const noList = () => strike({ method: 'GET', fault: 'status', status: 500, when: 'before' })
    await noList()
    const late = await batch(bench, { now: hours(23) })
    assert.deepEqual([late.paid, late.pending], [0, 1])
    await noList()
    assert.equal((await batch(bench, { now: new Date(hours(23).getTime() - 1) })).paid, 1)
    await assertPaidOnce(bench)
  })

  it('overcomes a poisoned key: too little money today, enough tomorrow, the same earnings', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    await stand_in.control('/balance', { amount: 5 })
    const poor = await batch(bench, { now })
    assert.deepEqual(
      [poor.status, poor.reason, poor.failed],
      ['stopped', 'balance_insufficient', 1],
    )
    await stand_in.control('/balance', { amount: 100_000_000 })
    assert.equal((await batch(bench, { now: hours(20) })).paid, 1)
    const [failed, paid] = await payoutsOf(db, developer)
    assert.deepEqual(
      [failed?.status, failed?.failure_code, paid?.attempt],
      ['failed', 'balance_insufficient', 1],
    )
    assert.equal(await keysOf(paid?.id ?? ''), 1)
    await assertPaidOnce(bench)
  })

  it('overcomes an old refusal that nobody heard, with one more key', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    // The refusal is saved under the key, and its answer is lost.
    await stand_in.control('/balance', { amount: 5 })
    await strike({ fault: 'timeout', when: 'after' })
    assert.equal((await batch(bench, { now })).pending, 1)
    await stand_in.control('/balance', { amount: 100_000_000 })
    assert.equal((await batch(bench, { now: hours(1) })).paid, 1)
    const [payout, ...others] = await payoutsOf(db, developer)
    assert.deepEqual([payout?.attempt, others.length], [1, 0])
    assert.equal(await keysOf(payout?.id ?? ''), 2)
    await assertPaidOnce(bench)
  })

  it('stops at the first developer when the platform has too little, and pays all of them later', async () => {
    const developers = await makeDevelopers(db, stand_in, 5)
    for (const id of developers) await earn(db, id, { amounts: [20_000_000n], at: start })
    await stand_in.control('/balance', { amount: 1800 + 1799 })
    const poor = await batch(bench, { now })
    assert.deepEqual([poor.status, poor.paid, poor.failed], ['stopped', 1, 1])
    const reasons = await sql<{ failure_message: string }>(
      database_url,
      `select failure_message from payout where status = 'failed' and developer_id = any ($1)`,
      [developers],
    )
    // A developer is not told how much money the platform has.
    assert.deepEqual(reasons, [
      { failure_message: 'The platform could not pay. The next batch tries again.' },
    ])
    await stand_in.control('/balance', { amount: 100_000_000 })
    assert.equal((await batch(bench, { now: hours(1) })).paid, 4)
    await assertPaidOnce(bench)
  })

  it('stops when the credential is refused, and keeps what it does not know', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'timeout', when: 'after' })
    assert.equal((await batch(bench, { now })).pending, 1)
    const stripe = createStripe({ secret_key: 'sk_test_invalid', base_url: stand_in.url })
    const refused = await batch({ ...bench, stand_in: { ...stand_in, stripe } }, { now: hours(1) })
    assert.deepEqual([refused.status, refused.failed, refused.pending], ['stopped', 0, 1])
    assert.equal((await batch(bench, { now: hours(2) })).paid, 1)
    assert.equal((await payoutsOf(db, developer)).length, 1)
    await assertPaidOnce(bench)
  })

  it('stops after three developers without an answer', async () => {
    const developers = await makeDevelopers(db, stand_in, 5)
    for (const id of developers) await earn(db, id, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'status', status: 503, when: 'before', times: 3 })
    const away = await batch(bench, { now })
    assert.deepEqual(
      [away.status, away.reason, away.pending],
      ['stopped', 'processor_unreachable', 3],
    )
    const back = await batch(bench, { now: hours(1) })
    assert.deepEqual([back.status, back.paid], ['done', 5])
    await assertPaidOnce(bench)
  })

  it('goes on with the others when one developer cannot be claimed, and raises an alarm', async () => {
    const developers = await makeDevelopers(db, stand_in, 4)
    for (const id of developers) await earn(db, id, { amounts: [20_000_000n], at: start })
    const [broken] = developers.toSorted()
    await sql(
      database_url,
      `create function refuse_payout() returns trigger language plpgsql as $$
       begin
         if new.developer_id = '${broken}' then raise exception 'a broken row'; end if;
         return new;
       end $$;
       create trigger refuse_payout before insert or update on payout
       for each row execute function refuse_payout()`,
    )
    const { log, lines } = collectLog()
    const result = await batch({ ...bench, log }, { now })
    assert.deepEqual([result.status, result.paid, result.errors], ['done', 3, 1])
    const alarm = lines().find(({ developer_id }) => developer_id === broken)
    assert.deepEqual([alarm?.level, alarm?.['alarm']], ['error', 'payout'])
    await sql(database_url, 'drop trigger refuse_payout on payout')
    assert.equal((await batch(bench, { now: hours(1) })).paid, 1)
    await assertPaidOnce(bench)
  })

  it('gives up when nothing works at all', async () => {
    const developers = await makeDevelopers(db, stand_in, 5)
    for (const id of developers) await earn(db, id, { amounts: [20_000_000n], at: start })
    await sql(
      database_url,
      'create trigger refuse_payout before insert on payout for each row execute function journal_is_append_only()',
    )
    await assert.rejects(batch(bench, { now }))
    await sql(database_url, 'drop trigger refuse_payout on payout')
    assert.equal((await batch(bench, { now: hours(1) })).paid, 5)
    await assertPaidOnce(bench)
  })

  it('raises an alarm when a transfer turns up for a payout that has failed', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'slow', when: 'before', ms: 300 })
    const { log, lines } = collectLog()
    const limits = { timeout: 5_000, maxNetworkRetries: 0 }
    const running = batch({ ...bench, log }, { now, limits })
    await eventually('it is claimed', async () => (await payoutsOf(db, developer)).length > 0)
    const [pending] = await payoutsOf(db, developer)
    const [payout] = await db.run(SELECT_PAYOUT, [pending?.id])
    assert.ok(payout)
    await markFailed(db, { payout, failure: { code: 'x', message: 'x' }, now })
    await running
    const alarms = lines().filter(({ alarm }) => alarm === 'payout')
    assert.deepEqual(
      alarms.map(({ level, payout_id }) => [level, payout_id]),
      [['error', payout.id]],
    )
    // An operator takes the money back: the books agree again.
    const { data } = await stand_in.stripe.transfers.list({ transfer_group: payout.id })
    await stand_in.stripe.transfers.createReversal(data[0]?.id ?? '')
    assert.equal((await batch(bench, { now })).paid, 0)
    assert.equal(await unblockPayouts(db, developer), true)
    assert.equal((await batch(bench, { now: hours(1) })).paid, 1)
    await assertPaidOnce(bench)
  })

  it('does not stop for the others when the account of one is refused', async () => {
    const developers = (await makeDevelopers(db, stand_in, 2)).toSorted()
    for (const id of developers) await earn(db, id, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'status', status: 403, when: 'before', code: 'account_invalid' })
    const result = await batch(bench, { now })
    assert.deepEqual([result.status, result.failed, result.paid], ['done', 1, 1])
    assert.equal((await batch(bench, { now: hours(1) })).paid, 1)
    await assertPaidOnce(bench)
  })

  it('never touches a transfer of another amount, and raises an alarm', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    await strike({ fault: 'status', status: 500, when: 'before' })
    await batch(bench, { now })
    const [payout] = await payoutsOf(db, developer)
    const [account] = await db.run<{ stripe_account_id: string }>(
      {
        name: 'test.account',
        text: 'select stripe_account_id from payout_account where developer_id = $1',
      },
      [developer],
    )
    const foreign = await stand_in.stripe.transfers.create({
      amount: 7,
      currency: 'usd',
      destination: account?.stripe_account_id ?? '',
      transfer_group: payout?.id ?? '',
    })
    const { log, lines } = collectLog()
    assert.equal((await batch({ ...bench, log }, { now: hours(1) })).pending, 1)
    assert.ok(lines().some(({ alarm }) => alarm === 'payout'))
    await stand_in.stripe.transfers.createReversal(foreign.id)
  })
})
