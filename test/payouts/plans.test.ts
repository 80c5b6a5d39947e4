// Lists are read page by page with plans that are made once: each page must begin where the last one ended, and not at
// the top of the table.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { SELECT_OWN_PAYOUTS } from '../../src/payouts/earnings-store.ts'
import { SELECT_ALL_PAYOUTS, SELECT_PAYOUTS_IN_STATUS } from '../../src/payouts/store.ts'
import { LIST_TOPUPS } from '../../src/topups/store.ts'
import { createDatabase } from '../support/database.ts'

const database_url = await createDatabase()

for (const { name, text } of [
  SELECT_ALL_PAYOUTS,
  SELECT_PAYOUTS_IN_STATUS,
  SELECT_OWN_PAYOUTS,
  LIST_TOPUPS,
]) {
  test(`${name} looks up the beginning of a page in the index`, async () => {
    const client = new Client({ connectionString: database_url })
    await client.connect()
    try {
      // Empty tables are always read whole.
      await client.query(
        'set enable_seqscan = off; set enable_bitmapscan = off; set enable_sort = off',
      )
      const explained = await client.query<{ 'QUERY PLAN': string }>(
        `explain (generic_plan) ${text}`,
      )
      const plan = explained.rows.map((row) => row['QUERY PLAN']).join('\n')
      assert.match(plan, /Index Cond: .*\bid < /, plan)
    } finally {
      await client.end()
    }
  })
}
