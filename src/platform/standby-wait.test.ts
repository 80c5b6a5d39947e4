// A commit whose wait for the synchronous standby is cancelled, on a server of its own: the standby it waits for
// does not exist.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { before, describe, test } from 'node:test'
import { atEnd } from '../../test/support/cleanup.ts'
import { sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { Db, statement } from './db.ts'
import { startEmbeddedPostgres } from './embedded-postgres.ts'
import { ApiError } from './errors.ts'

const INSERT = statement<object>('test.insert_standby', 'insert into thing (name) values ($1)')

let url = ''
let db: Db

before(async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-standby-'))
  const server = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
  url = server.url
  await sql(url, 'create table thing (name text)')
  await sql(url, `alter system set synchronous_standby_names = 'nobody'`)
  await sql(url, 'select pg_reload_conf()')
  db = new Db({ url, pool_size: 2, application_name: 'svc test' })
  atEnd(async () => {
    await db.close()
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })
})

describe('a change whose wait for the standby is cancelled is no success', () => {
  test('as a statement', async () => {
    await assertUncertain(db.run(INSERT, ['one']))
    assert.equal(await count(), 1)
  })

  test('as a transaction, and nobody is told that it is durable', async () => {
    let told = false
    const work = db.transaction(async (tx) => {
      tx.afterCommit(() => {
        told = true
      })
      await tx.run(INSERT, ['two'])
    })
    await assertUncertain(work)
    assert.equal(told, false)
  })

  test('and the next change on that connection is judged by itself', async () => {
    await assertUncertain(db.run(INSERT, ['three']))
    await sql(url, `alter system set synchronous_standby_names = ''`)
    await sql(url, 'select pg_reload_conf()')
    await db.run(INSERT, ['four'])
    assert.equal(await count(), 4)
  })
})

async function assertUncertain(change: Promise<unknown>): Promise<void> {
  const outcome = change.then(
    () => assert.fail('it was called a success'),
    (error: unknown) => error,
  )
  await eventually('its wait is cancelled', async () => {
    const rows = await sql(
      url,
      `select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'`,
    )
    return rows.length > 0
  })
  const error = await outcome
  assert.ok(error instanceof ApiError, String(error))
  assert.equal(error.status, 503)
  assert.match(error.message, /may or may not have been made/)
}

async function count(): Promise<number> {
  return (await sql(url, 'select from thing')).length
}
