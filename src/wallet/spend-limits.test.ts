import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import {
  assertBooks,
  chargeOf,
  expireHolds,
  holdOf,
  makeLedger,
  makeWallets,
  silent,
} from '../../test/wallet/support.ts'
import { ApiError } from '../platform/errors.ts'
import { createMetrics } from '../platform/metrics.ts'
import { mintId } from '../platform/tokens.ts'
import { mintWalletId } from './bucket.ts'
import type { Hold } from './holds.ts'
import {
  limitReached,
  openSpendCounter,
  readSpent,
  type SpendLimit,
  type SpendPeriod,
  spendCounter,
  spendPeriod,
} from './spend-limits.ts'
import { sweepHolds } from './sweeper.ts'

const url = await createDatabase()
const db = openDb(url)
const ledger = await makeLedger(url, { hold_wait_ms: 300 })
/** Waits until a limit decides, however busy the machine is. */
const patient = await makeLedger(url, { hold_wait_ms: 60_000 })
after(async () => {
  await ledger.stop()
  await patient.stop()
  await db.close()
})

async function wallet(credits: bigint): Promise<string> {
  const [wallet_id] = await makeWallets(db, 1, credits)
  assert.ok(wallet_id)
  return wallet_id
}

function keyLimit(account_id: string, limit_credits: bigint, period: SpendPeriod): SpendLimit {
  return { kind: 'key', owner_id: mintId(), account_id, limit_credits, period }
}

function appCap(account_id: string, limit_credits: bigint): SpendLimit {
  return { kind: 'app', owner_id: mintId(), account_id, limit_credits, period: 'month' }
}

async function counted(limit: SpendLimit): Promise<{ spent: bigint; held: bigint }> {
  const [counter] = await readSpent(db, [spendCounter(limit, new Date())])
  assert.ok(counter)
  return { spent: counter.spent, held: counter.held }
}

/** Charges what was used through an app. */
async function settleThrough(client_id: string, hold: Hold, used: bigint) {
  const charge = chargeOf(hold, used)
  return await ledger.settle({ ...charge, usage: { ...charge.usage, client_id } })
}

/** Calls of 30 credits that use 25, all at once; answers how many were served. */
async function serve(calls: number, wallets: readonly string[], spend_limits: SpendLimit[]) {
  let served = 0
  await Promise.all(
    Array.from({ length: calls }, async (_, index) => {
      const wallet_id = wallets[index % wallets.length]
      assert.ok(wallet_id)
      try {
        const hold = await patient.hold({ ...holdOf(wallet_id, 30n), spend_limits })
        await patient.settle(chargeOf(hold, 25n))
        served++
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'insufficient_credits')
      }
    }),
  )
  return served
}

describe("a key's spend limit", () => {
  it('is exact with 200 callers at once, also over several wallets', async () => {
    const owner = await wallet(0n)
    const wallets = [await wallet(100_000n), await wallet(100_000n), await wallet(100_000n)]
    const limit = keyLimit(owner, 1_000n, 'day')
    const served = await serve(200, wallets, [limit])
    assert.deepEqual(await counted(limit), { spent: BigInt(served) * 25n, held: 0n })
    assert.equal(served, 39, '38 calls leave 50 free, the 39th holds 30 of it, a 40th does not fit')
  })

  it('lowers a hold to what is left, and says so when nothing is', async () => {
    const wallet_id = await wallet(1_000n)
    const spend_limits = [keyLimit(wallet_id, 100n, 'total')]
    const range = { wallet_id, min_credits: 10n, max_credits: 500n, spend_limits }
    const hold = await ledger.hold({ ...range, id: mintWalletId(wallet_id, new Date()) })
    assert.equal(hold.amount, 100n)
    await ledger.settle(chargeOf(hold, 95n))
    await assert.rejects(ledger.hold({ ...range, id: mintWalletId(wallet_id, new Date()) }), {
      code: 'insufficient_credits',
      message: "The key's spend limit is reached.",
    })
  })

  it('frees what a released or swept hold held', async () => {
    const wallet_id = await wallet(1_000n)
    const spend_limits = [keyLimit(wallet_id, 100n, 'month')]
    const hold = await ledger.hold({ ...holdOf(wallet_id, 100n), spend_limits })
    await ledger.release(hold)
    const next = await ledger.hold({ ...holdOf(wallet_id, 100n), spend_limits })
    await expireHolds(url)
    await sweepHolds({ db, log: silent, metrics: createMetrics() })
    const late = await ledger.settle(chargeOf(next, 60n))
    assert.equal(late.state, 'late')
    await assert.rejects(ledger.hold({ ...holdOf(wallet_id, 41n), spend_limits }), /limit/)
    const last = await ledger.hold({ ...holdOf(wallet_id, 40n), spend_limits })
    assert.equal((await ledger.settle(chargeOf(last, 40n))).credits_used, 40n)
  })

  it('counts days and months in UTC', () => {
    const at = new Date('2026-03-31T23:59:59.999Z')
    assert.equal(spendPeriod('day', at), '2026-03-31')
    assert.equal(spendPeriod('month', at), '2026-03-01')
    assert.equal(spendPeriod('total', at), '1970-01-01')
  })
})

describe('several spend limits', () => {
  it('bind a call together: the least that is left is held, and all of them count it', async () => {
    const developer = await wallet(0n)
    const user = await wallet(1_000n)
    const key = keyLimit(developer, 300n, 'day')
    const cap = appCap(user, 200n)
    const range = { wallet_id: user, min_credits: 10n, max_credits: 500n, spend_limits: [key, cap] }
    const hold = await ledger.hold({ ...range, id: mintWalletId(user, new Date()) })
    assert.equal(hold.amount, 200n)
    assert.deepEqual(await counted(key), { spent: 0n, held: 200n })
    assert.deepEqual(await counted(cap), { spent: 0n, held: 200n })
    await ledger.settle(chargeOf(hold, 150n))
    assert.deepEqual(await counted(key), { spent: 150n, held: 0n })
    assert.deepEqual(await counted(cap), { spent: 150n, held: 0n })
  })

  it('are exact with 200 callers at once, whichever is the narrower', async () => {
    const developer = await wallet(0n)
    const users = [await wallet(100_000n), await wallet(100_000n)]
    const [user] = users
    assert.ok(user)
    for (const [key_credits, cap_credits] of [
      [1_000n, 700n],
      [700n, 1_000n],
    ] as const) {
      const key = keyLimit(developer, key_credits, 'day')
      const cap = appCap(user, cap_credits)
      const served = await serve(200, users, [key, cap])
      assert.equal(served, 27, '26 calls leave 50 of 700, the 27th holds 30 of it')
      assert.deepEqual(await counted(key), { spent: 675n, held: 0n })
      assert.deepEqual(await counted(cap), { spent: 675n, held: 0n })
    }
  })

  it('hold when only some of the calls of a batch have them', async () => {
    const developer = await wallet(0n)
    const user = await wallet(1_000_000n)
    const key = keyLimit(developer, 1_000n, 'total')
    const cap = appCap(user, 400n)
    const kinds = [[], [key], [cap], [key, cap], [cap, key]]
    const served = await Promise.all(
      kinds.flatMap((limits) =>
        Array.from({ length: 40 }, async () => ({ limits, count: await serve(1, [user], limits) })),
      ),
    )
    const countOf = (limit?: SpendLimit) =>
      served
        .filter(({ limits }) => (limit ? limits.includes(limit) : limits.length === 0))
        .reduce((sum, { count }) => sum + count, 0)
    assert.equal(countOf(), 40)
    assert.deepEqual(await counted(key), { spent: BigInt(countOf(key)) * 25n, held: 0n })
    assert.deepEqual(await counted(cap), { spent: BigInt(countOf(cap)) * 25n, held: 0n })
    assert.ok((await counted(key)).spent <= 1_000n)
    assert.ok((await counted(cap)).spent <= 400n)
  })

  it('say which of them refused: the first, in the order given', async () => {
    const user = await wallet(1_000n)
    const key = keyLimit(user, 50n, 'day')
    const cap = appCap(user, 40n)
    const refusal = async (credits: bigint, spend_limits: SpendLimit[]) => {
      try {
        await ledger.hold({ ...holdOf(user, credits), spend_limits })
        return 'granted'
      } catch (error) {
        assert.ok(error instanceof ApiError && error.code === 'insufficient_credits')
        return error.message
      }
    }
    const by_key = "The key's spend limit is reached."
    const by_cap = "The user's monthly spending cap for this app is used up."
    assert.equal(await refusal(45n, [key, cap]), by_cap)
    assert.equal(await refusal(55n, [key, cap]), by_key)
    assert.equal(await refusal(55n, [cap, key]), by_cap)
    assert.equal(await refusal(2_000n, [cap, key]), 'The wallet cannot cover this request.')
  })

  it('charge a late settle no more than the narrowest leaves, and take back a swept hold on all', async () => {
    const user = await wallet(1_000n)
    const key = keyLimit(user, 100n, 'total')
    const cap = appCap(user, 80n)
    const hold = await ledger.hold({ ...holdOf(user, 80n), spend_limits: [key, cap] })
    await expireHolds(url)
    await sweepHolds({ db, log: silent, metrics: createMetrics() })
    assert.deepEqual(await counted(key), { spent: 0n, held: 0n })
    assert.deepEqual(await counted(cap), { spent: 0n, held: 0n })
    const other = await ledger.hold({ ...holdOf(user, 30n), spend_limits: [cap] })
    const late = await ledger.settle(chargeOf(hold, 80n))
    assert.equal(late.credits_used, 50n)
    assert.equal(late.shortfall_credits, 30n)
    await ledger.release(other)
    assert.deepEqual(await counted(key), { spent: 50n, held: 0n })
    assert.deepEqual(await counted(cap), { spent: 50n, held: 0n })
  })

  it('of one owner twice, of no credits or without end never reach the database', async () => {
    const user = await wallet(100n)
    const cap = appCap(user, 80n)
    for (const spend_limits of [
      [cap, cap],
      [{ ...cap, limit_credits: 0n }],
      Array.from({ length: 9 }, () => appCap(user, 80n)),
    ]) {
      await assert.rejects(ledger.hold({ ...holdOf(user, 1n), spend_limits }), {
        code: 'pricing_error',
      })
    }
  })

  it('are those of the hold: a settle under others is refused and changes nothing', async () => {
    const user = await wallet(100n)
    const cap = appCap(user, 80n)
    const hold = await ledger.hold({ ...holdOf(user, 10n), spend_limits: [cap] })
    const { spend: _, ...bare } = hold
    await assert.rejects(ledger.settle(chargeOf(bare, 5n)))
    const other = { ...hold, spend: hold.spend?.map((at) => ({ ...at, owner_id: mintId() })) ?? [] }
    await assert.rejects(ledger.settle(chargeOf(other, 5n)))
    assert.deepEqual(await counted(cap), { spent: 0n, held: 10n })
    await ledger.settle(chargeOf(hold, 5n))
    assert.deepEqual(await counted(cap), { spent: 5n, held: 0n })
  })
})

describe("the refusal by a key's limit", () => {
  const at = new Date('2026-11-16T23:59:00.000Z')
  const refusal = (period: 'day' | 'month' | 'total') =>
    limitReached(keyLimit(mintId(), 2_000_000n, period), at)

  it('says how much the limit is, when it resets, and how long that is', () => {
    const { hint, headers } = refusal('day')
    assert.match(
      hint ?? '',
      /^The limit of 2,000,000 credits \(\$2\.00\) a day resets on 2026-11-17/,
    )
    assert.deepEqual(headers, { 'retry-after': '60' })
    assert.match(refusal('month').hint ?? '', /a month resets on 2026-12-01 \(UTC\)/)
  })

  it('says that a limit in total does not reset', () => {
    const { hint, headers } = refusal('total')
    assert.match(hint ?? '', /in total never resets/)
    assert.deepEqual(headers, {})
  })
})

describe("the refusal by an app's cap", () => {
  it('names the cap in credits and dollars, when it resets, and where it is raised', () => {
    const cap = appCap(mintId(), 12_345_600n)
    const { code, message, hint } = limitReached(cap, new Date('2026-12-31T23:59:59.999Z'))
    assert.equal(code, 'insufficient_credits')
    assert.equal(message, "The user's monthly spending cap for this app is used up.")
    assert.equal(
      hint,
      'The cap of 12,345,600 credits ($12.3456) a month resets on 2027-01-01 (UTC). The user can raise it at /oauth/connections.',
    )
  })
})

describe('a cap that is set in the middle of a month', () => {
  const open = (cap: SpendLimit, client_id = 'app') =>
    db.transaction((tx) =>
      openSpendCounter(tx, {
        owner_id: cap.owner_id,
        account_id: cap.account_id,
        client_id,
        period: 'month',
        at: new Date(),
      }),
    )

  it('starts from what was spent through the app this month', async () => {
    const user = await wallet(1_000n)
    const cap = appCap(user, 100n)
    await settleThrough('app', await ledger.hold(holdOf(user, 50n)), 40n)
    await settleThrough('another', await ledger.hold(holdOf(user, 50n)), 30n)
    assert.equal(await open(cap), 40n)
    assert.deepEqual(await counted(cap), { spent: 40n, held: 0n })
    const spend_limits = [cap]
    const hold = await ledger.hold({ ...holdOf(user, 60n), spend_limits })
    await settleThrough('app', hold, 60n)
    await assert.rejects(ledger.hold({ ...holdOf(user, 1n), spend_limits }), /cap/)
    assert.equal(await open(cap), 100n, 'nothing is counted twice')
  })

  it('is brought up to calls that ran while there was none, and leaves what is held', async () => {
    const user = await wallet(1_000n)
    const cap = appCap(user, 500n)
    await open(cap)
    const spend_limits = [cap]
    await settleThrough('app', await ledger.hold({ ...holdOf(user, 50n), spend_limits }), 20n)
    const running = await ledger.hold({ ...holdOf(user, 50n), spend_limits })
    await settleThrough('app', await ledger.hold(holdOf(user, 50n)), 30n)
    assert.deepEqual(await counted(cap), { spent: 20n, held: 50n })
    assert.equal(await open(cap), 50n)
    assert.deepEqual(await counted(cap), { spent: 50n, held: 50n })
    await settleThrough('app', running, 5n)
    assert.deepEqual(await counted(cap), { spent: 55n, held: 0n })
  })

  it('waits for settles under way, and counts them', async () => {
    const user = await wallet(1_000n)
    const cap = appCap(user, 500n)
    const holds = await Promise.all(
      Array.from({ length: 20 }, () => ledger.hold(holdOf(user, 10n))),
    )
    const blocker = new Client({ connectionString: url })
    await blocker.connect()
    await blocker.query('begin')
    await blocker.query('select 1 from wallet where id = $1 for no key update', [user])
    const settling = holds.map((hold) => settleThrough('app', hold, 10n))
    const lockWaits = async () =>
      (
        await sql(
          url,
          `select 1 from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length
    await eventually('the settle waits', async () => (await lockWaits()) === 1)
    const opening = open(cap)
    await eventually('both wait', async () => (await lockWaits()) === 2)
    await blocker.query('commit')
    await blocker.end()
    const spent = await opening
    await Promise.all(settling)
    // Whatever came first is counted; the rest was settled without the cap, and the next time finds it.
    assert.ok(spent > 0n, 'the settle that came first was not seen')
    assert.equal(await open(cap), 200n)
  })

  it('of an account without a wallet is refused', async () => {
    await assert.rejects(open(appCap(mintId(), 5n)), { code: 'user_not_found' })
  })
})

describe('after all of this', () => {
  it('the books agree', () => assertBooks(db))
})
