// A backend of the database that stands still while it has a hold in hand: what its caller has given up is never held.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { readBalance } from '../../src/wallet/postings.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { Proxy } from './proxy.ts'
import { assertBooks, chargeOf, holdOf, LONG, makeLedger, makeWallets } from './support.ts'

const ROUNDS = LONG ? 20 : 4
const DEADLINE_MS = 1_000
const STALL_MS = 2_500

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

async function laneBackends(): Promise<number[]> {
  const rows = await sql<{ pid: number }>(
    url,
    `select pid from pg_stat_activity
     where application_name = 'svc ledger lane' and datname = current_database()`,
  )
  return rows.map(({ pid }) => pid)
}

describe('a hold whose first copy is still in the hands of a stopped backend', () => {
  it('is not placed a second time when that backend goes on after the call was settled', async () => {
    const [wallet_id = ''] = await makeWallets(db, 1, 1_000n)
    const proxy = new Proxy(Number(new URL(url).port))
    const proxied = new URL(url)
    proxied.port = String(await proxy.listen())
    const ledger = await makeLedger(proxied.toString(), { lanes: 1, deadline_ms: 5_000 })
    await ledger.release(await ledger.hold(holdOf(wallet_id, 10n)))
    const stopped = await laneBackends()
    for (const pid of stopped) process.kill(pid, 'SIGSTOP')
    const holding = ledger.hold(holdOf(wallet_id, 500n))
    await sleep(200)
    // The answer is cut off long before the deadline; the copy stands in the socket of the stopped backend.
    proxy.cutAll()
    const hold = await holding
    assert.equal((await ledger.settle(chargeOf(hold, 100n))).state, 'settled')
    for (const pid of stopped) process.kill(pid, 'SIGCONT')
    await sleep(5_500)
    const isFree = async () => (await readBalance(db, wallet_id))?.held === 0n
    await eventually('nothing is held any more', isFree, 5_000)
    await ledger.stop()
    await proxy.close()
    await assertBooks(db)
  })
})

describe('a lane whose backend is stopped', () => {
  it(`holds nothing soon after it goes on, ${ROUNDS} times`, async () => {
    const [wallet_id = ''] = await makeWallets(db, 1, 1_000_000n)
    const ledger = await makeLedger(url, { lanes: 1, deadline_ms: DEADLINE_MS })
    for (let round = 0; round < ROUNDS; round++) {
      await ledger.release(await ledger.hold(holdOf(wallet_id, 10n)))
      // Half of the rounds stop it before the hold arrives, half at some moment of its work.
      const holding = round % 2 === 0 ? [] : manyHolds(wallet_id)
      if (round % 2 === 1) await sleep(Math.random() * 5)
      const stopped = await laneBackends()
      for (const pid of stopped) process.kill(pid, 'SIGSTOP')
      holding.push(outcomeOf(ledger.hold(holdOf(wallet_id, 999_000n))))
      await sleep(STALL_MS)
      for (const pid of stopped) process.kill(pid, 'SIGCONT')
      const outcomes = await Promise.all(holding)
      assert.equal(outcomes.at(-1), 'service_unavailable')
      const isFree = async () => (await readBalance(db, wallet_id))?.held === 0n
      await eventually('nothing is held any more', isFree, 5_000)
    }
    await ledger.stop()
    await assertBooks(db)

    function manyHolds(wallet: string): Promise<string>[] {
      return Array.from({ length: 10 }, async () => {
        const outcome = await outcomeOf(
          ledger.hold(holdOf(wallet, 10n)).then((hold) => ledger.release(hold)),
        )
        return outcome
      })
    }
  })
})

async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'done'
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
