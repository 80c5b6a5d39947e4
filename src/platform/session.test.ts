import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createDatabase, sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { openClient } from './session.ts'

const NAME = 'svc session test'

let url = ''

before(async () => {
  url = await createDatabase()
})

test('a session has its limits, and those its opener asked for instead', async () => {
  const settings = { lock_timeout: '250ms', synchronous_commit: 'off' }
  const client = await openClient({ url, application_name: NAME, settings })
  const { rows } = await client.query<object>(
    `select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
            current_setting('idle_in_transaction_session_timeout') as idle,
            current_setting('timezone') as zone, current_setting('synchronous_commit') as commit`,
  )
  const expected = { statement: '30s', lock: '250ms', idle: '5s', zone: 'UTC', commit: 'off' }
  assert.deepEqual(rows, [expected])
  await client.end()
})

test('nothing about limits is said in the startup packet, where PgBouncer would refuse it', async () => {
  const client = await openClient({ url, application_name: NAME })
  const { rows } = await client.query<{ name: string }>(
    `select name from pg_settings where source = 'client' order by name`,
  )
  assert.deepEqual(
    rows.filter(({ name }) => /timeout|TimeZone/.test(name)),
    [],
  )
  await client.end()
})

test('a session that does not have what was asked for is closed, not used', async () => {
  const settings = { lock_timeout: '120s' }
  await assert.rejects(
    openClient({ url, application_name: NAME, settings }),
    /lock_timeout to 2min instead of 120s/,
  )
  await eventually('it is closed', async () => {
    const text = 'select 1 from pg_stat_activity where application_name = $1'
    return (await sql(url, text, [NAME])).length === 0
  })
})
