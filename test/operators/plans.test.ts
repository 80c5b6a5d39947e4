// What operators read costs what a page costs, however much there is: each list begins in an index.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import '../../src/operators/store.ts'
import { LIST_BACKLOG, LIST_FAILING } from '../../src/operators/health-store.ts'
import {
  LIST_APPS,
  LIST_APPS_BY_NAME,
  LIST_APPS_OF_DEVELOPER,
  LIST_USER_EVENTS,
  LIST_USER_KEYS,
  LIST_USERS,
  LIST_USERS_BY_EMAIL,
} from '../../src/operators/user-store.ts'
import { LIST_RUNS } from '../../src/payouts/store.ts'
import { registeredStatements } from '../../src/platform/db.ts'
import { SUM_SERVICE } from '../../src/usage/service-store.ts'
import { LIST_CHAIN } from '../../src/wallet/check-record-store.ts'
import { createDatabase, sql } from '../support/database.ts'

const database_url = await createDatabase()
// Deliveries have partitions from the first start on.
await sql(database_url, 'select keep_webhook_partitions(now(), now())')

function named(name: string) {
  const found = registeredStatements().find((statement) => statement.name === name)
  assert.ok(found, name)
  return found
}

const EXPECTED = [
  [LIST_USERS, /Index Cond: \(id < /],
  [LIST_USERS_BY_EMAIL, /Index Cond: \(\(?\(?email_key\)?.* >= .*< /],
  [LIST_APPS, /Index Cond: \(id < /],
  [LIST_APPS_OF_DEVELOPER, /Index Cond: \(\(developer_id = .*id < /],
  [LIST_APPS_BY_NAME, /Index Cond: .*lower\(name\).*ROW\(/],
  [LIST_USER_KEYS, /api_key_by_account/],
  [LIST_USER_EVENTS, /security_event_by_account/],
  [named('operators.list_acts'), /Index Cond: \(id < /],
  [named('operators.list_acts_of_who'), /operator_act_by_who[\s\S]*Index Cond: .*who = .*id < /],
  [named('operators.list_acts_of_kind'), /operator_act_by_act[\s\S]*Index Cond: .*act = .*id < /],
  [
    named('operators.list_acts_of_subject'),
    /operator_act_by_subject[\s\S]*Index Cond: .*subject = .*id < /,
  ],
  [
    named('operators.read_money'),
    /usage_hour_is_unique[\s\S]*Index Cond: \(\(owner_id = .*hour > /,
  ],
  [named('operators.read_money'), /topup_dispute_by_account/],
  [LIST_RUNS, /Index Cond: \(id < /],
  [LIST_CHAIN, /Index Cond: .*bucket = .*owner = .*wallet_seq < /],
  [SUM_SERVICE, /usage_hour_is_unique[\s\S]*Index Cond: \(\(owner_id = .*grain = 8.*hour >= /],
  [LIST_BACKLOG, /Index Cond: .*webhook_id > /],
  [LIST_FAILING, /webhook_stat_failing/],
] as const

for (const [{ name, text }, plan_has] of EXPECTED) {
  test(`${name} is read from ${String(plan_has).slice(1, 40)}`, async () => {
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
      assert.match(plan, plan_has, plan)
    } finally {
      await client.end()
    }
  })
}
