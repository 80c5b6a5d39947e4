// A statement that is narrowed to a kind or to dates: it answers what a filter of the whole would, and reads little for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { mintId } from '../../src/platform/tokens.ts'
import { bucketOf, mintWalletId } from '../../src/wallet/bucket.ts'
import { listTransactions, type TransactionFilters } from '../../src/wallet/statement.ts'
import { createApp } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { fc } from '../support/same-cases.ts'

const MOVEMENTS = 12_000
const EVERY_TOPUP = 1_500
const START = Date.parse('2026-01-20T00:00:00Z')
/** So that the movements reach into three months. */
const STEP_MS = 300_000
const account_id = mintId()
const url = await createDatabase()
const db = openDb(url)
atEnd(() => db.close())

const timeOf = (seq: number) => new Date(START + Math.floor(seq / 3) * 3 * STEP_MS)
const kindOf = (seq: number) => (seq % EVERY_TOPUP === 1 ? 'topup' : 'usage')
const places = Array.from({ length: MOVEMENTS }, (_, place) => place + 1)

/** Three movements at a time are of one instant, as those of one batch are. */
async function fillWallet(): Promise<void> {
  await sql(url, `select make_ledger_partitions('2026-01-01Z', 2)`)
  await sql(
    url,
    `insert into journal (bucket, tx, line, at, account, owner, amount, wallet_seq, balance_after, promotional_after, kind)
     select $1, m.tx, l.line, m.at, l.account, l.owner, l.amount, l.seq, l.balance_after, l.promotional_after, m.kind
     from unnest($3::uuid[], $4::timestamptz[], $5::journal_kind[]) with ordinality m (tx, at, kind, seq)
     cross join lateral (values
       (1::smallint, 'wallet'::journal_account, $2::uuid, 1, m.seq, m.seq, 0),
       (2::smallint, 'external'::journal_account, null, -1, null, null, null)
     ) l (line, account, owner, amount, seq, balance_after, promotional_after)`,
    [
      bucketOf(account_id),
      account_id,
      places.map((seq) => mintWalletId(account_id, timeOf(seq))),
      places.map((seq) => timeOf(seq).toISOString()),
      places.map(kindOf),
    ],
  )
  await sql(url, 'analyze journal')
}

/** Places in the chain, which are the balances here. */
async function readAll(filters: TransactionFilters): Promise<number[]> {
  const found: number[] = []
  let cursor: string | null = ''
  for (let page = 0; cursor !== null && page < 100; page++) {
    const read: Awaited<ReturnType<typeof listTransactions>> = await listTransactions(db, {
      account_id,
      limit: 1_000,
      ...filters,
      ...(cursor !== '' && { cursor }),
    })
    found.push(...read.data.map((row) => Number(row.balance_after)))
    cursor = read.next_cursor
  }
  return found
}

await fillWallet()

test('any kind and any dates give the movements that a filter of the whole gives', async () => {
  const somewhen = fc
    .integer({ min: -2 * STEP_MS, max: (MOVEMENTS + 10) * STEP_MS })
    .map((after) => new Date(START + after))
  await fc.assert(
    fc.asyncProperty(
      fc.option(fc.constantFrom('usage' as const, 'topup' as const, 'refund' as const)),
      fc.option(somewhen),
      fc.option(somewhen),
      async (kind, from, to) => {
        const wanted = places.filter(
          (seq) =>
            (!kind || kindOf(seq) === kind) &&
            (!from || timeOf(seq) >= from) &&
            (!to || timeOf(seq) < to),
        )
        const filters = { ...(kind && { kind }), ...(from && { from }), ...(to && { to }) }
        assert.deepEqual(await readAll(filters), wanted.toReversed())
      },
    ),
    { numRuns: 5 },
  )
})

test('a day or the top-ups of a wallet with 12,000 movements are found in few pages', async () => {
  const client = new Client({ connectionString: url })
  await client.connect()
  type Explained = { 'QUERY PLAN': [{ Plan: Record<string, number> }] }
  const readPages = async (query: string): Promise<number> => {
    // The first one of a connection plans, and reads the catalogue for it.
    await client.query(query)
    const { rows } = await client.query<Explained>(
      `explain (analyze, buffers, format json) ${query}`,
    )
    const plan = rows[0]?.['QUERY PLAN'][0].Plan
    return (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
  }
  const wallet = `${bucketOf(account_id)}::smallint, '${account_id}'::uuid`
  const place = await readPages(`select statement_place(${wallet}, '2026-02-10T12:00:00Z')`)
  const kinds = await readPages(
    `select tx from journal where bucket = ${bucketOf(account_id)}::smallint and owner = '${account_id}'
       and wallet_seq < 20000 and kind = 'topup' and kind <> 'usage' order by wallet_seq desc limit 51`,
  )
  await client.end()
  const [table] = await sql<{ pages: number }>(
    url,
    `select pg_relation_size('journal_y2026m02') / 8192 as pages`,
  )
  assert.ok(Number(table?.pages) > 200, `the month has ${table?.pages} pages`)
  assert.ok(place < 150, `${place} pages for a place`)
  assert.ok(kinds < 60, `${kinds} pages for the top-ups`)
})

test('the address takes a kind and times, also of the file; what is neither is 400', async () => {
  const service = await createApp({ settings: { WELCOME_CREDITS: '100' } })
  const { bearer } = await service.register()
  const read = (query: string) =>
    service.request({ url: `/account/transactions?${query}`, headers: bearer })
  const kinds = async (query: string) =>
    (await read(query)).json<{ data: { kind: string }[] }>().data.map((row) => row.kind)
  const later = encodeURIComponent(new Date(Date.now() + 86_400_000).toISOString())
  assert.deepEqual(await kinds('kind=welcome'), ['welcome'])
  assert.deepEqual(await kinds('kind=usage'), [])
  assert.deepEqual(await kinds(`to=${later}`), ['welcome'])
  assert.deepEqual(await kinds(`from=${later}`), [])
  assert.equal((await read('format=csv&kind=usage')).body.split('\r\n').length, 2)
  assert.equal((await read('format=csv&kind=welcome')).body.split('\r\n').length, 3)
  for (const query of ['kind=payout_paid', 'from=yesterday', 'to=2026-02-31T25:00', 'from=']) {
    assert.equal((await read(query)).statusCode, 400, query)
  }
})
