// Promotional credits in random histories, against a model that knows nothing of the SQL; and in races.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { ApiError } from '../../src/platform/errors.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import {
  grantCredits,
  grantVerifiedCredits,
  readBalance,
  topUp,
  transferCredits,
} from '../../src/wallet/postings.ts'
import type { PromotionalCredits } from '../../src/wallet/promotional.ts'
import {
  freezeDisputed,
  releaseDisputed,
  takeDisputed,
  takeRefund,
  undoDisputeLost,
  undoRefund,
} from '../../src/wallet/reversals.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { fc } from '../support/same-cases.ts'
import {
  assertBooks,
  chargeOf,
  holdOf,
  inParallel,
  LONG,
  makeBatchWriter,
  makeLedger,
  makeWallets,
} from '../wallet/support.ts'
import { PotsModel } from './promotional-model.ts'

const WALLETS = 3
const HISTORIES = LONG ? 1_000 : 25
const STEPS = LONG ? 80 : 30
const RACES = LONG ? 50 : 5

const url = await createDatabase()
const db = openDb(url)
const other_db = openDb(url)
const writers = {
  spend_only: await makeBatchWriter(url, 'spend_only'),
  as_money: await makeBatchWriter(url, 'as_money'),
}
after(async () => {
  await Promise.all([writers.spend_only.close(), writers.as_money.close()])
  await Promise.all([db.close(), other_db.close()])
})

const wallet = fc.nat(WALLETS - 1)
const amount = fc.oneof(fc.bigInt(1n, 30n), fc.bigInt(1n, 1_500n))
const step = fc.oneof(
  fc.record({
    kind: fc.constantFrom('grant' as const, 'paid_grant' as const, 'topup' as const),
    wallet,
    amount,
  }),
  fc.record({ kind: fc.constant('verify' as const), wallet, amount }),
  fc.record({ kind: fc.constant('transfer' as const), wallet, to: wallet, amount }),
  fc.record({ kind: fc.constant('call' as const), wallet, amount, markup: amount }),
  fc.record({ kind: fc.constant('hold' as const), wallet, amount }),
  fc.record({ kind: fc.constant('release' as const), wallet }),
  fc.record({ kind: fc.constant('refund' as const), wallet, amount, fails: fc.boolean() }),
  fc.record({
    kind: fc.constant('dispute' as const),
    wallet,
    amount,
    /** What comes in between: a present, which must not become paid credits. */
    gift: amount,
    end: fc.constantFrom('won' as const, 'lost' as const, 'reinstated' as const),
  }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never
type StepOf<Kind extends Step['kind']> = Extract<Step, { kind: Kind }>

class History {
  readonly mode: PromotionalCredits
  readonly model: PotsModel
  readonly wallet_ids: string[]
  readonly verified = new Set<number>()
  readonly holds: { wallet: number; hold: Hold }[] = []

  constructor(mode: PromotionalCredits, wallet_ids: string[], welcome: bigint) {
    this.mode = mode
    this.wallet_ids = wallet_ids
    this.model = new PotsModel(mode, WALLETS)
    for (let index = 0; index < WALLETS; index++) this.model.give(index, welcome, 'free')
  }

  id(index: number): string {
    const id = this.wallet_ids[index]
    assert.ok(id)
    return id
  }

  async apply(step: Step): Promise<void> {
    switch (step.kind) {
      case 'grant':
      case 'paid_grant':
      case 'topup':
        return await this.give(step)
      case 'verify':
        return await this.verify(step)
      case 'transfer':
        return await this.transfer(step)
      case 'call':
        return await this.call(step)
      case 'hold':
        return await this.hold(step)
      case 'release':
        return await this.release(step)
      case 'refund':
        return await this.refund(step)
      case 'dispute':
        return await this.dispute(step)
    }
  }

  async give({ kind, wallet, amount }: StepOf<'grant' | 'paid_grant' | 'topup'>): Promise<void> {
    const account_id = this.id(wallet)
    const given = { id: mintWalletId(account_id, new Date()), account_id, amount }
    await db.transaction((tx) =>
      kind === 'topup'
        ? topUp(tx, given)
        : grantCredits(tx, { ...given, is_paid: kind === 'paid_grant' }),
    )
    this.model.give(wallet, amount, kind === 'grant' ? 'free' : 'paid')
  }

  async verify({ wallet, amount }: StepOf<'verify'>): Promise<void> {
    const account_id = this.id(wallet)
    await db.transaction((tx) => grantVerifiedCredits(tx, { account_id, amount, at: new Date() }))
    if (!this.verified.has(wallet)) this.model.give(wallet, amount, 'free')
    this.verified.add(wallet)
  }

  async transfer({ wallet, to, amount }: StepOf<'transfer'>): Promise<void> {
    const done = await transfer({ from: this.id(wallet), to: this.id(to), amount, mode: this.mode })
    assert.equal(done, this.model.transfer(wallet, to, amount))
  }

  async call({ wallet, amount: cost, markup }: StepOf<'call'>): Promise<void> {
    if (this.model.available(wallet) === 0n) return
    const request = { ...holdOf(this.id(wallet), 1n), max_credits: cost + markup }
    const { holds } = await writers[this.mode].write({ holds: [request] })
    const hold = { id: request.id, wallet_id: request.wallet_id, amount: holds[0]?.granted ?? 0n }
    assert.ok(hold.amount > 0n)
    const settle = { hold, charge: chargeOf(hold, cost + markup, cost) }
    const [settled] = (await writers[this.mode].write({ settles: [settle] })).settles
    const charged = this.model.call(wallet, { cost, markup })
    assert.equal(settled?.charged, charged)
    // Asked again, as after a lost answer: the same numbers, and nothing more.
    const [again] = (await writers[this.mode].write({ settles: [settle] })).settles
    assert.equal(again?.charged, charged)
  }

  async hold({ wallet, amount }: StepOf<'hold'>): Promise<void> {
    if (this.model.available(wallet) < amount) return
    const request = holdOf(this.id(wallet), amount)
    await writers[this.mode].write({ holds: [request] })
    const { id, wallet_id } = request
    this.holds.push({ wallet, hold: { id, wallet_id, amount } })
    this.model.wallet(wallet).held += amount
  }

  async release({ wallet }: StepOf<'release'>): Promise<void> {
    const place = this.holds.findIndex((open) => open.wallet === wallet)
    const [open] = place === -1 ? [] : this.holds.splice(place, 1)
    if (!open) return
    await writers[this.mode].write({ settles: [{ hold: open.hold }] })
    this.model.wallet(wallet).held -= open.hold.amount
  }

  async refund({ wallet, amount, fails }: StepOf<'refund'>): Promise<void> {
    const reversal = this.reversal(wallet, amount)
    const taken = await db.transaction((tx) => takeRefund(tx, reversal))
    const free = this.take(wallet, amount, taken.taken)
    assert.equal(taken.promotional, free)
    if (!fails) return
    await db.transaction((tx) => undoRefund(tx, { ...reversal, ...taken }))
    this.giveBack(wallet, { taken: taken.taken, free })
  }

  async dispute({ wallet, amount, gift, end }: StepOf<'dispute'>): Promise<void> {
    const reversal = this.reversal(wallet, amount)
    const kept = await db.transaction((tx) => freezeDisputed(tx, reversal))
    const free = this.take(wallet, amount, kept.frozen)
    assert.equal(kept.promotional, free)
    await this.give({ kind: 'grant', wallet, amount: gift })
    if (end === 'won') {
      const { promotional, frozen } = kept
      await db.transaction((tx) =>
        releaseDisputed(tx, { ...reversal, promotional, amount: frozen }),
      )
      return this.giveBack(wallet, { taken: frozen, free })
    }
    const lost = await db.transaction((tx) => takeDisputed(tx, { ...reversal, ...kept }))
    const more = this.take(wallet, amount - kept.frozen, lost.taken - kept.frozen)
    assert.equal(lost.promotional, free + more)
    if (end === 'lost') return
    await db.transaction((tx) => undoDisputeLost(tx, { ...reversal, ...lost }))
    this.giveBack(wallet, { taken: lost.taken, free: free + more })
  }

  reversal(wallet: number, amount: bigint) {
    const account_id = this.id(wallet)
    const at = new Date()
    return { account_id, topup_id: mintWalletId(account_id, at), amount, at }
  }

  /** As much as is there; answers how much of it was free. */
  take(wallet: number, wanted: bigint, taken: bigint): bigint {
    const available = this.model.available(wallet)
    assert.equal(taken, wanted < available ? wanted : available)
    return this.model.take(wallet, taken)
  }

  giveBack(wallet: number, { taken, free }: { taken: bigint; free: bigint }): void {
    this.model.give(wallet, free, 'free')
    this.model.give(wallet, taken - free, 'paid')
  }

  async compare(): Promise<void> {
    for (const [index, { free, paid, held }] of this.model.wallets.entries()) {
      const balance = free + paid
      assert.deepEqual(await readBalance(db, this.id(index)), {
        balance,
        held,
        available: balance - held,
        promotional: free,
      })
    }
  }

  async compareEarnings(): Promise<void> {
    const [earned] = await sql<{ payable: string; not_payable: string; from_paid: string }>(
      url,
      `select coalesce(sum(amount) filter (where payable), 0) as payable,
         coalesce(sum(amount) filter (where not payable), 0) as not_payable,
         (select coalesce(sum(credits_used - promotional_credits), 0)
          from usage_event where wallet_id = any ($1)) as from_paid
       from developer_earning
       where id in (select id from usage_event where wallet_id = any ($1))`,
      [this.wallet_ids],
    )
    const { payable, not_payable, paid_spent } = this.model
    assert.deepEqual(earned, {
      payable: String(payable),
      not_payable: String(not_payable),
      from_paid: String(paid_spent),
    })
    if (this.mode === 'spend_only') assert.ok(payable <= paid_spent)
  }
}

async function transfer(
  wanted: { from: string; to: string; amount: bigint; mode: PromotionalCredits },
  on = db,
): Promise<boolean> {
  const at = new Date()
  const { from, to, amount, mode } = wanted
  try {
    await on.transaction((tx) =>
      transferCredits(tx, {
        id: mintWalletId(from, at),
        receipt_id: mintWalletId(to, at),
        from_account_id: from,
        to_account_id: to,
        amount,
        promotional_credits: mode,
      }),
    )
    return true
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    // A busy machine may keep the row for longer than a transfer waits: nothing was moved.
    if (error.code === 'service_unavailable') return await transfer(wanted, on)
    if (['insufficient_credits', 'bad_request'].includes(error.code)) return false
    throw error
  }
}

describe('promotional credits', () => {
  it(`are exact in ${HISTORIES} random histories, and what is payable was paid for`, async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('spend_only' as const, 'as_money' as const),
        fc.bigInt(0n, 2_000n),
        fc.array(step, { minLength: 1, maxLength: STEPS, size: 'max' }),
        async (mode, welcome, steps) => {
          const made = new History(mode, await makeWallets(db, WALLETS, welcome), welcome)
          for (const next of steps) {
            await made.apply(next)
            await made.compare()
          }
          await made.compareEarnings()
        },
      ),
      { numRuns: HISTORIES, endOnFailure: !LONG },
    )
    await assertBooks(db)
  })

  it('are never transferred, whatever calls and transfers on two connections do at once', async () => {
    const ledger = await makeLedger(url, {
      promotional_credits: 'spend_only',
      hold_wait_ms: 30_000,
    })
    for (let race = 0; race < RACES; race++) {
      const [from, to] = await makeWallets(db, 2, 1_000n)
      assert.ok(from && to)
      const id = mintWalletId(from, new Date())
      await db.transaction((tx) => topUp(tx, { id, account_id: from, amount: 1_000n }))
      let moved = 0n
      await inParallel(60, 12, async (index) => {
        if (index % 3 === 0) {
          await ledger.settle(chargeOf(await ledger.hold(holdOf(from, 40n)), 40n))
          return
        }
        const wanted = { from, to, amount: 45n, mode: 'spend_only' as const }
        if (await transfer(wanted, index % 3 === 1 ? db : other_db)) moved += wanted.amount
      })
      // Twenty calls of 40 took 800 promotional credits and no paid one.
      assert.equal(moved, 990n)
      const [left] = await sql<{ posted: string; promotional: string }>(
        url,
        'select posted, promotional from wallet where id = $1',
        [from],
      )
      assert.deepEqual(left, { posted: '210', promotional: '200' })
    }
    await ledger.stop()
    await assertBooks(db)
  })
})
