// Speed of the usage record: summaries and lists of one wallet with a million calls in 30 days. Run with
// `npm run bench:usage`; `-- --calls 10000000` makes it larger.

import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { Client } from 'pg'
import { systemClock } from '../src/platform/clock.ts'
import { Db } from '../src/platform/db.ts'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'
import { migrate } from '../src/platform/migrate.ts'
import { mintId } from '../src/platform/tokens.ts'
import { listCalls } from '../src/usage/calls.ts'
import { type SummaryAsked, sumUsage } from '../src/usage/summary.ts'
import { ALL_BUCKETS, bucketOf } from '../src/wallet/bucket.ts'
import { quantile } from '../test/wallet/support.ts'

const DAYS = 30
const DAY_MS = 24 * 3_600_000
const LOOKS = 50

/** An id is the time in milliseconds, the bucket, and something of its own. */
const FILL = `
insert into usage_event (at, credits_used, cost_credits, markup_credits, shortfall_credits, promotional_credits,
  balance_before, balance_after, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  state, billing_mode, bucket, estimated, id, wallet_id, developer_id, key_id, model)
select id_time(c.id), 100, 100, 0, 0, 0, 1000, 900, 500, 0, 0, 100, 0, 'settled', 'developer', $2::smallint, false, c.id,
  $1::uuid, $1::uuid, ($3::uuid[])[1 + k % 8],
  case when k % 100000 = 50000 then 'rare' else 'm-' || k % 13 end
from generate_series(1, $5::integer) k
cross join lateral (
  select (lpad(to_hex((extract(epoch from $4::timestamptz) * 1000 + k::bigint * 86400000 / $5)::bigint), 12, '0') || '7'
    || lpad(to_hex($2::integer * 64), 3, '0') || '8' || left(md5(k::text), 15))::uuid as id
) c`

const { values } = parseArgs({ options: { calls: { type: 'string', default: '1000000' } } })
const calls = Number(values.calls)

const folder = mkdtempSync(path.join(tmpdir(), 'svc-bench-'))
const postgres = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
try {
  await migrate(postgres.url)
  const load = loadavg().map((one) => one.toFixed(1))
  print(`${calls.toLocaleString('en')} calls of one wallet, load ${load.join(' ')}`)
  const wallet_id = mintId()
  await fill(wallet_id)
  await measure(wallet_id)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

/** 13 models and 8 keys; one call of 100,000 is of a model that nothing else uses. */
async function fill(wallet_id: string): Promise<void> {
  const client = new Client({ connectionString: postgres.url })
  await client.connect()
  try {
    const from = new Date(Date.now() - DAYS * DAY_MS)
    await client.query('select make_ledger_partitions($1, 2)', [from])
    const keys = Array.from({ length: 8 }, () => mintId())
    const began = performance.now()
    // A day at a time, so that no transaction holds all of it.
    for (let day = 0; day < DAYS; day++) {
      const start = new Date(from.getTime() + day * DAY_MS)
      const values = [wallet_id, bucketOf(wallet_id), keys, start, Math.round(calls / DAYS)]
      await client.query(FILL, values)
    }
    say('written', began)
    const summed = performance.now()
    await client.query('select rebuild_usage($1::smallint[])', [ALL_BUCKETS])
    say('added up', summed)
    await client.query('vacuum analyze')
    const rows = await client.query<{ count: string }>('select count(*) from usage_hour')
    print(`${rows.rows[0]?.count} rows of sums`)
  } finally {
    await client.end()
  }
}

async function measure(account_id: string): Promise<void> {
  const db = new Db({ url: postgres.url, pool_size: 2, application_name: 'svc bench' })
  const sum = (asked: Omit<SummaryAsked, 'from' | 'to'>) => () =>
    sumUsage(db, systemClock, { account_id, ...asked })
  const list = (filters: object) => () => listCalls(db, account_id, { limit: 50, ...filters })
  try {
    await time('summary of 30 days by the day', sum({ interval: 'day' }))
    await time('… and model', sum({ interval: 'day', group_by: 'model' }))
    await time('… and key, of one model', sum({ interval: 'day', group_by: 'key', model: 'm-3' }))
    await time(
      'summary of 2 days by the hour and model',
      sum({ interval: 'hour', group_by: 'model' }),
    )
    await time('first page of the list', list({}))
    await time('… of one model', list({ model: 'm-3' }))
    await time('… of a model of 1 in 100,000 calls', list({ model: 'rare' }))
    await time('… of a model that was never used', list({ model: 'none' }))
    await time('… that failed', list({ status: 'failed' }))
  } finally {
    await db.close()
  }
}

async function time(title: string, work: () => Promise<unknown>): Promise<void> {
  const took: number[] = []
  for (let i = 0; i < LOOKS; i++) {
    const began = performance.now()
    await work()
    took.push(performance.now() - began)
  }
  const [middle, high] = [quantile(took, 0.5), quantile(took, 0.99)]
  print(`${title}: ${middle.toFixed(1)} ms, 99 %: ${high.toFixed(1)} ms`)
}

function say(title: string, began: number): void {
  print(`${title} in ${((performance.now() - began) / 1000).toFixed(0)} s`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
