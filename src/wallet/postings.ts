// Movements that are not usage: opening a wallet, grants, top-ups and transfers. Each runs in its caller's
// transaction and has an id made by the caller, so it can be repeated after a lost answer.

import type { Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX, toJson } from '../platform/money.ts'
import { bucketOf, mintWalletId } from './bucket.ts'
import type { PromotionalCredits } from './promotional.ts'
import {
  type BalanceRow,
  INSERT_VERIFIED_GRANT,
  INSERT_WALLET,
  POST_BATCH,
  type PostRow,
  SELECT_BALANCE,
} from './store.ts'

export const POSTING_KINDS = [
  'welcome',
  'verified',
  'grant',
  'paid_grant',
  'topup',
  'transfer_out',
  'transfer_in',
  'refund',
  'refund_failed',
  'dispute',
  'dispute_won',
  'dispute_lost',
  'dispute_reinstated',
  'closure',
] as const

export type Posting = {
  /** The journal transaction, minted in the wallet's bucket. */
  id: string
  wallet_id: string
  /** Into the wallet; negative takes out of it. */
  amount: bigint
  /** Into the wallet: how much of it nobody paid for. */
  promotional?: bigint
  /** Out of the wallet: promotional credits have to stay. */
  leaves_promotional?: boolean
  kind: (typeof POSTING_KINDS)[number]
  counter: { account: 'promo' | 'external' | 'transit' | 'disputed' | 'forfeited'; owner?: string }
  description?: string
  /** Written to the outbox with the posting, if given. */
  event?: object
}

export type Posted = {
  id: string
  balance_before: bigint
  balance_after: bigint
  repeated: boolean
}

/** Creates the account's wallet and posts its welcome credits, once, with the registration itself. */
export async function openWallet(
  tx: Tx,
  opening: { account_id: string; welcome_credits: bigint; at: Date },
): Promise<{ balance: bigint }> {
  const { account_id, welcome_credits, at } = opening
  if (welcome_credits !== 0n) checkAmount(welcome_credits)
  const inserted = await tx.run(INSERT_WALLET, [bucketOf(account_id), account_id, at])
  if (inserted.length === 0) {
    const existing = await readBalance(tx, account_id)
    return { balance: existing?.balance ?? 0n }
  }
  if (welcome_credits === 0n) return { balance: 0n }
  const posted = await postOne(tx, {
    id: mintWalletId(account_id, at),
    wallet_id: account_id,
    amount: welcome_credits,
    promotional: welcome_credits,
    kind: 'welcome',
    counter: { account: 'promo' },
    description: 'Welcome credits',
  })
  return { balance: posted.balance_after }
}

export async function readBalance(
  db: Queryable,
  account_id: string,
): Promise<BalanceRow | undefined> {
  const rows = await db.run(SELECT_BALANCE, [bucketOf(account_id), account_id])
  return rows[0]
}

/** An operator gives credits: a present, unless they were paid for elsewhere. The same id posts once. */
export async function grantCredits(
  tx: Tx,
  grant: {
    id: string
    account_id: string
    amount: bigint
    is_paid?: boolean
    description?: string
  },
): Promise<Posted> {
  const amount = checkAmount(grant.amount)
  return await postOne(tx, {
    id: grant.id,
    wallet_id: grant.account_id,
    amount,
    ...(grant.is_paid
      ? { kind: 'paid_grant', counter: { account: 'external' } }
      : { kind: 'grant', counter: { account: 'promo' }, promotional: amount }),
    event: { reason: 'grant' },
    ...(grant.description !== undefined && { description: grant.description }),
  })
}

/** Given once for each account, however often an address of it is verified. */
export async function grantVerifiedCredits(
  tx: Tx,
  grant: { account_id: string; amount: bigint; at: Date },
): Promise<void> {
  const { account_id, amount, at } = grant
  if (amount === 0n) return
  const inserted = await tx.run(INSERT_VERIFIED_GRANT, [bucketOf(account_id), account_id, at])
  if (inserted.length === 0) return
  await postOne(tx, {
    id: mintWalletId(account_id, at),
    wallet_id: account_id,
    amount,
    promotional: amount,
    kind: 'verified',
    counter: { account: 'promo' },
    description: 'Credits for a verified address',
    event: { reason: 'grant' },
  })
}

/** Credits that were paid for. The same id posts once. */
export async function topUp(
  tx: Tx,
  topup: { id: string; account_id: string; amount: bigint; description?: string },
): Promise<Posted> {
  return await postOne(tx, {
    id: topup.id,
    wallet_id: topup.account_id,
    amount: checkAmount(topup.amount),
    kind: 'topup',
    counter: { account: 'external' },
    event: { reason: 'topup' },
    ...(topup.description !== undefined && { description: topup.description }),
  })
}

export type Transfer = {
  /** Minted in the payer's bucket; the receiver's posting has `receipt_id`, minted in the receiver's. */
  id: string
  receipt_id: string
  from_account_id: string
  to_account_id: string
  amount: bigint
  /** spend_only: promotional credits stay where they are. */
  promotional_credits: PromotionalCredits
  description?: string
}

export type TransferResult = { from: Posted; to: Posted }

/**
 * Moves credits between two wallets: two balanced journal transactions through `transit`, so that no
 * transaction spans two buckets. Both are in the caller's database transaction.
 */
export async function transferCredits(tx: Tx, transfer: Transfer): Promise<TransferResult> {
  const amount = checkAmount(transfer.amount)
  if (transfer.from_account_id === transfer.to_account_id) {
    throw new ApiError('bad_request', { message: 'Payer and receiver are the same account.' })
  }
  const common = {
    counter: { account: 'transit', owner: transfer.id } as const,
    event: { reason: 'transfer', transfer_id: transfer.id },
    ...(transfer.description !== undefined && { description: transfer.description }),
  }
  const [from, to] = await post(tx, [
    {
      ...common,
      id: transfer.id,
      wallet_id: transfer.from_account_id,
      amount: -amount,
      leaves_promotional: transfer.promotional_credits === 'spend_only',
      kind: 'transfer_out',
    },
    {
      ...common,
      id: transfer.receipt_id,
      wallet_id: transfer.to_account_id,
      amount,
      kind: 'transfer_in',
    },
  ])
  if (!from || !to) throw new Error('a transfer has two postings')
  return { from, to }
}

/** An amount as JSON carries it. A number that is not exact is not an amount. */
export function parseAmount(amount: unknown): bigint {
  return checkAmount(Number.isSafeInteger(amount) ? BigInt(Number(amount)) : amount)
}

/** Refuses what is no amount of credits: whole, positive and within what JSON can carry. */
function checkAmount(amount: unknown): bigint {
  if (typeof amount === 'bigint' && amount > 0n && amount <= CREDITS_MAX) return amount
  throw new ApiError('bad_request', {
    message: `The amount must be a whole number of credits from 1 to ${CREDITS_MAX}.`,
    param: 'amount',
  })
}

export async function postOne(tx: Tx, posting: Posting): Promise<Posted> {
  const [posted] = await post(tx, [posting])
  if (!posted) throw new Error('a posting has an answer')
  return posted
}

/** All or none: any refusal throws, and the caller's transaction rolls back. */
async function post(tx: Tx, postings: readonly Posting[]): Promise<Posted[]> {
  const items = postings.map(({ id, counter, ...posting }) => ({
    ...posting,
    bucket: bucketOf(posting.wallet_id),
    tx: id,
    counter_account: counter.account,
    counter_owner: counter.owner,
  }))
  const rows = await tx.run(POST_BATCH, [toJson(items)])
  return postings.map((posting, index) => readPosted(posting, rows[index]))
}

function readPosted(posting: Posting, row: PostRow | undefined): Posted {
  if (!row) throw new Error('a posting has an answer')
  switch (row.state) {
    case 'posted':
    case 'repeated':
      break
    case 'no_wallet':
      throw new ApiError('user_not_found', { detail: `no wallet ${posting.wallet_id}` })
    case 'insufficient':
      throw refuseToMove(posting, row)
    case 'too_old':
      throw new ApiError('bad_request', {
        message: 'The id is of a month that is closed: it cannot be known whether it was posted.',
        hint: 'Look at the statement, and use a new id if the posting is not there.',
      })
    case 'overflow':
      throw new ApiError('bad_request', { message: 'The balance would be too large.' })
  }
  const { balance_before, balance_after } = row
  if (balance_before + posting.amount !== balance_after || balance_after < 0n) {
    throw new Error(`posting ${posting.id} does not add up`)
  }
  return { id: posting.id, balance_before, balance_after, repeated: row.state === 'repeated' }
}

function refuseToMove(posting: Posting, row: PostRow): ApiError {
  if (!posting.leaves_promotional || row.promotional === 0n) {
    return new ApiError('insufficient_credits', {
      message: 'The wallet does not have that many credits.',
      hint: 'Add credits, or move fewer. Credits that running calls hold cannot be moved.',
    })
  }
  const { balance_before: balance, promotional, movable } = row
  return new ApiError('insufficient_credits', {
    message: `The wallet can transfer ${movable} credits: ${promotional} of its ${balance} are promotional.`,
    hint: 'Promotional credits, which nobody paid for, pay for calls and cannot be transferred; nor can credits that running calls hold. Add credits, or move fewer.',
  })
}
