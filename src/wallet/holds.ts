// What a hold and its settlement are, and what is refused before it reaches the database.

import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'

export const SPEND_PERIODS = ['day', 'month', 'total'] as const

/** A key's limit. `account_id` is the key's owner, who need not be the payer. */
export type SpendLimit = {
  key_id: string
  account_id: string
  spend_limit_credits: bigint
  spend_limit_period: (typeof SPEND_PERIODS)[number]
}

export type HoldRequest = {
  /** Minted with mintWalletId; the id of the call, its usage event and its journal transaction. */
  id: string
  wallet_id: string
  /** As much as fits is held, from the minimum to the maximum. */
  min_credits: bigint
  max_credits: bigint
  spend_limit?: SpendLimit
}

/** The counter of a spend limit that a hold is part of. */
export type SpendCounter = { bucket: number; key_id: string; period: string; limit: bigint }

export type Hold = {
  id: string
  wallet_id: string
  amount: bigint
  spend?: SpendCounter
}

/** The columns of usage_event that the ledger does not work out itself. */
export type UsageDescription = {
  model: string
  billing_mode: 'developer' | 'user'
  developer_id?: string
  key_id?: string
  client_id?: string
  external_user_id?: string
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
  reasoning_tokens: number
  estimated: boolean
  details?: object
}

export type SettleRequest = {
  hold: Hold
  /** Cost and markup together. */
  used_credits: bigint
  cost_credits: bigint
  usage: UsageDescription
  /** The payload of an outbox row, if the call is to be announced. */
  event?: object
}

export type Settlement = {
  id: string
  /** `late`: the hold was gone, the call was charged to what the wallet had free. */
  state: 'settled' | 'late'
  credits_used: bigint
  markup_credits: bigint
  shortfall_credits: bigint
  balance_before: bigint
  balance_after: bigint
}

/** The day or month (UTC) that a limit counts in, by the time of the call. */
export function spendPeriod(period: SpendLimit['spend_limit_period'], at: Date): string {
  const day = at.toISOString().slice(0, 10)
  switch (period) {
    case 'day':
      return day
    case 'month':
      return `${day.slice(0, 7)}-01`
    case 'total':
      return '1970-01-01'
  }
}

export function spendCounter(limit: SpendLimit, at: Date): SpendCounter {
  return {
    bucket: bucketOf(limit.account_id),
    key_id: limit.key_id,
    period: spendPeriod(limit.spend_limit_period, at),
    limit: limit.spend_limit_credits,
  }
}

export function checkHoldRequest(request: HoldRequest): void {
  const { min_credits, max_credits, spend_limit } = request
  if (!isCredits(min_credits, 1n) || !isCredits(max_credits, min_credits)) {
    throw new ApiError('pricing_error', { detail: `hold of ${min_credits} to ${max_credits}` })
  }
  if (spend_limit && !isCredits(spend_limit.spend_limit_credits, 1n)) {
    throw new ApiError('pricing_error', { detail: 'spend limit out of range' })
  }
  checkBucket(request)
}

export function checkSettleRequest(request: SettleRequest): void {
  const { used_credits, cost_credits, usage } = request
  if (!isCredits(used_credits, 0n) || !isCredits(cost_credits, 0n) || cost_credits > used_credits) {
    throw new ApiError('pricing_error', { detail: `settle ${used_credits}, cost ${cost_credits}` })
  }
  if (used_credits > cost_credits && usage.developer_id === undefined) {
    throw new ApiError('pricing_error', { detail: 'a markup without a developer' })
  }
  checkBucket(request.hold)
}

function isCredits(amount: unknown, least: bigint): amount is bigint {
  return typeof amount === 'bigint' && amount >= least && amount <= CREDITS_MAX
}

function checkBucket(owned: { id: string; wallet_id: string }): void {
  if (bucketOf(owned.id) !== bucketOf(owned.wallet_id)) {
    throw new Error(`hold ${owned.id} is not in the bucket of its wallet`)
  }
}
