// Row 17: half an hour of steady work in one process. Long only.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/platform/clock.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { Worker } from '../../src/platform/worker.ts'
import { walletJobs } from '../../src/wallet/jobs.ts'
import { createDatabase, openDb } from '../support/database.ts'
import { assertBooks, chargeOf, holdOf, LONG, makeLedger, makeWallets, silent } from './support.ts'

const MINUTES = Number(process.env['SVC_SOAK_MINUTES'] ?? 30)
const CALLERS = 40
const MB = 1024 * 1024

describe('a soak', { skip: !LONG && 'long' }, () => {
  it(`of ${MINUTES} minutes grows no heap, leaves no queue and raises no alarm`, async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const wallet_ids = await makeWallets(db, 200, 1_000_000_000n)
    const metrics = createMetrics()
    const clock = systemClock
    const ledger = await makeLedger(url, { metrics })
    const jobs = walletJobs({ db, clock, log: silent, metrics, own_node_id: ledger.node_id })
    const worker = new Worker({ log: silent, observe: () => {} })
    worker.start(jobs)
    const stop = new AbortController()
    let pairs = 0
    const caller = async (index: number) => {
      for (let turn = index; !stop.signal.aborted; turn += CALLERS) {
        const hold = await ledger.hold(holdOf(wallet_ids[turn % wallet_ids.length] ?? '', 1_000n))
        if (turn % 50 === 0) await ledger.release(hold)
        else await ledger.settle(chargeOf(hold, 110n, 100n))
        pairs++
        await sleep(10)
      }
    }
    const callers = Array.from({ length: CALLERS }, (_, index) => caller(index))
    // A fifth of the time to warm up; then the smallest reading of each half, which garbage does not blur.
    await sleep(MINUTES * 12_000)
    const first = await smallestRss(MINUTES * 24_000)
    const second = await smallestRss(MINUTES * 24_000)
    stop.abort()
    await Promise.all(callers)
    assert.equal(ledger.depth(), 0)
    await worker.stop()
    await ledger.stop()
    const growth = second / first - 1
    console.log(
      `${pairs} pairs in ${MINUTES} min, RSS ${(first / MB).toFixed(0)} to ${(second / MB).toFixed(0)} MB`,
    )
    assert.ok(growth <= 0.1, `RSS grew by ${(growth * 100).toFixed(1)} %`)
    assert.deepEqual((await metrics.ledger_invariant_breaks.get()).values, [])
    await assertBooks(db)
  })
})

async function smallestRss(duration_ms: number): Promise<number> {
  let smallest = Number.POSITIVE_INFINITY
  for (let i = 0; i < 50; i++) {
    await sleep(duration_ms / 50)
    smallest = Math.min(smallest, process.memoryUsage.rss())
  }
  return smallest
}
