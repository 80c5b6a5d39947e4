// Months that are sealed: what that proves, what it refuses, and that it is done once. Each test has one clock, which is
// the ledger's too.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FrozenClock } from '../../src/platform/clock.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { keepPartitions } from '../../src/wallet/jobs.ts'
import { grantCredits } from '../../src/wallet/postings.ts'
import { replayLedger } from '../../src/wallet/replay.ts'
import { type Sealed, sealJob, sealMonths } from '../../src/wallet/seal.ts'
import { listTransactions } from '../../src/wallet/statement.ts'
import { atEnd } from '../support/cleanup.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { collectLog } from '../support/log.ts'
import { assertBooks, chargeOf, makeLedger, makeWallets, setLedgerTime, silent } from './support.ts'

const DAY_MS = 24 * 3_600_000

/** In the middle of a month, with partitions for it. */
async function setUp(wallets = 2) {
  const url = await createDatabase()
  const db = openDb(url)
  after(() => db.close())
  const now = new Date()
  const clock = new FrozenClock(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 15)))
  const job = { db, clock, log: silent, metrics: createMetrics() }
  const travel = async (ms: number) => {
    clock.advance(ms)
    await setLedgerTime(url, clock.now())
    await keepPartitions(job)
  }
  await travel(0)
  const wallet_ids = await makeWallets(db, wallets, 1_000_000n, clock)
  const ledger = await makeLedger(url)
  after(() => ledger.stop())
  const hold = async (index = 0) => {
    const wallet_id = wallet_ids[index] ?? ''
    const id = mintWalletId(wallet_id, clock.now())
    return await ledger.hold({ id, wallet_id, min_credits: 100n, max_credits: 100n })
  }
  const call = async (index = 0) => await ledger.settle(chargeOf(await hold(index), 50n, 40n))
  return { url, db, clock, wallet_ids, ledger, travel, hold, call }
}

const startOfNextMonth = (at: Date) => new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1))

async function seal(db: Parameters<typeof sealMonths>[0]) {
  const sealed: Sealed[] = []
  const stopped = await sealMonths(db, (month) => sealed.push(month))
  return { sealed, stopped }
}

describe('a month', () => {
  it('is sealed two days after its end, and the check then begins there', async () => {
    const { url, db, clock, travel, call } = await setUp()
    await call()
    await call(1)
    await travel(startOfNextMonth(clock.now()).getTime() - clock.now().getTime())
    await call()
    assert.deepEqual((await seal(db)).sealed, [])
    await travel(2 * DAY_MS)
    const { sealed } = await seal(db)
    assert.equal(sealed.length, 1)
    const rows = Object.fromEntries(sealed[0]?.parts.map(({ part, rows }) => [part, rows]) ?? [])
    assert.deepEqual(
      { journal: rows['journal'], usage: rows['usage'], wallets: rows['wallets'] },
      { journal: 10, usage: 2, wallets: 2 },
    )
    assert.deepEqual((await seal(db)).sealed, [])

    const report = await checkLedger(db)
    assert.equal(report.ok, true, JSON.stringify(report.proofs))
    const lines = report.proofs.find(({ name }) => name === 'book_sums_to_zero')
    assert.equal(lines?.checked, 3)
    await call(1)
    await assertBooks(db)

    const [opening] = await sql<{ balance: string; seq: string }>(
      url,
      'select min(balance)::text as balance, max(seq)::text as seq from wallet_seal',
    )
    assert.deepEqual(opening, { balance: '999950', seq: '2' })
  })

  it('is chained to the one before it, also over months in which nothing happened', async () => {
    const { url, db, travel, call } = await setUp()
    await call()
    await travel(120 * DAY_MS)
    await call()
    const { sealed } = await seal(db)
    assert.ok(sealed.length >= 3)
    const seals = await sql<{ previous_digest: string; digest: string }>(
      url,
      'select previous_digest, digest from ledger_seal order by month',
    )
    assert.equal(seals[0]?.previous_digest, '0'.repeat(64))
    seals.slice(1).forEach((row, index) => {
      assert.equal(row.previous_digest, seals[index]?.digest)
    })
    const report = await replayLedger(db)
    assert.equal(report.ok, true, JSON.stringify(report.proofs))
    assert.equal(report.sealed.length, sealed.length)
  })

  it('is not sealed while a call of it runs', async () => {
    const { db, travel, hold, ledger } = await setUp()
    const open = await hold()
    await travel(30 * DAY_MS)
    const { sealed, stopped } = await seal(db)
    assert.deepEqual([sealed.length, stopped?.because], [0, 'holds_are_open'])
    await ledger.settle(chargeOf(open, 10n))
    assert.equal((await seal(db)).sealed.length, 1)
    await assertBooks(db)
  })

  it('is sealed once, however many processes try', async () => {
    const { url, db, travel, call } = await setUp()
    await call()
    await travel(30 * DAY_MS)
    const tries = await Promise.all(Array.from({ length: 6 }, () => seal(db)))
    assert.equal(tries.flatMap(({ sealed }) => sealed).length, 1)
    assert.equal((await sql(url, 'select 1 from ledger_seal')).length, 1)
  })

  it('keeps nobody waiting while it is sealed, not even a settlement that comes too late', async () => {
    const { url, db, clock, wallet_ids, ledger, travel, call } = await setUp(3)
    await call()
    const wallet_id = wallet_ids[0] ?? ''
    const late = { id: mintWalletId(wallet_id, clock.now()), wallet_id, amount: 100n }
    await travel(30 * DAY_MS)
    const slow = openDb(url)
    after(() => slow.close())
    const transaction = slow.transaction.bind(slow)
    const ends: unknown[] = []
    slow.transaction = (work) =>
      transaction((tx) => {
        const run: typeof tx.run = async (statement, values) => {
          const rows = await tx.run(statement, values)
          if (statement.name !== 'wallet.insert_wallet_seals') return rows
          const settled = ledger.settle(chargeOf(late, 50n)).catch(() => 'refused')
          const others = Promise.all([call(1), call(2)]).then(() => 'settled')
          for (const end of [settled, others]) ends.push(await Promise.race([end, sleep(5_000)]))
          return rows
        }
        return work({ ...tx, run })
      })
    assert.equal((await seal(slow)).sealed.length, 1)
    assert.deepEqual(ends, ['refused', 'settled'])
    await assertBooks(db)
  })

  it('that another process seals while this one begins is no fault', async () => {
    const { url, db, travel, call } = await setUp()
    await call()
    await travel(30 * DAY_MS)
    const slow = openDb(url)
    after(() => slow.close())
    const run = slow.run.bind(slow)
    let others: Promise<unknown> | undefined
    slow.run = async (statement, values) => {
      const rows = await run(statement, values)
      others ??= seal(db)
      await others
      return rows
    }
    const { log, lines } = collectLog()
    await sealJob({ db: slow, log, metrics: createMetrics() }).run(new AbortController().signal)
    assert.deepEqual(lines(), [])
    assert.equal((await sql(url, 'select 1 from ledger_seal')).length, 1)
  })

  it('is not sealed when its rows contradict each other, and that is an alarm', async () => {
    const { url, db, travel, call } = await setUp()
    await call()
    await sql(
      url,
      `set session_replication_role = replica; update journal set amount = amount + 1 where account = 'revenue'`,
    )
    await travel(30 * DAY_MS)
    const { log, lines } = collectLog()
    const metrics = createMetrics()
    await assert.rejects(sealJob({ db, log, metrics }).run(new AbortController().signal))
    assert.equal(lines()[0]?.['alarm'], 'ledger_seal')
    const counted = await metrics.ledger_invariant_breaks.get()
    assert.ok(
      counted.values.some(({ labels }) => labels['invariant'] === 'transactions_sum_to_zero'),
    )
    assert.deepEqual(await sql(url, 'select 1 from ledger_seal'), [])
  })
})

describe('a call that begins in one month and is settled in the next', () => {
  it('is posted in the second, and both months can be sealed', async () => {
    const { url, db, clock, travel, hold, ledger, call } = await setUp()
    await call()
    await travel(startOfNextMonth(clock.now()).getTime() - clock.now().getTime() - 1_000)
    const open = await hold()
    await travel(2_000)
    await ledger.settle(chargeOf(open, 50n, 40n))
    const [posted] = await sql<{ usage_at: Date; at: Date }>(
      url,
      'select u.at as usage_at, j.at from usage_event u join journal j on j.tx = u.id where u.id = $1 limit 1',
      [open.id],
    )
    assert.equal(posted?.at.getTime(), clock.now().getTime())
    assert.equal(posted?.usage_at.getTime(), clock.now().getTime() - 2_000)
    await travel(5 * DAY_MS)
    assert.equal((await seal(db)).sealed.length, 1)
    await assertBooks(db)
    await travel(40 * DAY_MS)
    assert.equal((await seal(db)).sealed.length, 1)
    assert.equal((await replayLedger(db)).ok, true)
  })
})

describe('the earning of a call that spans two months', () => {
  it('is missed where it is gone or another', async () => {
    const { url, db, clock, travel, hold, ledger } = await setUp()
    await travel(startOfNextMonth(clock.now()).getTime() - clock.now().getTime() - 1_000)
    const open = await hold()
    await travel(2_000)
    await ledger.settle(chargeOf(open, 50n, 40n))
    await assertBooks(db)
    await travel(5 * DAY_MS)
    await seal(db)
    const damages = ['amount = amount + 1', 'developer_id = id', 'id = developer_id']
    for (const damage of damages) {
      await sql(url, 'create table saved as table developer_earning')
      await sql(url, `update developer_earning set ${damage}`)
      assert.equal((await replayLedger(db)).ok, false, damage)
      await sql(url, 'delete from developer_earning')
      assert.equal((await replayLedger(db)).ok, false)
      await sql(url, 'insert into developer_earning table saved; drop table saved')
      assert.equal((await replayLedger(db)).ok, true)
    }
  })
})

describe('the time of posting', () => {
  it('is that of the statement, and never goes backwards within a wallet', async () => {
    const { url, db, clock, wallet_ids, call } = await setUp()
    await setLedgerTime(url, new Date(clock.now().getTime() + 60_000))
    await call()
    await setLedgerTime(url, clock.now())
    await call()
    await call(1)
    const [first, second] = wallet_ids
    assert.ok(first && second)
    const times = async (account_id: string) =>
      (await listTransactions(db, { account_id, limit: 10 })).data.map(
        ({ created_at }) => created_at.getTime() - clock.now().getTime(),
      )
    assert.deepEqual(await times(first), [60_000, 60_000, 0])
    assert.deepEqual(await times(second), [0, 0])
    await assertBooks(db)
  })
})

describe('a sealed month', () => {
  it('refuses every row, and a late settlement of a call of it; others go on', async () => {
    const { url, db, clock, wallet_ids, ledger, travel, call } = await setUp()
    const done = await call()
    const late_id = mintWalletId(wallet_ids[0] ?? '', clock.now())
    await travel(30 * DAY_MS)
    await seal(db)
    await assert.rejects(
      sql(url, 'insert into usage_event select * from usage_event'),
      /the month of this row is sealed/,
    )
    await assert.rejects(
      sql(url, 'insert into journal select * from journal'),
      /the month of this row is sealed/,
    )
    const late = { id: late_id, wallet_id: wallet_ids[0] ?? '', amount: 100n }
    await assert.rejects(ledger.settle(chargeOf(late, 50n)))
    // What was settled is still known.
    const again = { id: done.id, wallet_id: wallet_ids[0] ?? '', amount: 100n }
    assert.deepEqual(await ledger.settle(chargeOf(again, 50n, 40n)), done)
    await call(1)
    await assertBooks(db)
  })

  it('refuses every change of its rows and of its seal', async () => {
    const { url, db, travel, call } = await setUp()
    await call()
    await travel(30 * DAY_MS)
    await seal(db)
    await call()
    const [partition] = await sql<{ name: string }>(
      url,
      'select tableoid::regclass::text as name from usage_event order by at limit 1',
    )
    for (const text of [
      "update usage_event set model = 'other'",
      'delete from usage_event',
      `truncate ${partition?.name}`,
      'truncate usage_event',
      'truncate journal',
      'truncate wallet_seal',
      'truncate account_seal',
      'truncate ledger_seal_part',
      'truncate ledger_seal, ledger_seal_part',
    ]) {
      await assert.rejects(sql(url, text), /sealed|seal is never changed|append-only/, text)
    }
    assert.equal((await replayLedger(db)).ok, true)
  })

  it('refuses a posting with an id of it, and repeats one that it has', async () => {
    const { db, clock, wallet_ids, travel } = await setUp()
    const account_id = wallet_ids[0] ?? ''
    const known = mintWalletId(account_id, clock.now())
    const unknown = mintWalletId(account_id, clock.now())
    const grant = (id: string) =>
      db.transaction((tx) => grantCredits(tx, { id, account_id, amount: 5n }))
    const first = await grant(known)
    await travel(30 * DAY_MS)
    await seal(db)
    assert.deepEqual(await grant(known), { ...first, repeated: true })
    await assert.rejects(grant(unknown), { code: 'bad_request' })
    assert.equal((await grant(mintWalletId(account_id, clock.now()))).repeated, false)
    await assertBooks(db)
  })

  const DAMAGE: readonly [proof: string, text: string][] = [
    ['sealed_rows_are_unchanged', "update journal set description = 'other' where line = 1"],
    ['sealed_rows_are_unchanged', "update usage_event set model = 'other'"],
    ['sealed_rows_are_unchanged', "delete from journal where kind = 'usage'"],
    ['sealed_rows_are_unchanged', 'update wallet_seal set balance = balance + 1'],
    ['closing_is_opening_and_lines', 'update wallet_seal set balance = balance + 1'],
    ['closing_is_opening_and_lines', 'update wallet_seal set promotional = promotional - 1'],
    ['sealed_rows_are_unchanged', 'update wallet_seal set promotional = promotional - 1'],
    [
      'sealed_rows_are_unchanged',
      "update journal set promotional_after = promotional_after - 1 where kind = 'usage' and wallet_seq is not null",
    ],
    [
      'promotional_credits_follow_the_rule',
      "update journal set promotional_after = promotional_after - 1 where kind = 'usage' and wallet_seq is not null",
    ],
    ['sealed_rows_are_unchanged', 'update usage_event set promotional_credits = 0'],
    ['promotional_credits_follow_the_rule', 'update usage_event set promotional_credits = 0'],
    ['account_totals_add_up', "update account_seal set total = total + 1 where account = 'promo'"],
    ['seals_form_a_chain', "update ledger_seal_part set digest = repeat('0', 64)"],
    ['seals_form_a_chain', "update ledger_seal set previous_digest = repeat('1', 64)"],
  ]

  it('that was changed behind its back is found when the book is proved from the beginning', async () => {
    const { url, db, ledger, travel, call } = await setUp()
    await call()
    await travel(30 * DAY_MS)
    await seal(db)
    await call()
    await ledger.stop()
    const before = await replayLedger(db)
    assert.equal(before.ok, true, JSON.stringify(before.proofs))
    for (const [proof, text] of DAMAGE) {
      const copy = await createDatabaseLike(url)
      await sql(copy, `set session_replication_role = replica; ${text}`)
      const damaged = openDb(copy)
      const report = await replayLedger(damaged)
      await damaged.close()
      const found = report.proofs.find(({ name }) => name === proof)
      assert.ok(found && found.differences > 0, `${proof}: ${text}`)
      assert.ok(found.first)
    }
  })

  it('says how far the proof has come', async () => {
    const { db, travel, call } = await setUp()
    for (let i = 0; i < 5; i++) await call()
    await travel(30 * DAY_MS)
    await seal(db)
    const seen: number[] = []
    await replayLedger(db, ({ done, total }) => seen.push(done / total))
    assert.equal(seen.at(-1), 1)
    assert.ok(seen.length > 2)
  })

  it('leaves a wallet that is gone visible to the check', async () => {
    const { url, db, travel, call } = await setUp()
    await call()
    await travel(30 * DAY_MS)
    await seal(db)
    await sql(url, 'delete from wallet')
    const report = await checkLedger(db)
    const found = report.proofs.find(({ name }) => name === 'wallets_are_the_wallet_account')
    assert.ok(found && found.differences > 0)
  })
})

/** A copy to damage. Nobody may be connected to the original while it is made. */
async function createDatabaseLike(url: string): Promise<string> {
  const name = new URL(url).pathname.slice(1)
  const server = new URL(url)
  server.pathname = '/postgres'
  const copy = `${name}_copy_${Math.random().toString(36).slice(2)}`
  await sql(
    server.toString(),
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
    [name],
  )
  const server_url = server.toString()
  await sql(server_url, `create database ${copy} template ${name}`)
  atEnd(() => sql(server_url, `drop database ${copy} with (force)`))
  server.pathname = `/${copy}`
  return server.toString()
}
