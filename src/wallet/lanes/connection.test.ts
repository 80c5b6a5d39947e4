import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { createDatabase, openDb, sql } from '../../../test/support/database.ts'
import { collectLog } from '../../../test/support/log.ts'
import {
  assertBooks,
  chargeOf,
  holdOf,
  makeLedger,
  makeWallets,
} from '../../../test/wallet/support.ts'
import { RefusedItem } from './batch-entry.ts'
import { classifyFailure, UnknownOutcome, Unreachable } from './connection.ts'

function sqlError(code: string): DatabaseError {
  const error = new DatabaseError('made up', 0, 'error')
  error.code = code
  return error
}

// Connection lost or refused, no memory or disk, shutting down, input or output, authentication, no such
// database, internal, read-only, time-outs, a function or table that a migration is just replacing.
const PASSES =
  '08006 08P01 53100 53200 53300 53400 58030 58P01 57P01 57P02 57P03 57P04 57P05 28P01 28000 3D000 XX000 XX001 25006 25P03 57014 42883 42P01 0A000'
const ITEM_FAULTS = '21000 22021 22P02 22P05 22003 23505 23514 23000 54001 P0001'

describe('a failed batch', () => {
  it('is a failure of nobody knows whom when its trouble may pass', () => {
    for (const code of PASSES.split(' '))
      assert.equal(classifyFailure(sqlError(code)), 'failed', code)
    assert.equal(classifyFailure(new UnknownOutcome('lost')), 'unknown')
    assert.equal(classifyFailure(new Unreachable('away')), 'unreachable')
  })

  it('is sorted when somebody keeps a lock', () => {
    assert.equal(classifyFailure(sqlError('55P03')), 'blocked')
  })

  it('is taken apart when an item is at fault', () => {
    for (const code of ITEM_FAULTS.split(' ')) {
      assert.equal(classifyFailure(sqlError(code)), 'refused', code)
    }
    assert.equal(classifyFailure(new TypeError('a bug')), 'refused')
  })

  it('is a conflict when the server chose it as a victim', () => {
    for (const code of ['40001', '40P01']) assert.equal(classifyFailure(sqlError(code)), 'conflict')
  })
})

describe('a settle', () => {
  const RENAME = 'alter function settle_batch rename to settle_batch_away'
  const RENAME_BACK = 'alter function settle_batch_away rename to settle_batch'

  async function setUp(settle_gives_up_after_ms: number) {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const [wallet_id] = await makeWallets(db, 1, 1_000n)
    assert.ok(wallet_id)
    const { log, lines } = collectLog()
    const ledger = await makeLedger(url, { log, settle_gives_up_after_ms })
    const hold = await ledger.hold(holdOf(wallet_id, 100n))
    return { url, db, ledger, hold, alarms: () => lines().filter((line) => line['alarm']) }
  }

  it('outlives trouble of the server that is nobody’s fault', async () => {
    const { url, db, ledger, hold, alarms } = await setUp(30_000)
    await sql(url, RENAME)
    const settling = ledger.settle(chargeOf(hold, 10n))
    await sleep(100)
    await sql(url, RENAME_BACK)
    assert.equal((await settling).balance_after, 990n)
    await ledger.stop()
    assert.deepEqual(alarms(), [])
    await assertBooks(db)
  })

  it('that the database refuses raises an alarm that names the call and what it used', async () => {
    const { db, ledger, hold, alarms } = await setUp(30_000)
    const charge = chargeOf(hold, 10n)
    charge.usage.model = 'bad\u0000model'
    await assert.rejects(ledger.settle(charge), RefusedItem)
    await ledger.stop()
    await assertBooks(db)
    const [alarm] = alarms()
    assert.deepEqual(
      { level: alarm?.level, alarm: alarm?.['alarm'], hold: alarm?.['hold'] },
      { level: 'error', alarm: 'ledger_settle', hold: hold.id },
    )
    assert.equal(alarm?.['credits'], 10)
  })
})
