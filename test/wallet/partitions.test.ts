// Row 15: the month ends under load. The clock is injected; time passes an hour at a time.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { FrozenClock } from '../../src/platform/clock.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { keepPartitions } from '../../src/wallet/jobs.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { assertBooks, chargeOf, makeLedger, makeWallets, silent } from './support.ts'

const HOUR_MS = 3_600_000

describe('the end of a month', () => {
  it('passes three times under load without a failed settle or a stray row', async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const wallet_ids = await makeWallets(db, 4, 1_000_000n)
    const clock = new FrozenClock(new Date())
    const metrics = createMetrics()
    const ledger = await makeLedger(db, url, { clock })
    const stop = new AbortController()
    let settled = 0
    const caller = async (wallet_id: string) => {
      while (!stop.signal.aborted) {
        const id = mintWalletId(wallet_id, clock.now())
        const hold = await ledger.hold({ id, wallet_id, min_credits: 10n, max_credits: 10n })
        await ledger.settle(chargeOf(hold, 1n))
        settled++
      }
    }
    const callers = [...wallet_ids, ...wallet_ids].map(caller)
    const hours = (24 * 95) / 6
    for (let step = 0; step < hours; step++) {
      clock.advance(6 * HOUR_MS)
      await keepPartitions({ db, clock, log: silent, metrics })
    }
    stop.abort()
    await Promise.all(callers)
    await ledger.close()
    const months = await sql<{ name: string; rows: string }>(
      url,
      `select tableoid::regclass::text as name, count(*)::text as rows from journal group by 1 order by 1`,
    )
    assert.ok(months.length >= 4, JSON.stringify(months))
    assert.ok(!months.some((month) => month.name === 'journal_default'))
    console.log(`${settled} settles over ${months.length} partitions`)
    await assertBooks(db)
    const counted = await metrics.ledger_invariant_breaks.get()
    assert.deepEqual(counted.values, [])
  })

  it('that nobody prepared for raises an alarm and loses nothing', async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const [wallet_id] = await makeWallets(db, 1, 100n)
    assert.ok(wallet_id)
    const clock = new FrozenClock(new Date(Date.now() + 400 * 24 * HOUR_MS))
    const metrics = createMetrics()
    const ledger = await makeLedger(db, url, { clock })
    const id = mintWalletId(wallet_id, clock.now())
    const hold = await ledger.hold({ id, wallet_id, min_credits: 10n, max_credits: 10n })
    const done = await ledger.settle(chargeOf(hold, 10n))
    assert.equal(done.balance_after, 90n)
    await ledger.close()
    const today = new FrozenClock(new Date())
    await keepPartitions({ db, clock: today, log: silent, metrics })
    const counted = await metrics.ledger_invariant_breaks.get()
    assert.equal(counted.values[0]?.labels['invariant'], 'default_partition_is_empty')
  })
})
