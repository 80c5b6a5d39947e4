// Speed of the ledger on a database of its own: hold and settle, every settle with its journal lines,
// usage, earning and outbox row; and what a call leaves on disk. Run with `npm run bench:wallet`. With `-- --lines <n>`
// it compares an empty book with one of so many journal lines instead.

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { Db } from '../src/platform/db.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { ApiError } from '../src/platform/errors.ts'
import { migrate } from '../src/platform/migrate.ts'
import { checkLedger } from '../src/wallet/check.ts'
import type { Hold } from '../src/wallet/holds.ts'
import type { CallLedger, CallLedgerOptions } from '../src/wallet/lanes/call-ledger.ts'
import { chargeOf, holdOf, makeLedger, makeWallets, quantile } from '../test/wallet/support.ts'
import { auditNewCalls, fillBook } from './wallet-book.ts'
import { printBytesOfCall } from './wallet-size.ts'

const SECONDS = Number(process.env['SVC_BENCH_SECONDS'] ?? 8)
const CALLERS = 500
const WALLET_CREDITS = 1_000_000_000_000n

type Result = { pairs: number; seconds: number; holds_ms: number[]; pairs_ms: number[] }

const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const server_url = process.env['SVC_BENCH_DATABASE_URL']
const postgres = server_url
  ? { url: server_url, stop: async () => {} }
  : await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
const { lines } = parseArgs({ options: { lines: { type: 'string' } } }).values
try {
  if (lines === undefined) {
    await inDatabase('calls', measure)
    await inDatabase('size', async (url) => {
      const db = new Db({ url, pool_size: 4, application_name: 'svc bench' })
      await printBytesOfCall(db, url)
      await db.close()
    })
  } else {
    await inDatabase('full', (full) =>
      inDatabase('empty', (empty) => compareBooks({ full, empty }, Number(lines))),
    )
  }
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function inDatabase(purpose: string, work: (url: string) => Promise<void>): Promise<void> {
  const name = `bench_${process.pid}_${purpose}`
  const url = new URL(postgres.url)
  url.pathname = `/${name}`
  await onServer(`create database ${name}`)
  try {
    await migrate(url.toString())
    await work(url.toString())
  } finally {
    await onServer(`drop database if exists ${name} with (force)`).catch(() => {})
  }
}

/** In turns, so that what else the machine does falls on both. */
async function compareBooks(urls: { full: string; empty: string }, count: number): Promise<void> {
  await fillBook(urls.full, count)
  await auditNewCalls(urls.full)
  const rates = { full: [] as number[], empty: [] as number[] }
  for (let round = 0; round < 3; round++) {
    for (const book of ['empty', 'full'] as const) {
      const db = new Db({ url: urls[book], pool_size: 4, application_name: 'svc bench' })
      const wallets = await makeWallets(db, 100, WALLET_CREDITS)
      const ledger = await makeLedger(urls[book])
      await run(ledger, wallets, { callers: CALLERS, seconds: 1 })
      const busy = await run(ledger, wallets, { callers: CALLERS, seconds: SECONDS })
      const idle = await run(ledger, wallets, { callers: 1, seconds: 2 })
      await ledger.stop()
      await db.close()
      print(`${book} book, 100 wallets, 500 callers`, busy)
      print(`${book} book, 100 wallets, 1 caller`, idle)
      rates[book].push(busy.pairs / busy.seconds)
    }
  }
  const ratio = quantile(rates.full, 0.5) / quantile(rates.empty, 0.5)
  console.log(`pairs/s on the full book: ${ratio.toFixed(2)} of the empty one (medians)`)
}

async function measure(url: string): Promise<void> {
  const db = new Db({ url, pool_size: 4, application_name: 'svc bench' })
  console.log(`load of the machine before the run: ${loadavg()[0]?.toFixed(2)}`)
  try {
    const [hot] = await makeWallets(db, 1, WALLET_CREDITS)
    if (!hot) throw new Error('no wallet')
    const many = await makeWallets(db, 1_000, WALLET_CREDITS)
    const bench = async (title: string, wallets: string[], callers: number, options: Options) => {
      const ledger = await makeLedger(url, options)
      await run(ledger, wallets, { callers, seconds: 1 })
      const result = await run(ledger, wallets, { callers, seconds: SECONDS })
      await ledger.stop()
      print(title, result)
      return result.pairs / result.seconds
    }
    const batched = await bench('1 wallet, 500 callers, batched', [hot], CALLERS, {})
    const single = await bench('1 wallet, 500 callers, batches of 1', [hot], CALLERS, {
      batch_limit: 1,
    })
    console.log(`batching is worth ${(batched / single).toFixed(1)} times`)
    await bench('1 wallet, 100 callers, batched', [hot], 100, {})
    await bench('1,000 wallets, 500 callers, batched', many, CALLERS, {})
    await bench('1 wallet, 1 caller, idle', [hot], 1, {})
    await printShares(url)
    const report = await checkLedger(db)
    console.log(`ledger check: ${report.ok ? 'ok' : JSON.stringify(report.proofs)}`)
  } finally {
    await db.close()
  }
}

type Options = Partial<CallLedgerOptions>

async function run(
  ledger: CallLedger,
  wallets: readonly string[],
  load: { callers: number; seconds: number },
): Promise<Result> {
  const started = performance.now()
  const ends = started + load.seconds * 1000
  const result: Result = { pairs: 0, seconds: 0, holds_ms: [], pairs_ms: [] }
  const caller = async (index: number) => {
    for (let turn = index; performance.now() < ends; turn += load.callers) {
      const wallet_id = wallets[turn % wallets.length]
      if (wallet_id === undefined) return
      const begun = performance.now()
      const hold = await holdOrWait(ledger, wallet_id)
      if (!hold) continue
      result.holds_ms.push(performance.now() - begun)
      await ledger.settle(chargeOf(hold, 110n, 100n))
      result.pairs_ms.push(performance.now() - begun)
      result.pairs++
    }
  }
  await Promise.all(Array.from({ length: load.callers }, (_, index) => caller(index)))
  result.seconds = (performance.now() - started) / 1000
  return result
}

/** Turned away when the lane is two seconds behind: then the caller comes back, as Retry-After says. */
async function holdOrWait(ledger: CallLedger, wallet_id: string): Promise<Hold | undefined> {
  try {
    return await ledger.hold(holdOf(wallet_id, 1_000n))
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'service_unavailable') throw error
    await sleep(1_000)
    return undefined
  }
}

function print(title: string, result: Result): void {
  const rate = Math.round(result.pairs / result.seconds).toLocaleString('en')
  const figures = [
    `${rate} pairs/s`,
    `hold p50 ${quantile(result.holds_ms, 0.5).toFixed(1)} ms`,
    `p99 ${quantile(result.holds_ms, 0.99).toFixed(1)} ms`,
    `pair p50 ${quantile(result.pairs_ms, 0.5).toFixed(1)} ms`,
  ]
  console.log(`${title.padEnd(38)} ${figures.join(', ')}`)
}

async function printShares(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await sleep(1_500)
  const { rows } = await client.query<{ share: string; pages: string }>(
    `select round(100.0 * n_tup_hot_upd / n_tup_upd, 2)::text as share,
       (pg_relation_size('wallet') / 8192)::text as pages
     from pg_stat_user_tables
     where relname = 'wallet'`,
  )
  await client.end()
  console.log(
    `HOT updates of wallet ${rows[0]?.share} %, ${rows[0]?.pages} pages for 1,001 wallets`,
  )
}

async function onServer(text: string): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  await client.query(text)
  await client.end()
}
