import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createDatabase, openDb } from '../../test/support/database.ts'
import { Proxy } from '../../test/wallet/proxy.ts'
import {
  assertBooks,
  chargeOf,
  holdOf,
  inParallel,
  LONG,
  makeLedger,
  makeWallets,
} from '../../test/wallet/support.ts'
import { mintId } from '../platform/tokens.ts'
import { mintWalletId } from './bucket.ts'
import type { Hold } from './holds.ts'
import { readBalance } from './postings.ts'
import { readSpent } from './spend-limits.ts'

const url = await createDatabase()
const db = openDb(url)
const ledger = await makeLedger(url, { hold_wait_ms: 300 })
after(async () => {
  await ledger.stop()
  await db.close()
})

async function wallet(credits: bigint): Promise<string> {
  const [wallet_id] = await makeWallets(db, 1, credits)
  assert.ok(wallet_id)
  return wallet_id
}

describe('a hold that grows', () => {
  const NOW = { wait_ms: 0 }

  function growing(wallet_id: string, min_credits: bigint, max_credits: bigint) {
    const id = mintWalletId(wallet_id, new Date())
    return { id, wallet_id, min_credits, max_credits, held_credits: 0n }
  }

  it('begins with all of it where that is a small part of what is free, otherwise with an eighth', async () => {
    const wallet_id = await wallet(1_000n)
    const small = await ledger.hold(growing(wallet_id, 10n, 250n))
    assert.deepEqual([small.amount, small.ceiling], [250n, undefined])
    const large = await ledger.hold(growing(wallet_id, 10n, 5_000n))
    assert.deepEqual([large.amount, large.ceiling], [93n, 1_000n])
    const dear = await ledger.hold(growing(wallet_id, 600n, 5_000n))
    assert.equal(dear.amount, 600n)
    const rest = await ledger.hold(growing(wallet_id, 57n, 5_000n))
    assert.equal(rest.amount, 57n)
    await assert.rejects(ledger.hold(growing(wallet_id, 1n, 2n)), { code: 'insufficient_credits' })
  })

  it('takes what it needs or an eighth of what is free, never more than its maximum', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(growing(wallet_id, 10n, 2_000n))
    assert.equal(hold.amount, 125n)
    const steps: bigint[] = []
    let latest = hold
    for (const min_credits of [126n, 600n, 611n]) {
      const growth = await ledger.grow(latest, { min_credits, max_credits: 620n, ...NOW })
      assert.ok(growth.state === 'grown')
      latest = growth.hold
      steps.push(latest.amount)
    }
    assert.deepEqual(steps, [234n, 600n, 620n])
    assert.equal((await readBalance(db, wallet_id))?.held, 620n)
    const settled = await ledger.settle(chargeOf(latest, 500n))
    assert.equal(settled.state, 'settled')
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 500n,
      held: 0n,
      available: 500n,
      promotional: 500n,
    })
  })

  it('grows once, however often it is asked, also twice in one batch', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(growing(wallet_id, 10n, 2_000n))
    const range = { min_credits: 300n, max_credits: 2_000n, ...NOW }
    const both = await Promise.all([ledger.grow(hold, range), ledger.grow(hold, range)])
    const grown = { state: 'grown', hold: { ...hold, amount: 300n } }
    assert.deepEqual([...both, await ledger.grow(hold, range)], [grown, grown, grown])
    assert.equal((await readBalance(db, wallet_id))?.held, 300n)
    await ledger.release(hold)
  })

  it('is refused what nobody could give it, waits for what others hold, and stays as it is', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(growing(wallet_id, 10n, 2_000n))
    const other = await ledger.hold(holdOf(wallet_id, 800n))
    const ask = (min_credits: bigint, wait_ms = 0) =>
      ledger.grow(hold, { min_credits, max_credits: 2_000n, wait_ms })
    assert.deepEqual(await ask(1_001n), { state: 'refused' })
    assert.deepEqual(await ask(201n), { state: 'blocked' })
    assert.equal((await readBalance(db, wallet_id))?.held, 925n)
    const waits = ask(1_000n, 10_000)
    await ledger.release(other)
    assert.deepEqual(await waits, { state: 'grown', hold: { ...hold, amount: 1_000n } })
    await ledger.release(hold)
  })

  it('is refused before its time where all that hold something wait as well, one after the other', async () => {
    const wallet_id = await wallet(1_000n)
    const holds: Hold[] = []
    for (let i = 0; i < 3; i++) holds.push(await ledger.hold(growing(wallet_id, 300n, 2_000n)))
    const begun = performance.now()
    const states = await Promise.all(
      holds.map(async (hold) => {
        const range = { min_credits: 450n, max_credits: 450n, wait_ms: 20_000 }
        const { state } = await ledger.grow(hold, range)
        await ledger.settle(chargeOf(hold, state === 'grown' ? 450n : 100n))
        return state
      }),
    )
    assert.deepEqual(states.toSorted(), ['blocked', 'grown', 'grown'])
    assert.ok(performance.now() - begun < 10_000)
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 0n,
      held: 0n,
      available: 0n,
      promotional: 0n,
    })
  })

  it('gives way to calls of other processes that wait as well, alone and at once', async () => {
    const wallet_id = await wallet(1_000n)
    const other = await makeLedger(url)
    const sides = [ledger, other, ledger, other]
    const holds: Hold[] = []
    for (const side of sides) holds.push(await side.hold(growing(wallet_id, 250n, 2_000n)))
    const begun = performance.now()
    const states = await Promise.all(
      holds.map(async (hold, index) => {
        const side = sides[index] ?? ledger
        const range = { min_credits: 320n, max_credits: 320n, wait_ms: 6_000 }
        const { state } = await side.grow(hold, range)
        await side.settle(chargeOf(hold, state === 'grown' ? 320n : 40n))
        return state
      }),
    )
    await other.stop()
    assert.deepEqual(states.toSorted(), ['blocked', 'grown', 'grown', 'grown'])
    assert.ok(performance.now() - begun < 5_000)
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 0n,
      held: 0n,
      available: 0n,
      promotional: 0n,
    })
  })

  it('gives way to a call under the same spend limit, whatever else the wallet pays for', async () => {
    const wallet_id = await wallet(100_000n)
    const limit = {
      kind: 'key' as const,
      owner_id: mintId(),
      account_id: wallet_id,
      limit_credits: 600n,
      period: 'day' as const,
    }
    const running = await ledger.hold(holdOf(wallet_id, 500n))
    const holds: Hold[] = []
    for (let i = 0; i < 2; i++) {
      const request = { ...growing(wallet_id, 300n, 2_000n), spend_limits: [limit] }
      holds.push(await ledger.hold(request))
    }
    const begun = performance.now()
    const states = await Promise.all(
      holds.map(async (hold) => {
        const range = { min_credits: 450n, max_credits: 450n, wait_ms: 6_000 }
        const { state } = await ledger.grow(hold, range)
        await ledger.settle(chargeOf(hold, state === 'grown' ? 450n : 150n))
        return state
      }),
    )
    assert.deepEqual(states.toSorted(), ['blocked', 'grown'])
    assert.ok(performance.now() - begun < 5_000)
    await ledger.release(running)
  })

  it('waits on where another that waits has room to go on, or one that does not wait has some to give', async () => {
    const wallet_id = await wallet(1_000n)
    const first = await ledger.hold(growing(wallet_id, 300n, 2_000n))
    const second = await ledger.hold(growing(wallet_id, 300n, 2_000n))
    const running = await ledger.hold(holdOf(wallet_id, 400n))
    const range = { max_credits: 900n, wait_ms: 6_000 }
    const waits = ledger.grow(second, { ...range, min_credits: 850n })
    const small = ledger.grow(first, { ...range, min_credits: 350n })
    const isOver = await Promise.race([waits, small, sleep(700, 'no')])
    assert.equal(isOver, 'no')
    await ledger.settle(chargeOf(running, 10n))
    const grown = await small
    assert.equal(grown.state, 'grown')
    assert.equal(await Promise.race([waits, sleep(700, 'no')]), 'no')
    await ledger.settle(chargeOf(first, 10n))
    assert.equal((await waits).state, 'grown')
    await ledger.release(second)
  })

  it('does not come back after its call was settled', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(growing(wallet_id, 10n, 2_000n))
    await ledger.settle(chargeOf(hold, 20n))
    const range = { min_credits: 300n, max_credits: 2_000n, ...NOW }
    assert.deepEqual(await ledger.grow(hold, range), { state: 'refused' })
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 980n,
      held: 0n,
      available: 980n,
      promotional: 980n,
    })
  })

  it('counts against every spend limit, and grows no further than the narrowest leaves', async () => {
    const wallet_id = await wallet(10_000n)
    const account_id = wallet_id
    const limits = [400n, 1_000n].map((limit_credits) => ({
      kind: 'key' as const,
      owner_id: mintId(),
      account_id,
      limit_credits,
      period: 'day' as const,
    }))
    const request = { ...growing(wallet_id, 10n, 5_000n), spend_limits: limits }
    const hold = await ledger.hold(request)
    assert.deepEqual([hold.amount, hold.ceiling], [50n, 400n])
    const ask = (min_credits: bigint) =>
      ledger.grow(hold, { min_credits, max_credits: 5_000n, ...NOW })
    assert.deepEqual(await ask(401n), { state: 'refused' })
    const growth = await ask(400n)
    assert.ok(growth.state === 'grown')
    const spent = await readSpent(db, hold.spend ?? [])
    assert.deepEqual(
      spent.map(({ spent, held }) => [spent, held]),
      [
        [0n, 400n],
        [0n, 400n],
      ],
    )
    await ledger.settle(chargeOf(growth.hold, 390n))
    const after = await readSpent(db, hold.spend ?? [])
    assert.deepEqual(
      after.map(({ spent, held }) => [spent, held]),
      [
        [390n, 0n],
        [390n, 0n],
      ],
    )
  })

  it('of which many grow and end at once, on two processes, are never more than the wallet has', async () => {
    const wallet_id = await wallet(100_000n)
    const other = await makeLedger(url, { hold_wait_ms: 300 })
    let charged = 0n
    await inParallel(LONG ? 2_000 : 200, 24, async (index) => {
      const side = index % 2 === 0 ? ledger : other
      const wanted = BigInt(100 + ((index * 7_919) % 3_000))
      let hold = await side.hold(growing(wallet_id, 50n, 90_000n)).catch(() => undefined)
      if (!hold) return
      for (let used = 50n; used < wanted; used += 400n) {
        const range = { min_credits: used, max_credits: 90_000n, wait_ms: 50 }
        const growth = await side.grow(hold, range)
        if (growth.state === 'grown') hold = growth.hold
        const { balance, held } = (await readBalance(db, wallet_id)) ?? { balance: -1n, held: 0n }
        assert.ok(held >= 0n && held <= balance, `${held} of ${balance}`)
        if (growth.state !== 'grown') break
      }
      const used_credits = wanted < hold.amount ? wanted : hold.amount
      const settled = await side.settle(chargeOf(hold, used_credits))
      assert.deepEqual([settled.credits_used, settled.state], [used_credits, 'settled'])
      charged += used_credits
    })
    await other.stop()
    const balance = 100_000n - charged
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance,
      held: 0n,
      available: balance,
      promotional: balance,
    })
  })

  it('has grown once when the answer was lost on the way and the lane asked again', async () => {
    const { port, pathname, username, password } = new URL(url)
    const proxy = new Proxy(Number(port || 5432))
    const proxied = `postgres://${username}:${password}@127.0.0.1:${await proxy.listen()}${pathname}`
    const remote = await makeLedger(proxied)
    try {
      const wallet_id = await wallet(1_000n)
      const hold = await remote.hold(growing(wallet_id, 10n, 2_000n))
      proxy.loseNextAnswer()
      const growth = await remote.grow(hold, { min_credits: 300n, max_credits: 2_000n, ...NOW })
      assert.equal(proxy.cuts, 1)
      assert.deepEqual(growth, { state: 'grown', hold: { ...hold, amount: 300n } })
      assert.equal((await readBalance(db, wallet_id))?.held, 300n)
      await remote.settle(chargeOf(hold, 250n))
      assert.equal((await readBalance(db, wallet_id))?.available, 750n)
    } finally {
      await remote.stop()
      await proxy.close()
    }
  })
})

describe('after all of this', () => {
  it('the books agree', () => assertBooks(db))
})
