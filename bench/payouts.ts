// Speed of payouts: one batch over many developers against the sandbox in a process of its own, and the earnings of one
// developer with a million rows. Run with `npm run bench:payouts`; `-- --developers 1000` makes it smaller.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { runBatch } from '../src/payouts/batch.ts'
import { checkPayouts } from '../src/payouts/check.ts'
import { listOwnPayouts, readSeries, readSummary } from '../src/payouts/earnings.ts'
import { Db } from '../src/platform/db.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { createLog } from '../src/platform/log.ts'
import { migrate } from '../src/platform/migrate.ts'
import { makeDeveloper, makeDevelopers, standInAt } from '../test/payouts/support.ts'
import { quantile } from '../test/wallet/support.ts'

const EARNINGS_EACH = 100
const LOOKS = 200
const SIZED_TABLES = ['developer_earning', 'payout', 'payout_reserve', 'earning_day']
const DAY = 24 * 3_600_000

const { values } = parseArgs({
  options: {
    developers: { type: 'string', default: '10000' },
    rows: { type: 'string', default: '1000000' },
  },
})
const developers = Number(values.developers)
const rows = Number(values.rows)

/** Seconds in each statement. */
const spent = new Map<string, number>()

const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const postgres = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
const sandbox = fork(
  fileURLToPath(new URL('../sandbox/main.ts', import.meta.url)),
  ['--port', '0'],
  {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  },
)
try {
  const [urls] = (await once(sandbox, 'message')) as [{ stripe: string }]
  await migrate(postgres.url)
  const db = new Db({
    url: postgres.url,
    pool_size: 4,
    application_name: 'svc bench',
    observe: (name, seconds) => spent.set(name, (spent.get(name) ?? 0) + seconds),
  })
  print(
    `load ${loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
  await measureBatch(db, urls.stripe)
  await printSizes()
  await measureEarnings(db, urls.stripe)
  await db.close()
} finally {
  sandbox.kill()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

async function measureBatch(db: Db, stripe_url: string): Promise<void> {
  const stand_in = standInAt(stripe_url)
  const ids: string[] = []
  while (ids.length < developers) {
    ids.push(...(await makeDevelopers(db, stand_in, Math.min(1_000, developers - ids.length))))
  }
  await stand_in.control('/balance', { amount: 99_999_999_999 })
  await fill(ids, { each: EARNINGS_EACH, days: 20, amount: 200_000 })
  const memory: number[] = []
  spent.clear()
  const began = performance.now()
  const result = await runBatch(
    {
      db,
      database_url: postgres.url,
      stripe: stand_in.stripe,
      log: createLog({ level: 'warn' }),
    },
    {
      now: new Date(),
      onProgress: ({ done }) => {
        if (done % Math.max(1, Math.floor(developers / 10)) !== 0) return
        globalThis.gc?.()
        memory.push(Math.round(process.memoryUsage().rss / 2 ** 20))
      },
    },
  )
  const ms = performance.now() - began
  print(
    `${developers} developers, ${developers * EARNINGS_EACH} earnings: ${result.status}, ${result.paid} paid ` +
      `in ${(ms / 1000).toFixed(1)} s, ${(ms / developers).toFixed(2)} ms each`,
  )
  const statements = [...spent].toSorted(([, left], [, right]) => right - left).slice(0, 6)
  for (const [name, seconds] of statements) {
    print(`  ${((seconds * 1000) / developers).toFixed(2)} ms each in ${name}`)
  }
  print(`resident memory at each tenth, MiB: ${memory.join(' ')}`)
  const check_began = performance.now()
  const { ok } = await checkPayouts(db)
  print(
    `the books are ${ok ? 'right' : 'WRONG'} (${Math.round(performance.now() - check_began)} ms)`,
  )
  const totals = await stand_in.control<{ transferred_cents: number; duplicates: number }>('')
  print(
    `processor: ${totals.transferred_cents} cents, here ${result.paid_cents}; ${totals.duplicates} duplicates`,
  )
}

/** What a row of each table takes on disk with its indexes, after the batch and a vacuum. */
async function printSizes(): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  for (const table of SIZED_TABLES) {
    await client.query(`vacuum analyze ${table}`)
    const { rows: answer } = await client.query<{ rows: string; heap: string; indexes: string }>(
      `select (select count(*) from ${table}) as rows, sum(pg_table_size(relid)) as heap,
         sum(pg_indexes_size(relid)) as indexes
       from (select relid from pg_partition_tree($1) union select $1::regclass) parts`,
      [table],
    )
    const [size] = answer
    const count = Number(size?.rows)
    const [heap, indexes] = [Number(size?.heap) / count, Number(size?.indexes) / count]
    print(`${table}: ${Math.round(heap)} + ${Math.round(indexes)} bytes a row (${count} rows)`)
  }
  await client.end()
}

async function measureEarnings(db: Db, stripe_url: string): Promise<void> {
  const developer = await makeDeveloper(db, standInAt(stripe_url))
  await fill([developer], { each: rows, days: 60, amount: 20 })
  const now = new Date()
  const times: number[] = []
  for (let look = 0; look < LOOKS; look++) {
    const began = performance.now()
    await readSummary(db, developer, new Date(now.getTime() - look * 61_000))
    await listOwnPayouts(db, { developer_id: developer, limit: 10 })
    await readSeries(db, developer, { group_by: 'day', now })
    times.push(performance.now() - began)
  }
  // The first one prepares its statements and makes their plans.
  const [first = Number.NaN, ...rest] = times
  print(
    `earnings of a developer with ${rows} rows, all unclaimed: ${quantile(rest, 0.5).toFixed(1)} ms, ` +
      `99 %: ${quantile(rest, 0.99).toFixed(1)} ms, the first ${first.toFixed(1)} ms`,
  )
}

/** Spread evenly over so many days before now. */
async function fill(
  ids: readonly string[],
  { each, days, amount }: { each: number; days: number; amount: number },
): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  const from = new Date(Date.now() - days * DAY)
  await client.query('select make_ledger_partitions($1, 2)', [from])
  const given = [ids, each, amount, from, (days * DAY) / each]
  const earning = `select d as developer_id, $4::timestamptz + n * make_interval(secs => $5::float8 / 1000) as usage_at,
      $3::bigint + n % 7 as amount
    from unnest($1::uuid[]) d cross join generate_series(1, $2::integer) n`
  await client.query(
    `with earning as (${earning}), rows as (
       insert into developer_earning (bucket, id, developer_id, amount, usage_at)
       select wallet_bucket(id), id, developer_id, amount, usage_at
       from (select uuidv7() as id, * from earning) e
       returning bucket, id, developer_id, amount)
     insert into journal (bucket, tx, line, at, account, owner, amount, kind)
     select r.bucket, r.id, l.line, now(), l.account::journal_account, l.owner, l.amount, 'usage'
     from rows r cross join lateral (values (1, 'dev_payable', r.developer_id, r.amount), (2, 'external', null, -r.amount))
       as l (line, account, owner, amount)`,
    given,
  )
  await client.query(
    `insert into earning_delta (developer_id, hour, client_id, earned, not_payable, unclaimed, calls)
     select developer_id, date_trunc('hour', usage_at, 'UTC'), 'app', sum(amount), 0, sum(amount), count(*)
     from (${earning}) e group by 1, 2`,
    given,
  )
  let folded = 1
  while (folded > 0) {
    const { rows: answer } = await client.query<{ folded: number }>(
      'select fold_earnings(100000) as folded',
    )
    folded = answer[0]?.folded ?? 0
  }
  await client.query('vacuum analyze developer_earning; ')
  await client.query('analyze')
  await client.end()
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
