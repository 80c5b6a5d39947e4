import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { DatabaseError } from 'pg'
import { createDatabase, databaseServer, sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { freePort } from '../../test/support/redis.ts'
import { Db, registeredStatements, statement } from './db.ts'
import { ApiError } from './errors.ts'
import { violatedConstraint } from './sql-errors.ts'

const BACKEND = statement<{ pid: number }>('test.backend', 'select pg_backend_pid() as pid')
const INSERT = statement<{ name: string }>(
  'test.insert',
  'insert into thing (name) values ($1) returning name',
)
const COUNT = statement<{ count: bigint }>('test.count', 'select count(*) from thing')
const SLEEP = statement<object>('test.sleep', 'select pg_sleep(30)')
const RAISE = statement<object>('test.raise', 'select raise_state($1)')
const LOCK = statement<object>('test.lock', 'select pg_advisory_xact_lock(1)')
const NAP = statement<{ pid: number }>(
  'test.nap',
  'select pg_backend_pid() as pid from pg_sleep(0.1)',
)
const SHORT_LOCK_WAIT = statement<object>('test.lock_wait', `set local lock_timeout = '20ms'`)

let url = ''

before(async () => {
  url = await createDatabase()
  await sql(
    url,
    `create table thing (name text, constraint thing_name_is_unique unique (name));
     create function raise_state(state text) returns text language plpgsql as
     $$ begin raise exception 'raised' using errcode = state; end $$;`,
  )
})

describe('a statement', () => {
  test('brings int8 back as bigint, exact beyond what a double can hold', async (t) => {
    const echo = statement<{ value: bigint }>('test.echo', 'select $1::int8 as value')
    const rows = await open(t).run(echo, [9_007_199_254_740_993n])
    assert.deepEqual(rows, [{ value: 9_007_199_254_740_993n }])
  })

  test('takes arrays of bigint, exact', async (t) => {
    const each = statement<{ value: bigint }>(
      'test.unnest',
      'select unnest($1::int8[]) + 1 as value',
    )
    const rows = await open(t).run(each, [[9_007_199_254_740_993n, -1n]])
    assert.deepEqual(rows, [{ value: 9_007_199_254_740_994n }, { value: 0n }])
  })

  test('shares its name with no other, because the name is what is prepared', () => {
    const made = statement('test.named_once', 'select 1')
    assert.throws(() => statement('test.named_once', 'select 2'), /test\.named_once/)
    assert.equal(registeredStatements().filter((one) => one.name === made.name)[0], made)
  })

  test('is reported with its name and time, also when it fails', async (t) => {
    const seen: [string, number][] = []
    const db = open(t, { observe: (name, seconds) => seen.push([name, seconds]) })
    await db.run(BACKEND)
    await assert.rejects(db.run(RAISE, ['42P01']))
    assert.deepEqual(
      seen.map(([name]) => name),
      ['test.backend', 'test.raise'],
    )
    assert.ok(seen.every(([, seconds]) => seconds > 0 && seconds < 5))
  })
})

describe('a failed statement', () => {
  test('keeps its connection, and names the constraint it ran into', async (t) => {
    const db = open(t)
    const [first] = await db.run(BACKEND)
    await db.run(INSERT, ['twice'])
    const error = await rejectionOf(db.run(INSERT, ['twice']))
    assert.equal(violatedConstraint(error), 'thing_name_is_unique')
    const [second] = await db.run(BACKEND)
    assert.deepEqual(second, first)
  })

  test('of another kind names no constraint', async (t) => {
    assert.equal(violatedConstraint(await rejectionOf(open(t).run(RAISE, ['42P01']))), undefined)
    assert.equal(violatedConstraint(new Error('thing_name_is_unique')), undefined)
  })

  test('with a NUL in its text is the fault of the request, not of the service', async (t) => {
    const error = await rejectionOf(open(t).run(INSERT, ['a\0b']))
    assertApiError(error, { code: 'bad_request', status: 400 })
  })

  for (const state of ['22021', '22P05', '22P02']) {
    test(`with SQL state ${state} (text that cannot be stored) is a bad request`, async (t) => {
      const error = await rejectionOf(open(t).run(RAISE, [state]))
      assertApiError(error, { code: 'bad_request', status: 400 })
    })
  }

  for (const state of ['55P03', '57014', '40001', '40P01', '57P01', '08006', '53300']) {
    test(`with SQL state ${state} (try again) is answered 503 with Retry-After`, async (t) => {
      assertUnavailable(await rejectionOf(open(t).run(RAISE, [state])))
    })
  }

  test('of our own making stays what it is: a defect', async (t) => {
    const error = await rejectionOf(open(t).run(RAISE, ['42P01']))
    assert.ok(error instanceof DatabaseError)
    assert.equal(error.code, '42P01')
  })
})

describe('a transaction', () => {
  test('keeps everything when its work ends well, and hands the result on', async (t) => {
    const db = open(t)
    const result = await db.transaction(async (tx) => {
      await tx.run(INSERT, ['kept 1'])
      await tx.run(INSERT, ['kept 2'])
      return 'done'
    })
    assert.equal(result, 'done')
    assert.deepEqual(await names('kept %'), ['kept 1', 'kept 2'])
  })

  test('leaves nothing when its work throws, and throws the same', async (t) => {
    const db = open(t)
    const [first] = await db.run(BACKEND)
    const fault = new Error('changed my mind')
    const error = await rejectionOf(
      db.transaction(async (tx) => {
        await tx.run(INSERT, ['thrown'])
        throw fault
      }),
    )
    assert.equal(error, fault)
    assert.deepEqual(await names('thrown'), [])
    assert.deepEqual((await db.run(BACKEND))[0], first, 'the connection was thrown away')
  })

  test('leaves nothing when a statement fails', async (t) => {
    const db = open(t)
    const error = await rejectionOf(
      db.transaction(async (tx) => {
        await tx.run(INSERT, ['half'])
        await tx.run(INSERT, ['half'])
      }),
    )
    assert.equal(violatedConstraint(error), 'thing_name_is_unique')
    assert.deepEqual(await names('half'), [])
    await db.run(INSERT, ['after half'])
    assert.deepEqual(await names('after half'), ['after half'])
  })

  test('does not claim success when its work swallowed a failed statement', async (t) => {
    const db = open(t)
    await assert.rejects(
      db.transaction(async (tx) => {
        await tx.run(INSERT, ['swallowed'])
        await tx.run(INSERT, ['swallowed']).catch(() => {})
        return 'all is well'
      }),
    )
    assert.deepEqual(await names('swallowed'), [])
    await db.run(INSERT, ['after swallowed'])
    assert.deepEqual(await names('after swallowed'), ['after swallowed'])
  })

  test('is invisible to others until it commits', async (t) => {
    const db = open(t, { pool_size: 2 })
    const before_count = (await db.run(COUNT))[0]?.count
    await db.transaction(async (tx) => {
      await tx.run(INSERT, ['hidden'])
      assert.equal((await db.run(COUNT))[0]?.count, before_count)
    })
    assert.deepEqual(await names('hidden'), ['hidden'])
  })

  test('tells after it has committed, and never when it did not', async (t) => {
    const db = open(t, { pool_size: 2 })
    const told: string[] = []
    await db.transaction(async (tx) => {
      tx.afterCommit(() => told.push('committed'))
      await tx.run(INSERT, ['told'])
      assert.deepEqual(told, [])
    })
    assert.deepEqual(told, ['committed'])
    const faults = [
      db.transaction(async (tx) => {
        tx.afterCommit(() => told.push('thrown'))
        throw new Error('no')
      }),
      db.transaction(async (tx) => {
        tx.afterCommit(() => told.push('swallowed'))
        await tx.run(RAISE, ['42P01']).catch(() => {})
      }),
    ]
    for (const fault of faults) await rejectionOf(fault)
    assert.deepEqual(told, ['committed'])
  })

  test('that waits too long for a lock is answered 503, and its connection lives on', async (t) => {
    const db = open(t, { pool_size: 2 })
    await db.transaction(async (holder) => {
      await holder.run(LOCK)
      const waited = db.transaction(async (tx) => {
        await tx.run(SHORT_LOCK_WAIT)
        await tx.run(LOCK)
      })
      assertUnavailable(await rejectionOf(waited))
    })
    assert.equal(db.counts().total, 2)
    await db.run(COUNT)
  })

  test('whose connection is lost between two statements is answered 503 and leaves nothing', async (t) => {
    const db = open(t)
    const error = await rejectionOf(
      db.transaction(async (tx) => {
        await tx.run(INSERT, ['orphan'])
        await terminate(await pidOf(tx))
        await tx.run(INSERT, ['orphan 2'])
      }),
    )
    assertUnavailable(error)
    assert.deepEqual(await names('orphan%'), [])
    assert.equal((await db.run(BACKEND)).length, 1)
  })

  test('whose connection is lost while its work does something else does not end the process', async (t) => {
    const db = open(t)
    const error = await rejectionOf(
      db.transaction(async (tx) => {
        const pid = await pidOf(tx)
        const open_before = openSockets()
        await terminate(pid)
        await eventually('its socket is closed', () => openSockets() < open_before)
      }),
    )
    assertUnavailable(error)
    assert.equal((await db.run(BACKEND)).length, 1)
  })
})

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

function open(t: TestContext, options: Partial<ConstructorParameters<typeof Db>[0]> = {}): Db {
  const db = new Db({ url, pool_size: 1, application_name: 'svc test', ...options })
  t.after(() => db.close().catch(() => {}))
  return db
}

async function pidOf(db: Pick<Db, 'run'>): Promise<number> {
  const [row] = await db.run(BACKEND)
  return row?.pid ?? 0
}

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

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}

async function terminate(pid: number): Promise<void> {
  await sql(url, 'select pg_terminate_backend($1)', [pid])
}

async function isRunning(pid: number, state = '%'): Promise<boolean> {
  const rows = await sql(url, 'select 1 from pg_stat_activity where pid = $1 and state like $2', [
    pid,
    state,
  ])
  return rows.length > 0
}

async function names(pattern: string): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    url,
    'select name from thing where name like $1 order by name',
    [pattern],
  )
  return rows.map((row) => row.name)
}

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => assert.fail('it did not fail'),
    (error: unknown) => error,
  )
}

function assertUnavailable(error: unknown): void {
  assertApiError(error, { code: 'service_unavailable', status: 503 })
  assert.match((error as ApiError).headers['retry-after'] ?? '', /^[1-9]\d*$/)
}

function assertApiError(error: unknown, expected: { code: string; status: number }): void {
  assert.ok(error instanceof ApiError, String(error))
  assert.equal(error.code, expected.code)
  assert.equal(error.status, expected.status)
}
