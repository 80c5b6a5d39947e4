// A wallet whose row somebody keeps locked: only those who need it wait for it.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { mintId } from '../../src/platform/tokens.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import { readBalance } from '../../src/wallet/postings.ts'
import type { SpendLimit } from '../../src/wallet/spend-limits.ts'
import { createDatabase, openDb } from '../support/database.ts'
import { assertBooks, chargeOf, holdOf, inParallel, makeLedger, makeWallets } from './support.ts'

/** Longer than the lane's own wait for a lock, far shorter than the lock is kept. */
const OTHERS_WAIT_MS = 5_000

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())

async function lockWallets(...wallet_ids: string[]): Promise<{ release(): Promise<void> }> {
  const client = new Client(url)
  await client.connect()
  await client.query('begin')
  await client.query('select 1 from wallet where id = any ($1) for update', [wallet_ids])
  return { release: () => client.end() }
}

async function pair(
  ledger: Awaited<ReturnType<typeof makeLedger>>,
  wallet_id: string,
): Promise<void> {
  const hold = await ledger.hold(holdOf(wallet_id, 10n))
  await ledger.settle(chargeOf(hold, 10n))
}

async function within<Result>(limit_ms: number, work: Promise<Result>): Promise<Result> {
  const late = sleep(limit_ms, undefined, { ref: false }).then(() => {
    throw new Error(`not done within ${limit_ms} ms`)
  })
  return await Promise.race([work, late])
}

describe('while somebody keeps the row of a wallet', () => {
  it('other wallets of the lane are served, and its own callers once it is free', async () => {
    const [locked = '', other = ''] = await makeWallets(db, 2, 1_000n)
    // One lane, and answers for as long as it takes.
    const ledger = await makeLedger(url, { lanes: 1, deadline_ms: 30_000 })
    const before: Hold = await ledger.hold(holdOf(locked, 100n))
    const lock = await lockWallets(locked)
    const waiting = [
      ledger.settle(chargeOf(before, 60n)),
      ...[1, 2, 3].map(() => ledger.hold(holdOf(locked, 10n))),
    ]
    await within(OTHERS_WAIT_MS, pair(ledger, other))
    // By now it is known: whoever comes for it next holds up nobody.
    waiting.push(ledger.hold(holdOf(locked, 10n)))
    await within(
      OTHERS_WAIT_MS,
      inParallel(20, 5, () => pair(ledger, other)),
    )
    const first = await Promise.race([Promise.any(waiting), sleep(50, 'nobody')])
    assert.equal(first, 'nobody')
    await lock.release()
    await within(OTHERS_WAIT_MS, Promise.all(waiting))
    assert.deepEqual(await readBalance(db, locked), {
      balance: 940n,
      held: 40n,
      available: 900n,
      promotional: 940n,
    })
    assert.equal((await readBalance(db, other))?.balance, 790n)
    await ledger.stop()
    await assertBooks(db)
  })

  it('a spend counter that somebody keeps stops only the calls it binds', async () => {
    const [limited = '', other = ''] = await makeWallets(db, 2, 10_000n)
    const ledger = await makeLedger(url, { lanes: 1, deadline_ms: 30_000 })
    const limit: SpendLimit = {
      kind: 'key',
      owner_id: mintId(),
      account_id: limited,
      limit_credits: 5_000n,
      period: 'total',
    }
    const holdLimited = () => ledger.hold({ ...holdOf(limited, 10n), spend_limits: [limit] })
    const first = await holdLimited()
    const client = new Client(url)
    await client.connect()
    await client.query('begin')
    await client.query('select 1 from spend_counter where owner_id = $1 for update', [
      limit.owner_id,
    ])
    const waiting = [holdLimited(), ledger.settle(chargeOf(first, 10n))]
    await within(OTHERS_WAIT_MS, pair(ledger, other))
    const began_at = performance.now()
    for (let i = 0; i < 20; i++) await pair(ledger, other)
    assert.ok(performance.now() - began_at < OTHERS_WAIT_MS, 'the lane does not wait for it again')
    await client.end()
    await within(OTHERS_WAIT_MS, Promise.all(waiting))
    await ledger.stop()
    await assertBooks(db)
  })

  it('a wallet that is freed does not wait for another that is not', async () => {
    const [freed = '', kept = ''] = await makeWallets(db, 2, 10_000n)
    const ledger = await makeLedger(url, { lanes: 1, deadline_ms: 30_000 })
    const locks = await Promise.all([lockWallets(freed), lockWallets(kept)])
    const [served, waits] = [pair(ledger, freed), pair(ledger, kept)]
    await sleep(1_500)
    await locks[0].release()
    await within(OTHERS_WAIT_MS, served)
    await within(
      OTHERS_WAIT_MS,
      inParallel(500, 50, () => pair(ledger, freed)),
    )
    await locks[1].release()
    await within(OTHERS_WAIT_MS, waits)
    await ledger.stop()
    await assertBooks(db)
  })

  it('its holds are refused in time, hold nothing, and a stop waits for what it owes', async () => {
    const [locked = ''] = await makeWallets(db, 1, 1_000n)
    const ledger = await makeLedger(url, { lanes: 1, deadline_ms: 2_000 })
    const before = await ledger.hold(holdOf(locked, 100n))
    const lock = await lockWallets(locked)
    const refused = ledger.hold(holdOf(locked, 10n))
    const settled = ledger.settle(chargeOf(before, 60n))
    // Known to hold nothing: not "may or may not".
    await assert.rejects(within(OTHERS_WAIT_MS, refused), /busy/)
    const closed = ledger.stop()
    await lock.release()
    assert.equal((await settled).credits_used, 60n)
    await closed
    assert.deepEqual(await readBalance(db, locked), {
      balance: 940n,
      held: 0n,
      available: 940n,
      promotional: 940n,
    })
    await assertBooks(db)
  })
})
