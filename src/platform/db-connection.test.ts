// The life of a pooled connection: its limits, its end, and who is told of it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { databaseServer, sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  assertUnavailable,
  BACKEND,
  INSERT,
  names,
  open,
  pidOf,
  RAISE,
  rejectionOf,
  terminate,
  url,
} from '../../test/support/pool.ts'
import { freePort } from '../../test/support/redis.ts'
import { type Db, statement } from './db.ts'
import { ApiError } from './errors.ts'

const SLEEP = statement<object>('test.sleep', 'select pg_sleep(30)')
const NAP = statement<{ pid: number }>(
  'test.nap',
  'select pg_backend_pid() as pid from pg_sleep(0.1)',
)

describe('a connection', () => {
  test('has limits on statements, locks and forgotten transactions, and speaks UTC', async (t) => {
    const settings = statement<{ name: string; setting: string }>(
      'test.settings',
      `select name, setting
       from pg_settings
       where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')`,
    )
    const rows = await open(t).run(settings)
    assert.equal(rows.length, 3)
    // 0 would mean "no limit".
    for (const { name, setting } of rows) assert.ok(Number(setting) > 0, `${name} is ${setting}`)
    const zone = statement<{ TimeZone: string }>('test.zone', 'show timezone')
    assert.deepEqual(await open(t).run(zone), [{ TimeZone: 'UTC' }])
  })

  test('to nowhere is answered 503 with Retry-After', async (t) => {
    const db = open(t, { url: `postgres://svc:pw@127.0.0.1:${await freePort()}/none` })
    assertUnavailable(await rejectionOf(db.run(BACKEND)))
    assertUnavailable(await rejectionOf(db.transaction(async () => {})))
    assert.equal(await db.isReachable(), false)
  })

  test('killed in the middle of a statement is answered 503, and the next statement works', async (t) => {
    const db = open(t)
    assert.equal(await db.isReachable(), true)
    const pid = await pidOf(db)
    const interrupted = rejectionOf(db.run(SLEEP))
    await eventually('the statement runs', () => isRunning(pid, 'active'))
    await terminate(pid)
    assertUnavailable(await interrupted)
    assert.notEqual(await pidOf(db), pid)
  })

  test('that the server says is ending is not used again', async (t) => {
    const db = open(t)
    const pid = await pidOf(db)
    await rejectionOf(db.run(RAISE, ['57P01']))
    assert.notEqual(await pidOf(db), pid)
  })

  test('that turned out to be read-only is answered 503, and no session of its time is used again', async (t) => {
    const db = open(t, { pool_size: 3 })
    await setReadOnly('on')
    const old = await pidsOf(db, 3)
    await setReadOnly('off')
    const error = await rejectionOf(db.run(INSERT, ['read-only']))
    assertUnavailable(error)
    assert.doesNotMatch((error as ApiError).message, /may or may not/)
    const fresh = await pidsOf(db, 3)
    assert.deepEqual(
      fresh.filter((pid) => old.includes(pid)),
      [],
    )
    for (const name of ['writable 1', 'writable 2', 'writable 3']) await db.run(INSERT, [name])
    assert.equal((await names('writable %')).length, 3)
    await eventually('the old sessions are closed', async () => {
      const open_ones = await Promise.all(old.map((pid) => isRunning(pid)))
      return !open_ones.includes(true)
    })
  })

  test('that turned out to be read-only is given up even if the work swallows the failure', async (t) => {
    const db = open(t)
    await setReadOnly('on')
    await pidOf(db)
    await setReadOnly('off')
    await rejectionOf(
      db.transaction(async (tx) => {
        await tx.run(INSERT, ['unheard']).catch(() => {})
      }),
    )
    await db.run(INSERT, ['heard'])
    assert.deepEqual(await names('%heard'), ['heard'])
  })

  test('on a server that stays read-only is not looked for without end', async (t) => {
    const db = open(t, { pool_size: 2 })
    await setReadOnly('on')
    const tries = Array.from({ length: 6 }, () => rejectionOf(db.run(INSERT, ['never'])))
    for (const error of await Promise.all(tries)) assertUnavailable(error)
    await setReadOnly('off')
  })

  test('whose prepared statement no longer fits its table is replaced', async (t) => {
    const db = open(t)
    await sql(url, 'create table shape (a int)')
    const all = statement<object>('test.shape', 'select * from shape')
    await db.run(all)
    await sql(url, 'alter table shape add column b int')
    assertUnavailable(await rejectionOf(db.run(all)))
    assert.deepEqual(await db.run(all), [])
  })

  test('is replaced when it has lived long enough, but never under its user', async (t) => {
    const db = open(t, { connection_life_ms: 50 })
    const [first, again] = await db.transaction(async (tx) => {
      const pid = await pidOf(tx)
      await tx.run(NAP)
      return [pid, await pidOf(tx)]
    })
    assert.equal(again, first)
    assert.notEqual(await pidOf(db), first)
  })

  test('killed while idle is replaced without anyone noticing', async (t) => {
    const db = open(t)
    const pid = await pidOf(db)
    await terminate(pid)
    await eventually('the pool has dropped it', () => db.counts().total === 0)
    assert.notEqual(await pidOf(db), pid)
  })

  test('that never becomes free is not waited for without end', async (t) => {
    const db = open(t)
    const pid = await pidOf(db)
    const holder = rejectionOf(db.run(SLEEP))
    await eventually('the statement runs', () => isRunning(pid, 'active'))
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const waiting = rejectionOf(db.run(BACKEND))
    assert.deepEqual(db.counts(), { total: 1, idle: 0, waiting: 1 })
    t.mock.timers.tick(10_000)
    assertUnavailable(await waiting)
    t.mock.timers.reset()
    await terminate(pid)
    await holder
  })

  test('is gone once the pool is closed', async (t) => {
    const db = open(t)
    const pid = await pidOf(db)
    await db.close()
    await eventually('the backend is gone', async () => !(await isRunning(pid)))
    assertUnavailable(await rejectionOf(db.run(BACKEND)))
  })
})

/** So many sessions at once. */
async function pidsOf(db: Db, count: number): Promise<number[]> {
  const rows = await Promise.all(Array.from({ length: count }, () => db.run(NAP)))
  const pids = new Set(rows.map(([row]) => row?.pid ?? 0))
  assert.equal(pids.size, count)
  return [...pids]
}

/** For sessions that are opened from now on. */
async function setReadOnly(value: 'on' | 'off'): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const text = `alter database ${name} set default_transaction_read_only = ${value}`
  await sql(await databaseServer(), text)
}

async function isRunning(pid: number, state = '%'): Promise<boolean> {
  const rows = await sql(url, 'select 1 from pg_stat_activity where pid = $1 and state like $2', [
    pid,
    state,
  ])
  return rows.length > 0
}
