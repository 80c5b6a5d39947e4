import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { createDatabase, openDb } from '../../test/support/database.ts'
import { collectLog } from '../../test/support/log.ts'
import { chargeOf, holdOf, LONG, makeLedger, makeWallets } from '../../test/wallet/support.ts'
import { FrozenClock, systemClock } from '../platform/clock.ts'
import { createMetrics } from '../platform/metrics.ts'
import { audit, auditJob } from './audit.ts'
import { ALL_BUCKETS, mintWalletId } from './bucket.ts'
import { checkLedger, proveBook } from './check.ts'
import { transferCredits } from './postings.ts'

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())
const [first, second] = await makeWallets(db, 2, 1_000n)
assert.ok(first && second)
const ledger = await makeLedger(url)
await ledger.settle(chargeOf(await ledger.hold(holdOf(first, 100n)), 55n, 50n))
await ledger.hold({
  ...holdOf(first, 100n),
  spend_limits: [
    { kind: 'key', owner_id: first, account_id: first, limit_credits: 500n, period: 'day' },
    { kind: 'app', owner_id: second, account_id: second, limit_credits: 500n, period: 'month' },
  ],
})
await ledger.stop()
const at = new Date()
await db.transaction((tx) =>
  transferCredits(tx, {
    id: mintWalletId(first, at),
    receipt_id: mintWalletId(second, at),
    from_account_id: first,
    to_account_id: second,
    amount: 5n,
    promotional_credits: 'as_money',
  }),
)

/** Each breaks one fact behind the ledger's back, with its guards switched off. */
const DAMAGE: readonly [proof: string, text: string][] = [
  ['posted_is_sum_of_lines', 'update wallet set posted = posted + 1'],
  ['posted_is_sum_of_lines', 'delete from wallet where held = 0'],
  ['held_is_sum_of_holds', 'update hold set amount = amount + 1'],
  ['held_is_sum_of_holds', 'delete from hold'],
  ['chain_has_no_gap_or_break', 'update journal set wallet_seq = 9 where wallet_seq = 2'],
  [
    'chain_has_no_gap_or_break',
    'update journal set balance_after = balance_after + 1 where wallet_seq = 2',
  ],
  ['transactions_sum_to_zero', "update journal set amount = amount + 1 where account = 'revenue'"],
  ['buckets_sum_to_zero', "delete from journal where account = 'promo'"],
  ['book_sums_to_zero', "delete from journal where account = 'promo'"],
  ['usage_is_in_the_journal', 'delete from usage_event'],
  [
    'usage_is_in_the_journal',
    `update usage_event set credits_used = 54, promotional_credits = 54, balance_before = balance_after + 54`,
  ],
  ['posted_is_sum_of_lines', 'update wallet set promotional = promotional - 1'],
  [
    'promotional_credits_follow_the_rule',
    'update journal set promotional_after = promotional_after - 1 where wallet_seq = 2',
  ],
  ['promotional_credits_follow_the_rule', 'update usage_event set promotional_credits = 0'],
  ['earnings_are_in_the_journal', 'update developer_earning set payable = false'],
  ['earnings_are_in_the_journal', 'update developer_earning set amount = 6'],
  ['transfers_arrived', "delete from journal where kind = 'transfer_in'"],
  ['counted_holds_are_holds', 'update spend_counter set held = 1'],
  ['counted_holds_are_holds', `delete from spend_counter where owner_id = '${second}'`],
  [
    'counted_holds_are_holds',
    'update hold set spend_owner_ids = spend_owner_ids[1:1], spend_periods = spend_periods[1:1]',
  ],
  [
    'default_partitions_are_empty',
    `insert into usage_event_default select (u).* from (
       select jsonb_populate_record(u, jsonb_build_object('id', '00000000-0000-7000-8000-000000000000',
         'at', '1970-01-01T00:00:00Z')) as u from usage_event u) x`,
  ],
]

describe('the ledger check', () => {
  it('finds nothing in a book that is right, and says how much it looked at', async () => {
    const report = await checkLedger(db)
    assert.equal(report.ok, true)
    const counts = Object.fromEntries(report.proofs.map((proof) => [proof.name, proof.checked]))
    assert.equal(counts['posted_is_sum_of_lines'], 2)
    assert.equal(counts['chain_has_no_gap_or_break'], 5)
    assert.equal(counts['transactions_sum_to_zero'], 5)
    assert.equal(counts['book_sums_to_zero'], 11)
    assert.equal(counts['transfers_arrived'], 1)
    assert.equal(counts['counted_holds_are_holds'], 2)
  })

  for (const [proof, text] of DAMAGE) {
    it(`${proof} sees: ${text.slice(0, 60)}`, async () => {
      const client = new Client({ connectionString: url })
      await client.connect()
      // Row triggers off; and the damage is undone by the copy that follows.
      await client.query('begin; set local session_replication_role = replica')
      await client.query(
        'create table saved_wallet as table wallet; create table saved_hold as table hold',
      )
      for (const table of ['journal', 'usage_event', 'developer_earning', 'spend_counter']) {
        await client.query(`create table saved_${table} as table ${table}`)
      }
      await client.query(text)
      await client.query('commit')
      const report = await checkLedger(db)
      const spans = (await proveBook(db)).proofs.some(({ name }) => name === proof)
      const metrics = createMetrics()
      const { log, lines } = collectLog()
      await audit({ db, clock: systemClock, log, metrics }, spans ? 'book' : ALL_BUCKETS)
      await client.query('begin; set local session_replication_role = replica')
      for (const table of [
        'journal',
        'usage_event',
        'developer_earning',
        'spend_counter',
        'wallet',
        'hold',
      ]) {
        await client.query(`delete from ${table}; insert into ${table} table saved_${table}`)
        await client.query(`drop table saved_${table}`)
      }
      await client.query('commit')
      await client.end()
      assert.equal(report.ok, false)
      const found = report.proofs.find((candidate) => candidate.name === proof)
      assert.ok(found && found.differences > 0, JSON.stringify(report.proofs))
      assert.ok(found.first)
      const counted = await metrics.ledger_invariant_breaks.get()
      assert.ok(counted.values.some((value) => value.labels['invariant'] === proof))
      const line = lines().find((candidate) => candidate['invariant'] === proof)
      assert.deepEqual(
        { level: line?.level, alarm: line?.['alarm'], first: line?.['first'] },
        { level: 'error', alarm: 'ledger', first: found.first },
      )
    })
  }

  it('reads one snapshot, and nobody waits for it', async () => {
    const busy = await makeLedger(url)
    const stop = new AbortController()
    const calls = Array.from({ length: 8 }, async () => {
      let count = 0
      while (!stop.signal.aborted) {
        await busy.settle(chargeOf(await busy.hold(holdOf(second, 20n)), 1n))
        count++
      }
      return count
    })
    for (let i = 0; i < 5; i++) assert.equal((await checkLedger(db)).ok, true)
    stop.abort()
    assert.ok((await Promise.all(calls)).every((count) => count > 0))
    await busy.stop()
  })
})

describe('the audit', () => {
  const TURN_MS = 5 * 60_000
  const inAYear = new Date(Date.now() + 365 * 24 * 3_600_000)

  /** One process; it says which part it looked at by failing there. */
  async function auditor(options: { clock: FrozenClock; db?: typeof db }) {
    const metrics = createMetrics()
    const { log, lines } = collectLog()
    const job = auditJob({ db, ...options, log, metrics })
    return { metrics, lines, run: () => job.run(new AbortController().signal) }
  }

  /** The statements that were run, by a pool that counts them. */
  function countingDb() {
    const buckets: unknown[] = []
    const counting = openDb(url)
    const transaction = counting.transaction.bind(counting)
    counting.transaction = (work) =>
      transaction((tx) => {
        const run: typeof tx.run = (statement, values) => {
          if (statement.name === 'wallet.prove_held_is_sum_of_holds') buckets.push(values?.[0])
          if (statement.name === 'wallet.prove_transfers_arrived') buckets.push('book')
          return tx.run(statement, values)
        }
        return work({ ...tx, run })
      })
    return { counting, buckets }
  }

  it('that cannot be made is an alarm', async () => {
    const gone = openDb(url)
    await gone.close()
    const { metrics, run, lines } = await auditor({ clock: new FrozenClock(new Date()), db: gone })
    await assert.rejects(run())
    assert.deepEqual(
      lines().map((line) => line['alarm']),
      ['ledger_audit'],
    )
    assert.equal((await metrics.ledger_audit_failures.get()).values[0]?.value, 1)
  })

  it('is made although a process whose clock was a year ahead has had the turn', async () => {
    const { counting, buckets } = countingDb()
    const clock = new FrozenClock(new Date())
    await (await auditor({ clock: new FrozenClock(inAYear), db: counting })).run()
    await (await auditor({ clock, db: counting })).run()
    assert.equal(buckets.length, 2)
    await counting.close()
  })

  it('is made once a turn, however many processes there are, and goes through every bucket and the book', async () => {
    const clock = new FrozenClock(new Date())
    const { counting, buckets } = countingDb()
    after(() => counting.close())
    const client = new Client({ connectionString: url })
    await client.connect()
    // The last turns of a day: one for each bucket, then the book.
    const turns = LONG ? 288 : 65
    const before = 288 - turns
    await client.query(`update ledger_turn set turn = ${before}, taken_at = '-infinity'`)
    await client.end()
    for (let turn = 0; turn < turns; turn++) {
      clock.advance(TURN_MS)
      const processes = await Promise.all([1, 2].map(() => auditor({ clock, db: counting })))
      await Promise.all(processes.map(({ run }) => run()))
      assert.equal(buckets.length, turn + 1)
    }
    assert.equal(buckets.filter((part) => part === 'book').length, 1)
    assert.equal(new Set(buckets.flat()).size, 65)
  })
})
