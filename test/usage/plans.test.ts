// A summary reads the sums of its range, however many others its owner has.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { mintId } from '../../src/platform/tokens.ts'
import { createDatabase, sql } from '../support/database.ts'

const HOURS = 20_000

test('a summary of one day reads few pages of an owner with 20,000 hours of sums', async () => {
  const url = await createDatabase()
  const owner_id = mintId()
  await sql(
    url,
    `insert into usage_hour (hour, credits, own_credits, cost_credits, markup_credits, requests, errors, input_tokens,
       cached_input_tokens, cache_write_tokens, output_tokens, status, billing_mode, grain, owner_id, model)
     select timestamptz '2026-01-01Z' - k * interval '1 hour', 1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 'ok', 'developer', 0, $1, 'm'
     from generate_series(1, $2::integer) k`,
    [owner_id, HOURS],
  )
  await sql(url, 'analyze usage_hour')
  const [table] = await sql<{ pages: number }>(
    url,
    `select pg_relation_size('usage_hour') / 8192 as pages`,
  )
  const pages = Number(table?.pages)
  const summary = `select * from usage_cells('${owner_id}', '{0}', '{2025-06-01Z}', '{2025-06-02Z}', null, null, null, null, null, null, 'day', null, '{0}')`
  const client = new Client({ connectionString: url })
  await client.connect()
  // The first one of a connection plans, and reads the catalogue for it.
  await client.query(summary)
  type Explained = { 'QUERY PLAN': [{ Plan: Record<string, number> }] }
  const explained = await client.query<Explained>(
    `explain (analyze, buffers, format json) ${summary}`,
  )
  await client.end()
  const plan = explained.rows[0]?.['QUERY PLAN'][0].Plan
  const read = (plan?.['Shared Hit Blocks'] ?? 0) + (plan?.['Shared Read Blocks'] ?? 0)
  assert.equal(plan?.['Actual Rows'], 1)
  assert.ok(pages > 300, `the table has ${pages} pages`)
  assert.ok(read < pages / 4, `${read} pages were read of ${pages}`)
})
