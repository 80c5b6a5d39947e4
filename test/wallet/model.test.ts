// Row 1: random histories against an independent model.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { ApiError } from '../../src/platform/errors.ts'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { bucketOf, mintWalletId } from '../../src/wallet/bucket.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import type { SettleItem } from '../../src/wallet/lanes/batch-statement.ts'
import { grantCredits, topUp, transferCredits } from '../../src/wallet/postings.ts'
import { limitedCounters, readSpent, type SpendLimit } from '../../src/wallet/spend-limits.ts'
import type { HoldRow, SettleRow } from '../../src/wallet/store.ts'
import { sweepHolds } from '../../src/wallet/sweeper.ts'
import { createDatabase, openDb } from '../support/database.ts'
import { fc } from '../support/same-cases.ts'
import { LIMITS, Model, type ModelAnswer } from './model.ts'
import {
  assertBooks,
  chargeOf,
  LONG,
  makeBatchWriter,
  makeNode,
  makeWallets,
  silent,
} from './support.ts'

const WALLETS = 10
const OPENING = 10_000n
const SEQUENCES = LONG ? 2_000 : 30
const OPERATIONS = LONG ? 200 : 60
const START_MS = Date.now()
const HIDDEN_NODE_ID = mintId()

const url = await createDatabase()
const db = openDb(url)
const metrics = createMetrics()
const lane = await makeBatchWriter(url)
const watcher = new Client({ connectionString: url })
// The database is dropped under it at the end.
watcher.on('error', () => {})
await watcher.connect()
// `COMPARE` asks for whole transactions after each operation; the service never does, and has no such index.
await watcher.query('create index on journal (tx)')
const dead_node_id = await makeNode(url)
after(async () => {
  await watcher.end()
  await lane.close()
  await db.close()
})

const wallet = fc.nat(WALLETS - 1)
/** None, one or several at once, in any order. */
const limits = fc.uniqueArray(fc.nat(LIMITS.length - 1), { maxLength: 3 })
const credits = fc.oneof(fc.bigInt(1n, 50n), fc.bigInt(1n, 4_000n), fc.bigInt(1n, 20_000n))
const holdItem = fc.record({
  wallet,
  limits,
  min: credits,
  extra: fc.bigInt(0n, 3_000n),
  again: fc.nat(9),
  grows: fc.boolean(),
})
/** Which known hold it speaks of, and what it does with it. */
const settleItem = fc.record({
  which: fc.nat(),
  used: fc.option(fc.bigInt(0n, 5_000n), { nil: undefined, freq: 3 }),
  markup: fc.bigInt(0n, 100n),
})
const operation = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      settles: fc.array(settleItem, { maxLength: 6 }),
      holds: fc.array(holdItem, { maxLength: 6 }),
      dead_node: fc.boolean().map((odd) => odd),
      lasts_ms: fc.nat(5_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('sweep' as const), wait_ms: fc.nat(3_000) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('transfer' as const),
      from: wallet,
      to: wallet,
      amount: credits,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom('grant' as const, 'topup' as const),
      wallet,
      amount: fc.oneof(credits, fc.constant(9_007_199_254_740_991n)),
    }),
  },
)
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

type Batch = Extract<Operation, { kind: 'batch' }>
type Known = { id: string; wallet: number; limits: readonly number[] }
type SettleAsk = Known & { used: bigint | undefined; cost: bigint }
type HoldAsk = Known & { min: bigint; max: bigint; grows: boolean }

/** One history: the ledger, the model, and the names they share. */
class History {
  readonly model = new Model(WALLETS, OPENING)
  readonly wallet_ids: string[]
  readonly owner_ids = LIMITS.map(() => mintId())
  readonly known: Known[] = []
  now_ms = START_MS

  constructor(wallet_ids: string[]) {
    this.wallet_ids = wallet_ids
  }

  walletId(index: number): string {
    const id = this.wallet_ids[index]
    assert.ok(id)
    return id
  }

  /** Of several owners, whose counters are in buckets of their own. */
  spendLimits(indexes: readonly number[]): SpendLimit[] {
    return indexes.map((index) => {
      const owner_id = this.owner_ids[index]
      const limit_credits = LIMITS[index]
      assert.ok(owner_id && limit_credits)
      const account_id = this.walletId(index)
      return { kind: 'key', owner_id, account_id, limit_credits, period: 'total' }
    })
  }

  async apply(operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'batch':
        return await this.batch(operation)
      case 'sweep':
        return await this.sweep(operation.wait_ms)
      case 'transfer':
        return await this.transfer(operation)
      case 'grant':
      case 'topup':
        return await this.give(operation)
    }
  }

  async batch(operation: Batch): Promise<void> {
    const settles = this.askToSettle(operation)
    const holds = this.askToHold(operation, new Set(settles.map(({ id }) => id)))
    if (settles.length + holds.length === 0) return
    const expires_ms = this.now_ms + operation.lasts_ms
    const answers = await lane.write(
      {
        settles: settles.map((ask) => this.settleItem(ask)),
        holds: holds.map((ask) => ({
          id: ask.id,
          wallet_id: this.walletId(ask.wallet),
          min_credits: ask.min,
          max_credits: ask.max,
          ...(ask.grows && { held_credits: this.model.holds.get(ask.id)?.amount ?? 0n }),
          spend_limits: this.spendLimits(ask.limits),
        })),
      },
      operation.dead_node ? dead_node_id : undefined,
    )
    this.inWalletOrder(settles, (ask, index) => this.checkSettled(ask, answers.settles[index]))
    const { dead_node } = operation
    this.inWalletOrder(holds, (ask, index) =>
      this.checkHeld(ask, answers.holds[index], { expires_ms, dead_node }),
    )
  }

  askToSettle({ settles }: Batch): SettleAsk[] {
    const asks = new Map<string, SettleAsk>()
    for (const item of settles) {
      const known = this.known[item.which % Math.max(1, this.known.length)]
      if (!known) continue
      // A repeated settle asks for the same amount: the caller's id stands for one call.
      const first = this.model.settled.get(known.id)
      const used = first ? (first.charged ?? 0n) + (first.shortfall ?? 0n) : item.used
      const cost = used === undefined || used < item.markup ? (used ?? 0n) : used - item.markup
      asks.set(known.id, { ...known, used, cost })
    }
    return [...asks.values()]
  }

  /** Nobody asks again for a hold that they settle in the same moment. */
  askToHold({ holds }: Batch, taken: Set<string>): HoldAsk[] {
    return holds.map((item) => {
      const old = item.again === 0 ? this.known.at(-1) : undefined
      const fresh = { wallet: item.wallet, limits: item.limits }
      const known =
        old && !taken.has(old.id) && this.model.holds.has(old.id)
          ? old
          : { ...fresh, id: mintWalletId(this.walletId(fresh.wallet), new Date(this.now_ms)) }
      taken.add(known.id)
      return { ...known, min: item.min, max: item.min + item.extra, grows: item.grows }
    })
  }

  settleItem(ask: SettleAsk): SettleItem {
    const spend = limitedCounters({ id: ask.id, spend_limits: this.spendLimits(ask.limits) })
    const hold: Hold = { id: ask.id, wallet_id: this.walletId(ask.wallet), amount: 0n, spend }
    if (ask.used === undefined) return { hold }
    return { hold, charge: chargeOf(hold, ask.used, ask.cost) }
  }

  checkSettled(ask: SettleAsk, row: SettleRow | undefined): void {
    const { used, ...rest } = ask
    const expected: ModelAnswer =
      used === undefined ? this.model.release(ask.id) : this.model.settle(ask.id, { ...rest, used })
    assert.ok(row)
    assert.equal(row.state, expected.state)
    if (expected.charged === undefined) return
    const { state, charged, shortfall, balance_before, balance_after } = row
    assert.deepEqual(
      { state, charged, shortfall, before: balance_before, after: balance_after },
      expected,
    )
  }

  checkHeld(
    ask: HoldAsk,
    row: HoldRow | undefined,
    how: { expires_ms: number; dead_node: boolean },
  ): void {
    const { id, ...rest } = ask
    const { refused_by, ...decided } = this.model.hold(id, { ...rest, ...how })
    assert.ok(row)
    const { state, granted, limit_owner_id } = row
    assert.deepEqual(
      { state, granted: granted ?? undefined, limit_owner_id },
      {
        granted: undefined,
        ...decided,
        limit_owner_id: refused_by === undefined ? null : this.owner_ids[refused_by],
      },
    )
    if (this.known.some((known) => known.id === id)) return
    this.known.push({ id, wallet: ask.wallet, limits: ask.limits })
  }

  async sweep(wait_ms: number): Promise<void> {
    this.now_ms += wait_ms
    // What the model calls expired or dead is so for the database, by its own clock and its own row.
    await watcher.query("update hold set expires_at = '-infinity' where id = any ($1)", [
      this.model.expired(this.now_ms),
    ])
    await watcher.query('update gateway_node set node_id = $2 where node_id = $1', [
      dead_node_id,
      HIDDEN_NODE_ID,
    ])
    const swept = await sweepHolds({ db, log: silent, metrics })
    await watcher.query('update gateway_node set node_id = $1 where node_id = $2', [
      dead_node_id,
      HIDDEN_NODE_ID,
    ])
    // Holds of earlier histories may go with it.
    assert.ok(swept >= this.model.sweep(this.now_ms))
  }

  async transfer(operation: Extract<Operation, { kind: 'transfer' }>): Promise<void> {
    const { from, to, amount } = operation
    const at = new Date(this.now_ms)
    const done = await accepted(
      db.transaction((tx) =>
        transferCredits(tx, {
          id: mintWalletId(this.walletId(from), at),
          receipt_id: mintWalletId(this.walletId(to), at),
          from_account_id: this.walletId(from),
          to_account_id: this.walletId(to),
          amount,
          promotional_credits: 'as_money',
        }),
      ),
    )
    assert.equal(done, this.model.transfer(from, to, amount))
  }

  async give(operation: {
    kind: 'grant' | 'topup'
    wallet: number
    amount: bigint
  }): Promise<void> {
    const account_id = this.walletId(operation.wallet)
    const gift = { id: mintWalletId(account_id, new Date(this.now_ms)), account_id }
    const rule = operation.kind === 'grant' ? grantCredits : topUp
    const done = await accepted(
      db.transaction((tx) => rule(tx, { ...gift, amount: operation.amount })),
    )
    assert.equal(done, this.model.move(operation.wallet, operation.amount))
  }

  /** A batch decides wallet by wallet in id order, and within a wallet in the order given. */
  inWalletOrder<Ask extends { wallet: number }>(
    asks: readonly Ask[],
    visit: (ask: Ask, index: number) => void,
  ): void {
    const place = (ask: Ask) => {
      const id = this.walletId(ask.wallet)
      return `${String(bucketOf(id)).padStart(2, '0')}${id}`
    }
    asks
      .map((ask, index) => ({ ask, index, place: place(ask) }))
      .sort((left, right) =>
        left.place === right.place ? left.index - right.index : left.place < right.place ? -1 : 1,
      )
      .forEach(({ ask, index }) => visit(ask, index))
  }

  async compare(): Promise<void> {
    const { rows } = await watcher.query({
      name: 'compare',
      text: COMPARE,
      values: [this.wallet_ids],
    })
    assert.deepEqual(
      rows.map((row) => ({ ...row, place: undefined })),
      this.model.wallets.map((expected) => ({
        place: undefined,
        posted: String(expected.posted),
        held: String(expected.held),
        seq: String(expected.postings),
        lines: String(expected.posted),
        holds: String(expected.held),
        broken: '0',
      })),
    )
    const spend_limits = this.spendLimits(LIMITS.map((_, index) => index))
    const counters = await readSpent(db, limitedCounters({ id: mintId(), spend_limits }))
    assert.deepEqual(
      counters.map(({ spent, held }) => ({ spent, held })),
      this.model.counters.map(({ spent, held }) => ({ spent, held })),
    )
  }
}

/** Everything row 1 asks to be re-checked after each operation, for the wallets of one history. */
const COMPARE = `
  select u.place, w.posted::text, w.held::text, w.seq::text,
    (select coalesce(sum(amount), 0)::text from journal j
     where j.bucket = w.bucket and j.owner = w.id and j.wallet_seq is not null) as lines,
    (select coalesce(sum(amount), 0)::text from hold h
     where h.bucket = w.bucket and h.wallet_id = w.id) as holds,
    (select count(*)::text from (
       select 1 from journal j
       where (j.bucket, j.tx) in (
         select l.bucket, l.tx from journal l
         where l.bucket = w.bucket and l.owner = w.id and l.wallet_seq is not null)
       group by j.bucket, j.tx having sum(amount) <> 0) b) as broken
  from unnest($1::uuid[]) with ordinality as u (id, place)
  join wallet w on w.bucket = wallet_bucket(u.id) and w.id = u.id
  order by u.place`

async function accepted(work: Promise<unknown>): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    if (error instanceof ApiError && ['insufficient_credits', 'bad_request'].includes(error.code)) {
      return false
    }
    throw error
  }
}

describe('the ledger and an independent model', () => {
  it(`agree after every operation of ${SEQUENCES} random histories`, async () => {
    let operations = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(operation, { minLength: 1, maxLength: OPERATIONS, size: 'max' }),
        async (history) => {
          const made = new History(await makeWallets(db, WALLETS, OPENING))
          for (const step of history) {
            await made.apply(step)
            await made.compare()
            operations++
          }
        },
      ),
      { numRuns: SEQUENCES, endOnFailure: false },
    )
    console.log(`${SEQUENCES} histories, ${operations} operations, 0 differences`)
    await assertBooks(db)
  })
})
