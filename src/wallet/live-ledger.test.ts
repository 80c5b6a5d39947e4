import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { collectLog } from '../../test/support/log.ts'
import { assertBooks, chargeOf, holdOf, makeWallets, silent } from '../../test/wallet/support.ts'
import { FrozenClock } from '../platform/clock.ts'
import { createMetrics } from '../platform/metrics.ts'
import { renewLease, sweepHolds } from './jobs.ts'
import { LiveLedger } from './live-ledger.ts'
import { readBalance } from './postings.ts'
import { forgetOldRows } from './retention.ts'

const HOUR_MS = 3_600_000

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

async function setUp() {
  const [wallet_id] = await makeWallets(db, 1, 100n)
  assert.ok(wallet_id)
  const clock = new FrozenClock(new Date())
  const metrics = createMetrics()
  const { log, lines } = collectLog()
  const options = { db, url, clock, log, metrics }
  const live = new LiveLedger(options)
  await live.start()
  // The jobs take the node once, at the start of the service.
  const job = { ...options, node: live.node }
  return { wallet_id, clock, metrics, lines, live, job }
}

describe('a gateway that stood still for more than a day', () => {
  it('takes a new lease, and its new holds are its own', async () => {
    const { wallet_id, clock, metrics, lines, live, job } = await setUp()
    const before = { ...live.node }
    const old_hold = await live.ledger.hold(holdOf(wallet_id, 10n))
    clock.advance(25 * HOUR_MS)
    await forgetOldRows(job)
    await renewLease(job)
    assert.notDeepEqual({ ...live.node }, before)
    assert.equal((await metrics.ledger_leases_lost.get()).values[0]?.value, 1)
    assert.equal(lines().filter((line) => line['alarm'] === 'ledger_node').length, 1)

    const hold = await live.ledger.hold(holdOf(wallet_id, 20n))
    assert.equal(await sweepHolds(job), 1)
    assert.equal((await readBalance(db, wallet_id))?.held, 20n)
    assert.equal((await live.ledger.settle(chargeOf(hold, 5n))).state, 'settled')
    assert.equal((await live.ledger.settle(chargeOf(old_hold, 5n))).state, 'late')

    await renewLease(job)
    assert.equal((await metrics.ledger_leases_lost.get()).values[0]?.value, 1)
    await live.stop()
    assert.deepEqual(await sql(url, 'select node_id from gateway_node'), [])
    await assertBooks(db)
  })
})

describe('a gateway whose name another process took', () => {
  it('goes on under a name of its own and leaves the other its lease', async () => {
    const { wallet_id, clock, live, job } = await setUp()
    const taken = live.node.node_id
    await sql(url, 'update gateway_node set epoch = epoch + 1 where node_id = $1', [taken])
    await renewLease(job)
    assert.notEqual(live.node.node_id, taken)
    await live.ledger.hold(holdOf(wallet_id, 10n))
    assert.equal(await sweepHolds({ db, clock, log: silent, metrics: createMetrics() }), 0)
    const rows = await sql(url, 'select epoch::text from gateway_node where node_id = $1', [taken])
    assert.deepEqual(rows, [{ epoch: '2' }])
    await live.stop()
  })
})
