import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DatabaseError } from 'pg'
import { eventually } from '../../test/support/eventually.ts'
import {
  assertApiError,
  assertUnavailable,
  BACKEND,
  INSERT,
  names,
  open,
  pidOf,
  RAISE,
  rejectionOf,
  terminate,
} from '../../test/support/pool.ts'
import { registeredStatements, statement } from './db.ts'
import { violatedConstraint } from './sql-errors.ts'

const COUNT = statement<{ count: bigint }>('test.count', 'select count(*) from thing')
const LOCK = statement<object>('test.lock', 'select pg_advisory_xact_lock(1)')
const SHORT_LOCK_WAIT = statement<object>('test.lock_wait', `set local lock_timeout = '20ms'`)

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

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length
}
