// Rows 8 and 9: the database stops at once, and answers get lost after the commit.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Db } from '../../src/platform/db.ts'
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { readBalance } from '../../src/wallet/postings.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { assertNothingLost } from './gateway.ts'
import { Proxy } from './proxy.ts'
import { assertBooks, chargeOf, holdOf, LONG, makeLedger, makeWallets } from './support.ts'

const LOST_ANSWERS = LONG ? 200 : 30
const STOPS = LONG ? 30 : 2

describe('an answer that is lost after the commit', () => {
  it(`neither holds nor charges twice, ${LOST_ANSWERS} times`, async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const [wallet_id] = await makeWallets(db, 1, 1_000_000n)
    assert.ok(wallet_id)
    const proxy = new Proxy(Number(new URL(url).port))
    const proxied = new URL(url)
    proxied.port = String(await proxy.listen())
    const ledger = await makeLedger(proxied.toString())
    await ledger.settle(chargeOf(await ledger.hold(holdOf(wallet_id, 100n)), 10n))
    for (let round = 0; round < LOST_ANSWERS; round++) {
      if (round % 2 === 0) proxy.loseNextAnswer()
      const hold = await ledger.hold(holdOf(wallet_id, 100n))
      assert.equal((await readBalance(db, wallet_id))?.held, 100n)
      if (round % 2 === 1) proxy.loseNextAnswer()
      const settled = await ledger.settle(chargeOf(hold, 10n))
      assert.equal(settled.state, 'settled')
      assert.equal(settled.balance_after, 1_000_000n - 10n * BigInt(round + 2))
    }
    assert.equal(proxy.cuts, LOST_ANSWERS)
    assert.equal(
      (await readBalance(db, wallet_id))?.balance,
      1_000_000n - 10n * BigInt(LOST_ANSWERS + 1),
    )
    await ledger.stop()
    await proxy.close()
    await assertBooks(db)
  })
})

describe('an answer to holds and settlements that is lost after the commit', () => {
  it(`neither holds nor charges twice, ${LOST_ANSWERS} times`, async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const [wallet_id = ''] = await makeWallets(db, 1, 1_000_000n)
    const proxy = new Proxy(Number(new URL(url).port))
    const proxied = new URL(url)
    proxied.port = String(await proxy.listen())
    const metrics = createMetrics()
    const ledger = await makeLedger(proxied.toString(), { lanes: 1, metrics })
    let open = await ledger.hold(holdOf(wallet_id, 100n))
    for (let round = 1; round <= LOST_ANSWERS; round++) {
      proxy.loseNextAnswer()
      // Asked for in the same moment: one batch.
      const [settled, hold] = await Promise.all([
        ledger.settle(chargeOf(open, 10n)),
        ledger.hold(holdOf(wallet_id, 100n)),
      ])
      assert.deepEqual([settled.state, hold.amount], ['settled', 100n])
      const balance = 1_000_000n - 10n * BigInt(round)
      assert.equal(settled.balance_after, balance)
      const now = { balance, held: 100n, available: balance - 100n, promotional: balance }
      assert.deepEqual(await readBalance(db, wallet_id), now)
      open = hold
    }
    assert.equal(proxy.cuts, LOST_ANSWERS)
    const batches = (await metrics.ledger_batches.get()).values.find(
      ({ metricName }) => metricName === 'svc_ledger_batch_seconds_count',
    )
    // On a busy machine the two are now and then a batch each, and the answer of one of them is lost.
    const most = Math.ceil((LOST_ANSWERS + 1) * 1.25)
    assert.ok((batches?.value ?? 0) <= most, `${batches?.value} batches: both go in one`)
    await ledger.release(open)
    await ledger.stop()
    await proxy.close()
    await assertBooks(db)
  })
})

describe('a database that stops at once', () => {
  it(`loses no acknowledged settle, ${STOPS} times`, async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'svc-crash-'))
    const start = () => startEmbeddedPostgres({ data_dir: folder, log: () => {} })
    let postgres = await start()
    const proxy = new Proxy(Number(new URL(postgres.url).port))
    const url = new URL(postgres.url)
    url.port = String(await proxy.listen())
    await migrate(url.toString())
    const db = new Db({ url: url.toString(), pool_size: 4, application_name: 'svc test' })
    const wallet_ids = await makeWallets(db, 20, 1_000_000_000n)
    const ledger = await makeLedger(url.toString(), { deadline_ms: 20_000 })
    const acknowledged = new Map<string, string>()
    const stop = new AbortController()
    const caller = async (index: number) => {
      while (!stop.signal.aborted) {
        try {
          const hold = await ledger.hold(holdOf(wallet_ids[index % 20] ?? '', 100n))
          const done = await ledger.settle(chargeOf(hold, 10n, 9n))
          const { id, credits_used, balance_before, balance_after } = done
          acknowledged.set(id, `${credits_used} ${balance_before} ${balance_after}`)
        } catch {
          await sleep(20)
        }
      }
    }
    const callers = Array.from({ length: 64 }, (_, index) => caller(index))
    for (let round = 0; round < STOPS; round++) {
      await sleep(300 + Math.random() * 500)
      const ended = new Promise<string>((resolve) => postgres.onExit(resolve))
      process.kill(postgres.pid, 'SIGQUIT')
      await ended
      postgres = await start()
      proxy.target_port = Number(new URL(postgres.url).port)
    }
    await sleep(300)
    stop.abort()
    await Promise.all(callers)
    await ledger.stop()
    const [row] = await sql<{ late: string }>(
      url.toString(),
      "select count(*)::text as late from usage_event where state = 'late'",
    )
    console.log(`${acknowledged.size} acknowledged, ${row?.late} settled late`)
    await assertNothingLost(url.toString(), acknowledged)
    await assertBooks(db)
    await db.close()
    await proxy.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  })
})
