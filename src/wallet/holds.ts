// What a hold and its settlement are, and what is refused before it reaches the database.

import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'
import { type LimitedCounter, limitedCounters, type SpendLimit } from './spend-limits.ts'

/** A call is bound by its key's limit and by its user's cap for the app; a list that grows is a mistake. */
const SPEND_LIMITS_MAX = 8

export type HoldRequest = {
  /** Minted with mintWalletId; the id of the call, its usage event and its journal transaction. */
  id: string
  wallet_id: string
  /** As much as fits is held, from the minimum to the maximum. */
  min_credits: bigint
  max_credits: bigint
  /** All of them bind the call. When one refuses it, the first that does is named. */
  spend_limits?: readonly SpendLimit[]
  /** Of a hold that grows: what it has. 0n: nothing yet, and it gets only a part of what is free. */
  held_credits?: bigint
  /** Of a hold that grows and is open: whether its call stands still until it has grown. */
  waits?: boolean
  /** Of a hold that grows and is open: its counters, instead of the limits. */
  spend?: readonly LimitedCounter[]
}

export type Hold = {
  id: string
  wallet_id: string
  amount: bigint
  /** The counters of its spend limits, in the order given. */
  spend?: readonly LimitedCounter[]
  /** Of a hold that grows: what it can reach at most, if nobody else spends anything. */
  ceiling?: bigint
}

/** The hold is larger now; or calls that run leave no room; or it cannot grow, whoever ends. */
export type Growth = { state: 'grown'; hold: Hold } | { state: 'blocked' } | { state: 'refused' }

/** Where a call came in: the template of its route. */
export type Endpoint =
  | '/v1/chat/completions'
  | '/v1/messages'
  | '/v1/responses'
  | '/v1/users/:external_user_id/chat/completions'
  | '/v1/users/:external_user_id/messages'
  | '/v1/users/:external_user_id/responses'
  | '/v1/embeddings'
  | '/v1/users/:external_user_id/embeddings'
  | '/account/playground/chat/completions'
  | `${'/v1' | '/v1/users/:external_user_id' | '/account/playground'}/audio/${'speech' | 'transcriptions' | 'sound-effects'}`

/** The columns of usage_event that the ledger does not work out itself. */
export type UsageDescription = {
  model: string
  billing_mode: 'developer' | 'user'
  endpoint?: Endpoint
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
  /** The prices it was charged at. */
  price_list_id?: number
  request_id?: string
  provider_request_id?: string
  first_byte_ms?: number
  total_ms?: number
  outcome?: string
  /** Absent: false. */
  stream?: boolean
  /** Of a call that failed half way. */
  error_code?: string
  /** What the provider reported. */
  raw_usage?: unknown
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

export function holdOf(request: HoldRequest, amount: bigint): Hold {
  const { id, wallet_id } = request
  const spend = countersOf(request)
  return { id, wallet_id, amount, ...(spend.length > 0 && { spend }) }
}

/** The counters that bind a call. */
export function countersOf(request: HoldRequest): readonly LimitedCounter[] {
  return request.spend ?? limitedCounters(request)
}

export function checkHoldRequest(request: HoldRequest): void {
  const { min_credits, max_credits, spend_limits = [] } = request
  if (!isCredits(min_credits, 1n) || !isCredits(max_credits, min_credits)) {
    throw new ApiError('pricing_error', { detail: `hold of ${min_credits} to ${max_credits}` })
  }
  if (spend_limits.length > 0) checkSpendLimits(spend_limits)
  checkBucket(request)
}

function checkSpendLimits(limits: readonly SpendLimit[]): void {
  if (!limits.every((limit) => isCredits(limit.limit_credits, 1n))) {
    throw new ApiError('pricing_error', { detail: 'spend limit out of range' })
  }
  const owners = new Set(limits.map((limit) => limit.owner_id))
  if (owners.size < limits.length || owners.size > SPEND_LIMITS_MAX) {
    throw new ApiError('pricing_error', { detail: 'spend limits of one owner, or too many' })
  }
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
