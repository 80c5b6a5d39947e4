// A payout from its claim to its end: each step is one transaction, with its lines in the journal. What is asked of the
// processor stands in the row before it is asked for, and never changes.

import type { Db, Tx } from '../platform/db.ts'
import { ALL_BUCKETS, mintWalletId } from '../wallet/bucket.ts'
import { postLines } from '../wallet/lines.ts'
import { CREDITS_PER_CENT, eligibleUntil, reachesMinimum, releaseAt, splitGross } from './rules.ts'
import {
  BLOCK_ACCOUNT,
  CHANGE_KEY,
  GIVE_EARNINGS_BACK,
  GIVE_RESERVES_BACK,
  INSERT_PAYOUT,
  INSERT_RESERVE,
  LAST_ATTEMPT_OF_SET,
  LOCK_ACCOUNT,
  type PayoutRow,
  PREPARE_CLAIM,
  ROLL_RESERVES,
  SELECT_PAYOUT_OF_TRANSFER,
  SELECT_SET,
  SELECT_SET_HASH,
  SET_FAILED,
  SET_PAID,
  STAMP_EARNINGS,
  VOID_RESERVE,
} from './store.ts'

const CURRENCY = 'usd'

/** Nothing is written: the developer's turn comes another day. */
class NothingToPay extends Error {}

export type Claim = { developer_id: string; now: Date; minimum_credits?: bigint }

/** Takes what is due to a developer into a pending payout; undefined if there is nothing to pay. */
export async function claimPayout(db: Db, claim: Claim): Promise<PayoutRow | undefined> {
  try {
    return await db.transaction((tx) => claimIn(tx, claim))
  } catch (error) {
    if (error instanceof NothingToPay) return undefined
    throw error
  }
}

async function claimIn(tx: Tx, { developer_id, now, minimum_credits }: Claim): Promise<PayoutRow> {
  const id = mintWalletId(developer_id, now)
  await tx.run(PREPARE_CLAIM)
  const [account] = await tx.run(LOCK_ACCOUNT, [developer_id])
  if (!account?.stripe_account_id || !account.payouts_enabled || account.payouts_blocked) {
    throw new NothingToPay()
  }
  // Asked again: the batch read its page of developers minutes ago.
  if (account.suspended) throw new NothingToPay()
  const [taken] = await tx.run(STAMP_EARNINGS, [developer_id, id, eligibleUntil(now), ALL_BUCKETS])
  if (!taken?.period_start || !reachesMinimum(taken.credits, minimum_credits)) {
    throw new NothingToPay()
  }
  const rolled = await tx.run(ROLL_RESERVES, [developer_id, id, now])
  const released_reserve = rolled.reduce((sum, { amount }) => sum + amount, 0n)
  const split = splitGross({ earnings: taken.credits, released_reserve })
  if (split.amount_cents === 0n) throw new NothingToPay()
  const { set_hash, attempt, key } = await nameOf(tx, { id, developer_id })
  const [payout] = await tx.run(INSERT_PAYOUT, [
    id,
    developer_id,
    account.stripe_account_id,
    CURRENCY,
    split.gross_credits,
    split.reserve_credits,
    split.transfer_credits,
    split.amount_cents,
    taken.credits,
    released_reserve,
    taken.count,
    taken.period_start,
    taken.period_end,
    now,
    attempt,
    set_hash,
    key,
  ])
  if (!payout) throw new Error('an inserted payout has a row')
  await postLines(tx, {
    id,
    kind: 'payout_claim',
    lines: [
      { account: 'payout_clearing', owner: id, amount: payout.gross_credits },
      { account: 'dev_payable', owner: developer_id, amount: -payout.earnings_credits },
      { account: 'dev_reserve', owner: developer_id, amount: -payout.rolled_reserve_credits },
    ],
  })
  return payout
}

/**
 * The key is that of the set alone. A set that was claimed before and given back has used its key up: the processor
 * would answer with what it said then, so the number of the attempt goes into the hash.
 */
async function nameOf(tx: Tx, { id, developer_id }: { id: string; developer_id: string }) {
  const [set] = await tx.run(SELECT_SET, [id, ALL_BUCKETS])
  if (!set) throw new Error('a set has a name')
  const { set_hash, attempt } = set
  const hash = attempt === 0 ? set_hash : await hashOfAttempt(tx, id, attempt)
  return { set_hash, attempt, key: keyOf(developer_id, hash) }
}

function keyOf(developer_id: string, hash: string): string {
  return `payout_${developer_id}_${hash}`
}

async function hashOfAttempt(tx: Tx, id: string, attempt: number): Promise<string> {
  const [row] = await tx.run(SELECT_SET_HASH, [id, attempt, ALL_BUCKETS])
  if (!row) throw new Error('a set has a hash')
  return row.hash
}

/** After a proof that the key did nothing and never will; undefined if the payout has been resolved meanwhile. */
export async function takeNextKey(
  db: Db,
  payout: PayoutRow,
  now: Date,
): Promise<PayoutRow | undefined> {
  return await db.transaction(async (tx) => {
    await tx.run(LOCK_ACCOUNT, [payout.developer_id])
    const [last] = await tx.run(LAST_ATTEMPT_OF_SET, [payout.id])
    const attempt = (last?.attempt ?? payout.attempt) + 1
    const key = keyOf(payout.developer_id, await hashOfAttempt(tx, payout.id, attempt))
    const [changed] = await tx.run(CHANGE_KEY, [payout.id, attempt, key, now])
    return changed
  })
}

/**
 * The money is on its way: the reserve is kept, fractions of a cent stay with the platform. False: the payout was resolved
 * before.
 */
export async function markPaid(
  db: Db,
  paid: { payout: PayoutRow; transfer_id: string; now: Date },
): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const { id } = paid.payout
    const [payout] = await tx.run(SET_PAID, [id, paid.transfer_id, paid.now])
    if (!payout) return false
    const { developer_id, reserve_credits, created_at } = payout
    await tx.run(INSERT_RESERVE, [id, developer_id, reserve_credits, releaseAt(created_at)])
    await postLines(tx, {
      id: mintWalletId(id, new Date()),
      kind: 'payout_paid',
      lines: [
        { account: 'payout_clearing', owner: id, amount: -payout.gross_credits },
        ...paidLines(payout, 1n),
      ],
    })
    return true
  })
}

/** Where the gross of a paid payout went; with -1, where it comes back from. */
function paidLines(payout: PayoutRow, sign: 1n | -1n) {
  const { id, developer_id, reserve_credits, transfer_credits, amount_cents } = payout
  const cash = amount_cents * CREDITS_PER_CENT
  return [
    { account: 'stripe_cash', owner: id, amount: sign * cash },
    { account: 'dev_reserve', owner: developer_id, amount: sign * reserve_credits },
    { account: 'rounding', owner: developer_id, amount: sign * (transfer_credits - cash) },
  ] as const
}

export type Failure = { code: string; message: string }

/**
 * Nothing was transferred: earnings and reserves are as they were before the claim. False, and nothing is done, if the
 * payout was resolved or got another key since it was read.
 */
export async function markFailed(
  db: Db,
  failed: { payout: PayoutRow; failure: Failure; now: Date },
): Promise<boolean> {
  const { failure, now } = failed
  return await db.transaction(async (tx) => {
    await tx.run(PREPARE_CLAIM)
    const { id, idempotency_key } = failed.payout
    const how = [failure.code, failure.message, now]
    const [payout] = await tx.run(SET_FAILED, [id, 'pending', ...how, idempotency_key])
    if (!payout) return false
    await giveBack(tx, payout)
    await postLines(tx, {
      id: mintWalletId(id, new Date()),
      kind: 'payout_failed',
      lines: [
        { account: 'payout_clearing', owner: id, amount: -payout.gross_credits },
        ...givenBackLines(payout),
      ],
    })
    return true
  })
}

async function giveBack(tx: Tx, payout: PayoutRow): Promise<void> {
  const [earnings] = await tx.run(GIVE_EARNINGS_BACK, [payout.id, ALL_BUCKETS])
  const reserves = await tx.run(GIVE_RESERVES_BACK, [payout.id])
  const rolled = reserves.reduce((sum, { amount }) => sum + amount, 0n)
  if (
    earnings?.credits !== payout.earnings_credits ||
    earnings.count !== payout.earnings_count ||
    rolled !== payout.rolled_reserve_credits
  ) {
    throw new Error(`payout ${payout.id} cannot give back what it took`)
  }
}

function givenBackLines({ developer_id, earnings_credits, rolled_reserve_credits }: PayoutRow) {
  return [
    { account: 'dev_payable', owner: developer_id, amount: earnings_credits },
    { account: 'dev_reserve', owner: developer_id, amount: rolled_reserve_credits },
  ] as const
}

export type Reversal = { transfer_id: string; reversed_cents: bigint; now: Date }

/**
 * unknown: no payout of ours. repeated: it was taken back before. needs_operator: the transfer came back in part, or
 * its reserve has been paid out since; no row can say that, so nothing moves.
 */
export type ReversalOutcome = 'reversed' | 'repeated' | 'unknown' | 'needs_operator'

class ReserveIsGone extends Error {}

/**
 * A transfer came back (`transfer.reversed`): the payout has failed after all. Whatever comes of it, the developer is
 * not paid again until an operator has looked.
 */
export async function reversePayout(db: Db, reversal: Reversal): Promise<ReversalOutcome> {
  const [payout] = await db.run(SELECT_PAYOUT_OF_TRANSFER, [reversal.transfer_id])
  if (!payout) return 'unknown'
  if (payout.status === 'failed') return 'repeated'
  try {
    if (reversal.reversed_cents !== payout.amount_cents) throw new ReserveIsGone()
    return await db.transaction((tx) => reverseIn(tx, payout, reversal.now))
  } catch (error) {
    if (!(error instanceof ReserveIsGone)) throw error
    await db.run(BLOCK_ACCOUNT, [payout.developer_id])
    return 'needs_operator'
  }
}

async function reverseIn(tx: Tx, reversed: PayoutRow, now: Date) {
  const { id, developer_id, idempotency_key } = reversed
  await tx.run(PREPARE_CLAIM)
  // A claim that would roll the reserve waits here, or has rolled it.
  await tx.run(LOCK_ACCOUNT, [developer_id])
  const how = ['transfer_reversed', 'The transfer was reversed.', now]
  const [payout] = await tx.run(SET_FAILED, [id, 'paid', ...how, idempotency_key])
  if (!payout) return 'repeated' as const
  const voided = await tx.run(VOID_RESERVE, [id, now])
  if (voided.length === 0) throw new ReserveIsGone()
  await giveBack(tx, payout)
  await tx.run(BLOCK_ACCOUNT, [developer_id])
  await postLines(tx, {
    id: mintWalletId(id, new Date()),
    kind: 'payout_reversed',
    lines: [...paidLines(payout, -1n), ...givenBackLines(payout)],
  })
  return 'reversed' as const
}
