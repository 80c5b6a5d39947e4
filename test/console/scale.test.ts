// Opening a page costs what it costs somebody small: an account with 1,000 keys and 20,000 calls (a million in the long
// run) asks for all that pages ask for, and so does one with ten keys and as many calls as days have models. Counted in
// blocks and rows, never in time; the long run says the time too.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setOperator } from '../../src/operators/accounts.ts'
import { statement } from '../../src/platform/db.ts'
import { bucketOf } from '../../src/wallet/bucket.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { connect, type Person } from '../support/oauth.ts'
import { fillIn, PAGE_READS, type Places } from './page-reads.ts'
import { makeBelongings } from './support.ts'

const LONG = process.env['SVC_LONG'] === '1'
/** `run`: how many calls one key makes of one model, one after the other. */
const LARGE = LONG
  ? { keys: 1_000, calls: 1_000_000, run: 8 }
  : { keys: 1_000, calls: 20_000, run: 1 }
/** Enough for a call of each of four models, through the app and without it, on each of the days. */
const SMALL = { keys: 10, calls: 480, run: 1 }
const DAYS = 30
const DAY_MS = 24 * 3_600_000
const BATCH = 100_000

const ROWS_MAX = 100
const REPLY_MAX_BYTES = 256 * 1_024
/** How many times as much may be read for the large account, and what is too little to be compared. */
const FACTOR = 2
const FREE_BLOCKS = 100
const SMALL_BLOCKS_MAX = 500
const POOL_SIZE = 2
const LOOKS = LONG ? 5 : 1

/** What one more click on a page asks for. */
const MORE_READS = [
  '/developers/apps/:app_id/users?limit=50',
  '/operator/holds?limit=50&older_than_seconds=0',
  '/operator/wallets/:user_id/chain?limit=50',
  '/account/usage/summary?from=:yesterday&interval=hour&group_by=model',
  '/account/usage/summary?from=:from&interval=day&group_by=app',
  '/account/usage/summary?from=:from&interval=day&group_by=error&status=failed',
  '/account/usage?limit=50&status=failed',
]

/**
 * One key among all is looked for in the index on each day and for each model: a few blocks each time, however many keys there
 * are. The sums of ten keys are so few that they are read in one go.
 */
const KEY_READ = '/account/usage/summary?from=:from&interval=day&group_by=model&key_id=:key_id'
const KEY_BLOCKS_MAX = DAYS * 5 * 4

const service = await createApp({
  settings: { WELCOME_CREDITS: '40000000', DATABASE_POOL_SIZE: String(POOL_SIZE) },
})
const { parts, database_url, clock } = service

type Size = { keys: number; calls: number; run: number }
type Owner = { person: Person; client_id: string; places: Places & Record<string, string> }

async function arrive(size: Size): Promise<Owner> {
  const person = await service.register()
  await setOperator(parts, person.email, { who: 'test', is_operator: true })
  const { app, webhook_id } = await makeBelongings(service, person)
  await connect(service, { app, user: person })
  const key_id = await insertKeys(person, size)
  for (let first = 0; first < size.calls; first += BATCH) {
    await insertCalls(person, { ...size, client_id: app.client_id, first })
  }
  const daysAgo = (days: number) =>
    new Date(clock.now().getTime() - days * DAY_MS).toISOString().slice(0, 10)
  const places = {
    app_id: app.id,
    webhook_id,
    user_id: person.user_id,
    key_id,
    from: daysAgo(2 * DAYS - 1),
    to: daysAgo(0),
    yesterday: daysAgo(1),
  }
  return { person, client_id: app.client_id, places }
}

async function insertKeys({ user_id }: Person, { keys }: Size): Promise<string> {
  const [key] = await sql<{ id: string }>(
    database_url,
    `insert into api_key (id, account_id, token_digest, name, billing_mode, prefix, created_at, spend_limit_credits, spend_limit_period)
     select uuidv7(), $1, sha256(uuid_send(uuidv7())), 'key ' || k, 'developer', 'svc_sk_' || k, now(), 9000000, 'month'
     from generate_series(1, $2::integer) k
     returning id`,
    [user_id, keys],
  )
  assert.ok(key)
  return key.id
}

/**
 * Calls of the last 30 days in the order of time, as the ledger records them: the call, its lines in the book, and the
 * sums. Half of them are made by the keys in turn and half by the app. An id is the time, the bucket of the wallet, and the
 * number of the call.
 */
async function insertCalls(
  { user_id }: Person,
  calls: Size & { client_id: string; first: number },
): Promise<void> {
  const { client_id, first, run } = calls
  const last = Math.min(first + BATCH, calls.calls)
  await sql(
    database_url,
    `with made as materialized (
       select k, at, n % 2 = 0 as by_key, ((n / 2) % 4)::integer as model, owned.ids[1 + (n / 2) % cardinality(owned.ids)] as key_id,
         (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7'
           || lpad(to_hex($2::integer << 6), 3, '0') || 'b' || lpad(to_hex(k), 15, '0'))::uuid as id
       from generate_series($3::integer + 1, $4::integer) k
       cross join lateral (
         select k / $6::integer as n,
           date_trunc('milliseconds', $8::timestamptz - interval '30 days' * (1 - k::float8 / $5::integer)) as at) t
       cross join (select array_agg(id) as ids from api_key where account_id = $1) owned
     ), booked as (
       insert into journal (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, promotional_after, kind)
       select $2, m.id, l.line, m.at, l.account, l.owner, l.amount, l.seq, l.balance_after, l.promotional_after, 'usage'
       from made m
       cross join lateral (values
         (1::smallint, 'wallet'::journal_account, $1::uuid, -1, m.k + 1, 40000000 - m.k, 0),
         (2::smallint, 'revenue'::journal_account, null, 1, null, null, null)
       ) l (line, account, owner, amount, seq, balance_after, promotional_after)
     ), used as (
       insert into usage_event as u (at, credits_used, cost_credits, markup_credits, shortfall_credits, promotional_credits,
         balance_before, balance_after, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
         reasoning_tokens, state, billing_mode, bucket, estimated, id, wallet_id, developer_id, key_id, client_id,
         request_id, model, outcome)
       select at, 1, 1, 0, 0, 0, 40000001 - k, 40000000 - k, 10, 0, 0, 10, 0, 'settled',
         case when by_key then 'developer' else 'user' end::billing_mode, $2, false, id, $1, $1,
         case when by_key then key_id end, case when not by_key then $7 end, id,
         (array['gpt-4o', 'gpt-4o-mini', 'gpt-5', 'google/gemini-2.5-flash'])[1 + model], 'complete'
       from made
       returning usage_fact_of(u) as fact
     )
     select add_usage(array_agg(fact)) from used`,
    [user_id, bucketOf(user_id), first, last, calls.calls, run, client_id, clock.now()],
  )
}

const HAND_IN = statement<object>(
  'test.hand_in_counters',
  'select pg_stat_force_next_flush(), pg_sleep(0.01)',
)

/** Blocks by table. Each connection of the pool hands in what it has counted, before the counters are read. */
async function readCounters(): Promise<Map<string, number>> {
  await Promise.all(Array.from({ length: POOL_SIZE }, () => parts.db.run(HAND_IN, [])))
  const tables = await parts.db.run(READ_COUNTERS, [])
  return new Map(tables.map(({ name, blocks }) => [name, Number(blocks)]))
}

const READ_COUNTERS = statement<{ name: string; blocks: bigint }>(
  'test.read_counters',
  `select regexp_replace(relname, '_(default|y\\d+[mw]\\d+)$', '') as name,
     sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read, 0) + coalesce(idx_blks_hit, 0))::bigint as blocks
   from pg_statio_user_tables
   where relname <> 'invalidation'
   group by 1`,
)

type Cost = { blocks: number; tables: string; ms: number; faults: string[] }

/** What was read for one reply, and what is wrong with it. */
async function measure(read: string, { person, places }: Owner): Promise<Cost> {
  const url = fillIn(read, places)
  const ask = () => service.request({ url, headers: { cookie: `svc_session=${person.token}` } })
  const costs: Cost[] = []
  // What a connection reads once to plan a statement is no part of what the page costs.
  for (let look = 0; look < POOL_SIZE; look++) await ask()
  for (let look = 0; look < LOOKS; look++) {
    const before = await readCounters()
    const began = performance.now()
    const reply = await ask()
    const ms = performance.now() - began
    const after = await readCounters()
    const read_of = [...after]
      .map(([name, blocks]) => ({ name, blocks: blocks - (before.get(name) ?? 0) }))
      .filter(({ blocks }) => blocks > 0)
    costs.push({
      blocks: read_of.reduce((sum, { blocks }) => sum + blocks, 0),
      tables: read_of.map(({ name, blocks }) => `${name} ${blocks}`).join(', '),
      ms,
      faults: faultsOf(read, reply),
    })
  }
  const [best] = costs.toSorted((left, right) => left.blocks - right.blocks || left.ms - right.ms)
  assert.ok(best)
  return best
}

function faultsOf(read: string, reply: Awaited<ReturnType<typeof service.request>>): string[] {
  const { length } = reply.rawPayload
  const longest = isSeries(read) ? 0 : longestList(reply.json())
  return [
    ...(reply.statusCode === 200 ? [] : [`answered ${reply.statusCode}`]),
    ...(length > REPLY_MAX_BYTES ? [`has ${length} bytes`] : []),
    ...(longest > ROWS_MAX ? [`lists ${longest}`] : []),
  ]
}

/** A cell for each day and group: as many as the period has, whatever was called. */
function isSeries(read: string): boolean {
  return read.startsWith('/account/usage/summary') || read.startsWith('/developers/earnings')
}

function longestList(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const within = Object.values(value).map(longestList)
  return Math.max(Array.isArray(value) ? value.length : 0, 0, ...within)
}

await sql(database_url, 'select make_ledger_partitions($1, 2)', [
  new Date(clock.now().getTime() - DAYS * DAY_MS),
])
const [large, small] = [await arrive(LARGE), await arrive(SMALL)]
// So that the server does not begin to do it by itself meanwhile: that would be counted.
await sql(database_url, 'vacuum analyze')

test('nothing that pages ask for costs more with 1,000 keys and 20,000 calls than with ten keys', async (context) => {
  const faults: string[] = []
  for (const read of [...PAGE_READS, ...MORE_READS, KEY_READ]) {
    const of_small = await measure(read, small)
    const of_large = await measure(read, large)
    const most = read === KEY_READ ? KEY_BLOCKS_MAX : of_small.blocks * FACTOR + FREE_BLOCKS
    faults.push(...of_large.faults.map((fault) => `${read} ${fault}`))
    if (of_large.blocks > most) {
      faults.push(`${read} read ${of_large.blocks} blocks, not ${most}: ${of_large.tables}`)
    }
    // Nor does somebody small pay for the large one beside.
    if (of_small.blocks > SMALL_BLOCKS_MAX) {
      faults.push(`${read} read ${of_small.blocks} for the small account: ${of_small.tables}`)
    }
    const show = ({ blocks, ms }: Cost) => `${blocks} blocks, ${ms.toFixed(1)} ms`
    if (LONG) context.diagnostic(`${read}: ${show(of_small)}; ${show(of_large)}`)
  }
  assert.deepEqual(faults, [])
})

test('what the large account spent through an app is exact to the call', async () => {
  const reply = await service.request({ url: '/account/connections', headers: large.person.bearer })
  const [connection] = reply.json<{ data: { spent_credits: number }[] }>().data
  const [row] = await sql<{ spent: number }>(
    database_url,
    `select coalesce(sum(credits_used), 0)::integer as spent from usage_event
     where wallet_id = $1 and client_id = $2 and at >= date_trunc('month', $3::timestamptz, 'UTC')`,
    [large.person.user_id, large.client_id, clock.now()],
  )
  assert.equal(connection?.spent_credits, row?.spent)
})
