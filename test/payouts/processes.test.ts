import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { claimPayout, markFailed, takeNextKey } from '../../src/payouts/payouts.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { LONG } from '../wallet/support.ts'
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

const ROUNDS = LONG ? 100 : 4
const database_url = await createDatabase()
const db = openDb(database_url)
const stand_in = await startStandIn('processes')
const children: ChildProcess[] = []
after(async () => {
  for (const child of children) child.kill('SIGKILL')
  await db.close()
  await stand_in.close()
})
const bench = { db, database_url, stand_in }
const start = new Date('2026-11-20T00:00:00Z')
const now = new Date(start.getTime() + 7 * DAY)

const PROGRAM = fileURLToPath(new URL('./batch-process.ts', import.meta.url))

async function startProcess(mark = ''): Promise<ChildProcess> {
  const child = fork(PROGRAM, [database_url, stand_in.url, mark])
  children.push(child)
  await once(child, 'message')
  return child
}

type Answer = { status: string; paid: number; ms: number }

async function run(child: ChildProcess): Promise<Answer> {
  const answered = once(child, 'message')
  child.send({ now: now.toISOString() })
  const [answer] = (await answered) as [Answer]
  return answer
}

/** The median is what is promised, 100 ms; each of them has as much as a busy machine may take. */
function assertQuick(times: readonly number[]): void {
  const sorted = times.toSorted((left, right) => left - right)
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  assert.ok((sorted.at(-1) ?? Number.NaN) < 2_000, `one took ${sorted.at(-1)} ms`)
  if (LONG) assert.ok(median < 100, `the median was ${median} ms`)
}

const PAY = 'POST /v1/transfers'
const refuse = {
  method: 'POST',
  path: '/v1/transfers',
  fault: 'status',
  status: 400,
  when: 'during',
}
const slow = { method: 'POST', path: '/v1/transfers', fault: 'slow', ms: 300 }

/** Where it dies, and what the stand-in does meanwhile. */
const MARKS: readonly [mark: string, fault?: object][] = [
  ['after payouts.stamp_earnings'],
  ['before commit of payouts.insert_payout'],
  ['after commit of payouts.insert_payout'],
  [`before ${PAY}`],
  [`during ${PAY}`, { ...slow, when: 'before' }],
  [`during ${PAY}`, { ...slow, when: 'during' }],
  [`during ${PAY}`, { ...slow, when: 'after' }],
  [`after ${PAY}`],
  ['after payouts.set_paid'],
  ['before commit of payouts.set_paid'],
  ['after commit of payouts.set_paid'],
  ['before payouts.set_failed', refuse],
  ['before commit of payouts.set_failed', refuse],
  ['after commit of payouts.set_failed', refuse],
]

describe('batches in several processes', () => {
  for (const [mark, fault] of MARKS) {
    const when = fault && 'when' in fault ? ` (${String(fault.when)})` : ''
    it(`pay once when one is killed ${mark}${when}`, async () => {
      const developer = await makeDeveloper(db, stand_in)
      await earn(db, developer, { amounts: [20_000_000n, 7n], at: start })
      if (fault) await stand_in.control('/faults', fault)
      const child = await startProcess(mark)
      const died = once(child, 'exit')
      child.send({ now: now.toISOString() })
      const [, signal] = (await died) as [number | null, string | null]
      assert.equal(signal, 'SIGKILL', 'it did not come to the mark')
      await summaryOf(db, developer, now)
      // A request that was on its way when its process died arrives.
      if (mark.startsWith('during')) await new Promise((wait) => setTimeout(wait, 400))

      assert.notEqual((await batch(bench, { now })).status, 'already_running')
      const paid = (await payoutsOf(db, developer)).filter(({ status }) => status === 'paid')
      assert.equal(paid.length, 1)
      await summaryOf(db, developer, now)
      await assertPaidOnce(bench)
    })
  }

  it(`run one at a time, ${ROUNDS} rounds: the other returns at once`, async () => {
    const both = [await startProcess(), await startProcess()]
    const times: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const developer = await makeDeveloper(db, stand_in)
      await earn(db, developer, { amounts: [20_000_000n], at: start })
      await stand_in.control('/faults', { ...slow, when: 'before' })
      const answers = await Promise.all(both.map(run))
      // On a busy machine one may be over before the other begins, and then finds nothing to pay.
      assert.equal(
        answers.reduce((sum, { paid }) => sum + paid, 0),
        1,
      )
      const second = answers.find(({ status }) => status === 'already_running')
      if (second) times.push(second.ms)
      assert.equal((await payoutsOf(db, developer)).length, 1)
    }
    assert.ok(times.length >= ROUNDS / 2, `they met in ${times.length} rounds`)
    assertQuick(times)
    await assertPaidOnce(bench)
  })

  it(`run one at a time within one process too, ${ROUNDS} rounds`, async () => {
    const times: number[] = []
    const limits = { timeout: 5_000, maxNetworkRetries: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const developer = await makeDeveloper(db, stand_in)
      await earn(db, developer, { amounts: [20_000_000n], at: start })
      await stand_in.control('/faults', { ...slow, when: 'before', ms: 100 })
      const first = batch(bench, { now, limits })
      const began = performance.now()
      assert.equal((await batch(bench, { now, limits })).status, 'already_running')
      times.push(performance.now() - began)
      assert.equal((await first).paid, 1)
    }
    assertQuick(times)
    await assertPaidOnce(bench)
  })

  it('claim once even without the lock', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const developer = await makeDeveloper(db, stand_in)
      await earn(db, developer, { amounts: [20_000_000n], at: start })
      const claims = await Promise.all(
        Array.from({ length: 4 }, () => claimPayout(db, { developer_id: developer, now })),
      )
      assert.equal(claims.filter((claim) => claim !== undefined).length, 1)
    }
    await batch(bench, { now })
    await assertPaidOnce(bench)
  })

  it('never give earnings back on a refusal of a key that another has replaced since', async () => {
    const developer = await makeDeveloper(db, stand_in)
    await earn(db, developer, { amounts: [20_000_000n], at: start })
    const claimed = await claimPayout(db, { developer_id: developer, now })
    assert.ok(claimed)
    // Both heard that the first key is refused. One has sent another key; the other hears of it too late.
    const next = await takeNextKey(db, claimed, now)
    assert.ok(next)
    const failure = { code: 'balance_insufficient', message: 'Too little.' }
    assert.equal(await markFailed(db, { payout: claimed, failure, now }), false)
    assert.equal(await markFailed(db, { payout: next, failure, now }), true)
    assert.equal((await batch(bench, { now })).paid, 1)
    await assertPaidOnce(bench)
  })

  it('stop when the session of their lock is lost, because another may have begun', async () => {
    const developers = await makeDevelopers(db, stand_in, 2)
    for (const id of developers) await earn(db, id, { amounts: [20_000_000n], at: start })
    await stand_in.control('/faults', { ...slow, when: 'before', ms: 1_000 })
    const limits = { timeout: 5_000, maxNetworkRetries: 0 }
    const running = batch(bench, { now, limits })
    await eventually('the lock is taken and a transfer is on its way', async () => {
      const pending = await sql(
        database_url,
        `select from payout where status = 'pending' and developer_id = any ($1)`,
        [developers],
      )
      return pending.length > 0
    })
    await sql(
      database_url,
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'svc payouts'`,
    )
    const { status, reason, paid } = await running
    assert.deepEqual([status, reason, paid], ['stopped', 'lock_lost', 1])
    assert.equal((await batch(bench, { now })).paid, 1)
    await assertPaidOnce(bench)
  })
})
