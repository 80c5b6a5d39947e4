// Row 15: the month ends under load, and nobody was there to prepare it. Each test has one clock, and all of
// its time comes from it.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { FrozenClock } from '../../src/platform/clock.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import type { Settlement } from '../../src/wallet/holds.ts'
import { keepPartitions, prepareLedger } from '../../src/wallet/jobs.ts'
import type { CallLedger } from '../../src/wallet/lanes/call-ledger.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { collectLog } from '../support/log.ts'
import { assertBooks, chargeOf, makeLedger, makeWallets, setLedgerTime } from './support.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

async function setUp(wallets: number) {
  const url = await createDatabase()
  const db = openDb(url)
  after(() => db.close())
  const clock = new FrozenClock(new Date())
  const wallet_ids = await makeWallets(db, wallets, 1_000_000n, clock)
  const metrics = createMetrics()
  const { log, lines } = collectLog()
  const alarms = () => lines().filter((line) => line['alarm'] !== undefined)
  const travel = async (ms: number) => {
    clock.advance(ms)
    await setLedgerTime(url, clock.now())
  }
  return { url, db, clock, wallet_ids, metrics, log, alarms, travel }
}

async function callOnce(
  ledger: CallLedger,
  clock: FrozenClock,
  wallet_id: string | undefined,
): Promise<Settlement> {
  assert.ok(wallet_id)
  const id = mintWalletId(wallet_id, clock.now())
  const hold = await ledger.hold({ id, wallet_id, min_credits: 10n, max_credits: 10n })
  return await ledger.settle(chargeOf(hold, 1n))
}

/** How many journal lines each partition has. */
async function partitions(url: string): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; count: string }>(
    url,
    'select tableoid::regclass::text as name, count(*)::text as count from journal group by 1',
  )
  return Object.fromEntries(rows.map((row) => [row.name, Number(row.count)]))
}

describe('the end of a month', () => {
  it('passes three times under load without a failed settle or a stray row', async () => {
    const { url, db, clock, wallet_ids, metrics, log, alarms, travel } = await setUp(4)
    const ledger = await makeLedger(url)
    const stop = new AbortController()
    let settled = 0
    const caller = async (wallet_id: string) => {
      while (!stop.signal.aborted) {
        await callOnce(ledger, clock, wallet_id)
        settled++
      }
    }
    const callers = [...wallet_ids, ...wallet_ids].map(caller)
    for (let step = 0; step < (24 * 95) / 6; step++) {
      await travel(6 * HOUR_MS)
      await keepPartitions({ db, clock, log, metrics })
    }
    stop.abort()
    await Promise.all(callers)
    await ledger.stop()
    const names = Object.keys(await partitions(url))
    assert.ok(names.length >= 4, names.join())
    assert.ok(!names.includes('journal_default'))
    console.log(`${settled} settles over ${names.length} partitions`)
    await assertBooks(db)
    assert.deepEqual((await metrics.ledger_invariant_breaks.get()).values, [])
    assert.deepEqual(alarms(), [])
  })
})

describe('a service that stood still for more than two months', () => {
  it('finds the partitions of today once the ledger is prepared', async () => {
    const { url, db, clock, wallet_ids, metrics, log, alarms, travel } = await setUp(1)
    await travel(400 * DAY_MS)
    await prepareLedger({ db, clock, log, metrics })
    const ledger = await makeLedger(url)
    await callOnce(ledger, clock, wallet_ids[0])
    await ledger.stop()
    assert.ok(!('journal_default' in (await partitions(url))))
    await keepPartitions({ db, clock, log, metrics })
    assert.deepEqual(alarms(), [])
    await assertBooks(db)
  })

  it('raises an alarm for what it posted unprepared, and moves it where it belongs', async () => {
    const { url, db, clock, wallet_ids, metrics, log, alarms, travel } = await setUp(2)
    const job = { db, clock, log, metrics }
    await travel(100 * DAY_MS)
    const ledger = await makeLedger(url)
    await callOnce(ledger, clock, wallet_ids[0])
    // One month that is in reach of the job when it comes, and one that is over by then.
    await travel(35 * DAY_MS)
    const done = await callOnce(ledger, clock, wallet_ids[0])
    assert.equal((await partitions(url))['journal_default'], 4)
    await keepPartitions(job)
    const [alarm] = alarms()
    assert.deepEqual(
      { level: alarm?.level, alarm: alarm?.['alarm'], rows: alarm?.['rows'] },
      { level: 'error', alarm: 'ledger', rows: 8 },
    )
    const counted = await metrics.ledger_invariant_breaks.get()
    assert.equal(counted.values[0]?.labels['invariant'], 'default_partition_is_empty')

    const found = await partitions(url)
    assert.ok(!('journal_default' in found), JSON.stringify(found))
    assert.equal(Object.keys(found).length, 3)
    await assertBooks(db)
    await keepPartitions(job)
    assert.equal(alarms().length, 1)

    // The lanes go on, and know what they did before the move.
    const again = await ledger.settle(
      chargeOf({ id: done.id, wallet_id: wallet_ids[0] ?? '', amount: 10n }, 1n),
    )
    assert.deepEqual(again, done)
    await callOnce(ledger, clock, wallet_ids[1])
    await ledger.stop()
    await assertBooks(db)
  })

  it('leaves the guards on what was moved and on the new default partition', async () => {
    const { url, db, clock, wallet_ids, metrics, log, travel } = await setUp(1)
    await travel(100 * DAY_MS)
    const ledger = await makeLedger(url)
    await callOnce(ledger, clock, wallet_ids[0])
    await ledger.stop()
    await keepPartitions({ db, clock, log, metrics })
    const names = [...Object.keys(await partitions(url)), 'journal_default']
    const guards = await sql<{ name: string; triggers: string }>(
      url,
      `select tgrelid::regclass::text as name, string_agg(tgname, ' ' order by tgname) as triggers
       from pg_trigger where tgrelid::regclass::text = any ($1) group by 1`,
      [names],
    )
    assert.equal(guards.length, names.length)
    for (const { name, triggers } of guards) {
      const wanted = 'journal_is_append_only journal_is_never_truncated journal_sums_to_zero'
      assert.equal(triggers, wanted, name)
    }
    assert.deepEqual(await sql(url, "select 1 from pg_class where relname like '%stray%'"), [])
  })

  it('raises the alarm also when the partitions cannot be made, and starts all the same', async () => {
    const { url, db, clock, wallet_ids, metrics, log, alarms, travel } = await setUp(1)
    const job = { db, clock, log, metrics }
    await travel(100 * DAY_MS)
    const ledger = await makeLedger(url)
    await callOnce(ledger, clock, wallet_ids[0])
    const reader = new Client({ connectionString: url })
    await reader.connect()
    await reader.query('begin; select count(*) from journal')
    await assert.rejects(keepPartitions(job), { code: 'service_unavailable' })
    assert.equal(alarms()[0]?.['alarm'], 'ledger')
    await prepareLedger(job)
    assert.ok('journal_default' in (await partitions(url)))
    await callOnce(ledger, clock, wallet_ids[0])
    await reader.end()
    await ledger.stop()
    await prepareLedger(job)
    assert.ok(!('journal_default' in (await partitions(url))))
    await assertBooks(db)
  })

  it('loses no settle while stray rows are moved under load', async () => {
    const { url, db, clock, wallet_ids, metrics, log, travel } = await setUp(4)
    await travel(100 * DAY_MS)
    const ledger = await makeLedger(url)
    const stop = new AbortController()
    const callers = wallet_ids.map(async (wallet_id) => {
      while (!stop.signal.aborted) await callOnce(ledger, clock, wallet_id)
    })
    for (let i = 0; i < 40; i++) await callOnce(ledger, clock, wallet_ids[0])
    await prepareLedger({ db, clock, log, metrics })
    for (let i = 0; i < 40; i++) await callOnce(ledger, clock, wallet_ids[0])
    stop.abort()
    await Promise.all(callers)
    await ledger.stop()
    assert.ok(!('journal_default' in (await partitions(url))))
    await assertBooks(db)
  })
})
