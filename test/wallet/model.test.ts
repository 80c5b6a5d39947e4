// Rows 1 and 2: random histories against an independent model, and refusals that leave no trace.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import * as fc from 'fast-check'
import { Client } from 'pg'
import { ApiError } from '../../src/platform/errors.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { ALL_BUCKETS, bucketOf, mintWalletId } from '../../src/wallet/bucket.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import { LaneConnection } from '../../src/wallet/lane-connection.ts'
import { grantCredits, topUp, transferCredits } from '../../src/wallet/ledger.ts'
import { sendHolds, sendSettles } from '../../src/wallet/send.ts'
import { type LimitedCounter, readSpent } from '../../src/wallet/spend.ts'
import { SWEEP_HOLDS } from '../../src/wallet/store.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { LIMITS, Model, type ModelAnswer } from './model.ts'
import { assertBooks, chargeOf, LONG, makeWallets } from './support.ts'

const WALLETS = 10
const OPENING = 10_000n
const SEQUENCES = LONG ? 2_000 : 60
const OPERATIONS = LONG ? 200 : 60
const REFUSALS = LONG ? 1_000 : 250
const START_MS = Date.now()
const NODE = { node_id: 'live', epoch: 1n }
const DEAD_NODE = { node_id: 'dead', epoch: 1n }

const url = await createDatabase()
const db = openDb(url)
const lane = new LaneConnection({
  url,
  application_name: 'model',
  synchronous_commit: false,
  deadline_ms: 10_000,
})
const watcher = new Client({ connectionString: url })
// The database is dropped under it at the end.
watcher.on('error', () => {})
await watcher.connect()
await sql(url, "insert into gateway_node values ('live', 1, 'infinity')")
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
})
/** Which known hold it speaks of, and what it does with it. */
const settleItem = fc.record({
  which: fc.nat(),
  used: fc.option(fc.bigInt(0n, 5_000n), { nil: undefined, freq: 3 }),
  markup: fc.bigInt(0n, 100n),
})
const operation = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('hold' as const),
      items: fc.array(holdItem, { minLength: 1, maxLength: 6 }),
      dead_node: fc.boolean().map((odd) => odd),
      lasts_ms: fc.nat(5_000),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      items: fc.array(settleItem, { minLength: 1, maxLength: 6 }),
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

type Known = { id: string; wallet: number; limits: readonly number[] }

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

  /** Counters of several owners, in buckets of their own. */
  spend(indexes: readonly number[]): LimitedCounter[] {
    return indexes.map((index) => {
      const owner_id = this.owner_ids[index]
      const limit = LIMITS[index]
      assert.ok(owner_id && limit)
      return { bucket: bucketOf(this.walletId(index)), owner_id, period: '1970-01-01', limit }
    })
  }

  async apply(operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'hold':
        return await this.hold(operation)
      case 'settle':
        return await this.settle(operation)
      case 'sweep':
        return await this.sweep(operation.wait_ms)
      case 'transfer':
        return await this.transfer(operation)
      case 'grant':
      case 'topup':
        return await this.give(operation)
    }
  }

  async hold(operation: Extract<Operation, { kind: 'hold' }>): Promise<void> {
    const expires_ms = this.now_ms + operation.lasts_ms
    const used = new Set<string>()
    const asks = operation.items.map((item) => {
      const old = item.again === 0 ? this.known.at(-1) : undefined
      const fresh = { wallet: item.wallet, limits: item.limits }
      const known =
        old && !used.has(old.id) && this.model.holds.has(old.id)
          ? old
          : { ...fresh, id: mintWalletId(this.walletId(fresh.wallet), new Date(this.now_ms)) }
      used.add(known.id)
      return { ...known, min: item.min, max: item.min + item.extra }
    })
    const rows = await sendHolds(
      lane,
      asks.map((ask) => ({
        id: ask.id,
        wallet_id: this.walletId(ask.wallet),
        min_credits: ask.min,
        max_credits: ask.max,
      })),
      {
        node: operation.dead_node ? DEAD_NODE : NODE,
        now: new Date(this.now_ms),
        expires_at: new Date(expires_ms),
        spends: asks.map((ask) => this.spend(ask.limits)),
      },
    )
    this.inWalletOrder(asks, (ask, index) => {
      const { id, ...rest } = ask
      const expected = this.model.hold(id, { ...rest, expires_ms, dead_node: operation.dead_node })
      const { state, granted, limit_owner_id } = rows[index] ?? {}
      const { refused_by, ...decided } = expected
      assert.deepEqual(
        { state, granted: granted ?? undefined, limit_owner_id },
        {
          granted: undefined,
          ...decided,
          limit_owner_id: refused_by === undefined ? null : this.owner_ids[refused_by],
        },
      )
      if (!this.known.some((known) => known.id === id)) {
        this.known.push({ id, wallet: ask.wallet, limits: ask.limits })
      }
    })
  }

  async settle(operation: Extract<Operation, { kind: 'settle' }>): Promise<void> {
    const asks = new Map<string, Known & { used: bigint | undefined; cost: bigint }>()
    for (const item of operation.items) {
      const known = this.known[item.which % Math.max(1, this.known.length)]
      if (!known) continue
      // A repeated settle asks for the same amount: the caller's id stands for one call.
      const first = this.model.settled.get(known.id)
      const used = first ? (first.charged ?? 0n) + (first.shortfall ?? 0n) : item.used
      const cost = used === undefined || used < item.markup ? (used ?? 0n) : used - item.markup
      asks.set(known.id, { ...known, used, cost })
    }
    const list = [...asks.values()]
    if (list.length === 0) return
    const rows = await sendSettles(
      lane,
      list.map((ask) => {
        const spend = this.spend(ask.limits)
        const wallet_id = this.walletId(ask.wallet)
        const hold: Hold = { id: ask.id, wallet_id, amount: 0n, spend }
        return ask.used === undefined
          ? { hold }
          : { hold, charge: chargeOf(hold, ask.used, ask.cost) }
      }),
    )
    this.inWalletOrder(list, (ask, index) => {
      const { used, ...rest } = ask
      const expected: ModelAnswer =
        used === undefined
          ? this.model.release(ask.id)
          : this.model.settle(ask.id, { ...rest, used })
      const row = rows[index]
      assert.ok(row)
      assert.equal(row.state, expected.state)
      if (expected.charged === undefined) return
      const { charged, shortfall, balance_before, balance_after } = row
      assert.deepEqual(
        { state: row.state, charged, shortfall, before: balance_before, after: balance_after },
        expected,
      )
    })
  }

  async sweep(wait_ms: number): Promise<void> {
    this.now_ms += wait_ms
    const rows = await db.run(SWEEP_HOLDS, [ALL_BUCKETS, new Date(this.now_ms), 1_000_000])
    const swept = rows.reduce((sum, row) => sum + Number(row.holds), 0)
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
    const counters = await readSpent(db, this.spend(LIMITS.map((_, index) => index)))
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

describe('a refusal', () => {
  it(`leaves every row as it was, ${REFUSALS} times`, async () => {
    const history = new History(await makeWallets(db, WALLETS, 100n))
    const held = { min: 60n }
    await watcher.query(
      `delete from hold; update wallet set held = 0; update spend_counter set held = 0`,
    )
    await sendHolds(
      lane,
      [0, 1].map((index) => ({
        id: mintWalletId(history.walletId(index), new Date()),
        wallet_id: history.walletId(index),
        min_credits: held.min,
        max_credits: held.min,
      })),
      {
        node: NODE,
        now: new Date(),
        expires_at: new Date(Date.now() + 1e6),
        spends: [history.spend([0, 1]), []],
      },
    )
    const digest = async () => (await watcher.query({ name: 'digest', text: DIGEST })).rows[0]
    const before = await digest()
    for (let round = 0; round < REFUSALS; round++) {
      await refuse(history, round)
      assert.deepEqual(await digest(), before)
    }
  })
})

const DIGEST = `
  select
    (select md5(string_agg(t::text, ';' order by t.id)) from wallet t where posted < 1000) as wallets,
    (select md5(string_agg(t::text, ';' order by t.id)) from hold t) as holds,
    (select md5(string_agg(t::text, ';' order by t.owner_id)) from spend_counter t where spent = 0) as counters,
    (select count(*)::text from journal) as lines,
    (select count(*)::text from usage_event) as usage,
    (select count(*)::text from outbox) as outbox`

async function refuse(history: History, round: number): Promise<void> {
  const at = new Date()
  const wallet_id = history.walletId(round % WALLETS)
  const other_id = history.walletId((round + 1) % WALLETS)
  switch (round % 4) {
    case 0: {
      const ask = {
        id: mintWalletId(wallet_id, at),
        wallet_id,
        min_credits: 101n,
        max_credits: 500n,
      }
      const [row] = await sendHolds(lane, [ask], {
        node: NODE,
        now: at,
        expires_at: at,
        spends: [[]],
      })
      assert.equal(row?.state, 'insufficient')
      return
    }
    case 1: {
      const payer = history.walletId(0)
      const ask = {
        id: mintWalletId(payer, at),
        wallet_id: payer,
        min_credits: 41n,
        max_credits: 50n,
      }
      const [row] = await sendHolds(lane, [ask], {
        node: NODE,
        now: at,
        expires_at: at,
        spends: [history.spend([0, 1])],
      })
      assert.equal(row?.state, 'blocked')
      return
    }
    case 2: {
      const transfer = {
        id: mintWalletId(wallet_id, at),
        receipt_id: mintWalletId(other_id, at),
        from_account_id: wallet_id,
        to_account_id: other_id,
        amount: 101n,
      }
      await assert.rejects(
        db.transaction((tx) => transferCredits(tx, transfer)),
        { code: 'insufficient_credits' },
      )
      return
    }
    default: {
      const hold = { id: mintWalletId(wallet_id, at), wallet_id, amount: 1n }
      const [row] = await sendSettles(lane, [{ hold }])
      assert.equal(row?.state, 'gone')
    }
  }
}
