// What comes before the provider is called: how much is held, and how long the answer may be.

import type { Payer } from '../access/payer.ts'
import type { Catalog, ChatModel } from '../catalog/models.ts'
import { affordableOutput, markupOf, quoteMaximum, quoteMinimum } from '../catalog/pricing.ts'
import type { KeyPrincipal } from '../http/access.ts'
import type { Clock } from '../platform/clock.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { FailedCalls } from '../usage/failed-calls.ts'
import type { Endpoint, Hold } from '../wallet/holds.ts'
import type { CallLedger } from '../wallet/lanes/call-ledger.ts'
import type { SpendLimit } from '../wallet/spend-limits.ts'
import type { Drains } from './call-lifetime.ts'
import { cacheWrites } from './dialects/cache-hints.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import type { Dialect } from './dialects/dialect.ts'
import { type GrowthTerms, mayGrow } from './hold-growth.ts'
import type { Claim } from './idempotency/claim.ts'
import { outputLimit } from './output-limit.ts'
import type { Plan } from './plan.ts'
import type { PriceLists } from './price-lists.ts'
import { promptTokens } from './prompt-size.ts'
import type { ResponseItems } from './response-items/items.ts'
import type { RunningCall } from './running-calls.ts'
import type { Upstream, UpstreamAddress } from './upstreams/contract.ts'
import type { UpstreamName } from './upstreams/registry.ts'

export type ChatParts = {
  catalog: Catalog
  ledger: () => CallLedger
  upstreams: Record<UpstreamName, { upstream: Upstream; address: UpstreamAddress | undefined }>
  clock: Clock
  log: Log
  metrics: Metrics
  drains: Drains
  /** How long an answer waits for room that its hold could grow into. */
  growth: { wait_ms: number }
  price_lists: PriceLists
  failed_calls: FailedCalls
  response_items: ResponseItems
  public_url: string
}

export type ChatCall = {
  /** Of its hold and of its record; the client is told it. */
  id: string
  /** By performance.now(). */
  began_at: number
  endpoint: Endpoint
  dialect: Dialect
  request: ChatRequest
  plan: Plan
  payer: Payer
  /** Null where a user's own token or session makes the call. */
  key: KeyPrincipal | null
  request_id: string
  /** Says when the provider's work has to end because this process does. */
  running: RunningCall
  /** Set where the client sent an Idempotency-Key. */
  claim?: Claim | undefined
}

export type Order = Plan & {
  /** A larger one takes its place where it grows. */
  hold: Hold
  /** Set where the hold covers only a part of the longest answer, and grows with the answer. */
  growth: GrowthTerms | undefined
  /** Whether the provider is asked for a stream: also for a client that is not, where the hold grows. */
  stream: boolean
  max_output_tokens: number
  /** Whether the provider is told: not where its own limit is the same. */
  sends_limit: boolean
  /** Whether the credits allow less than was asked for. */
  credits_limit: boolean
  placed_at: Date
}

/** Throws 402 or 503 before anything is asked of a provider. */
export async function placeOrder(parts: ChatParts, call: ChatCall): Promise<Order> {
  const { request, payer, plan } = call
  const { model, prepared } = plan
  const prompt_tokens = promptTokens(request, model)
  const limit = outputLimit(request, model, prompt_tokens)
  const wanted_tokens = limit.max_output_tokens
  const audio_tokens = audioTokens(request, model)
  const bounds = { prompt_tokens, audio_tokens, n: request.n, cache_write: cacheWrites(request) }
  const wanted = { ...bounds, max_output_tokens: wanted_tokens }
  const withMarkup = (cost: bigint) => cost + markupOf(cost, payer.markup_bps)
  const placed_at = parts.clock.now()
  const hold = await parts.ledger().hold({
    id: call.id,
    wallet_id: payer.account_id,
    min_credits: withMarkup(quoteMinimum(model, wanted)),
    max_credits: withMarkup(quoteMaximum(model, wanted)),
    spend_limits: spendLimitsOf(call),
    ...(mayGrow(request, model, prepared.relays) && { held_credits: 0n }),
  })
  const affordable = affordableOutput(model, {
    ...bounds,
    credits: hold.ceiling ?? hold.amount,
    markup_bps: payer.markup_bps,
  })
  const max_output_tokens = Math.max(1, Math.min(wanted_tokens, affordable))
  const max_credits = withMarkup(quoteMaximum(model, { ...bounds, max_output_tokens }))
  const grows = hold.ceiling !== undefined && hold.amount < max_credits
  return {
    ...plan,
    hold,
    growth: grows ? { bounds, max_credits } : undefined,
    stream: request.stream || grows,
    max_output_tokens,
    sends_limit: limit.send || max_output_tokens < wanted_tokens,
    credits_limit: max_output_tokens < wanted_tokens,
    placed_at,
  }
}

/** At most: the same estimate, of a prompt that has nothing but the sound. */
function audioTokens(request: ChatRequest, model: ChatModel): number {
  const content = request.messages.flatMap(({ content: parts }) =>
    parts.flatMap((part) => (part.kind === 'audio' ? [part] : [])),
  )
  if (content.length === 0) return 0
  const sound = { ...request, system: [], tools: [], response_format: undefined }
  return promptTokens({ ...sound, messages: [{ content }] }, model)
}

/** The user's cap comes first: where both are reached, raising the key's limit would not help. */
export function spendLimitsOf({ key, payer }: Pick<ChatCall, 'key' | 'payer'>): SpendLimit[] {
  const limits: SpendLimit[] = payer.cap ? [payer.cap] : []
  if (!key) return limits
  const { key_id, account_id, spend_limit_credits, spend_limit_period } = key
  if (spend_limit_credits !== null && spend_limit_period !== null) {
    limits.push({
      kind: 'key',
      owner_id: key_id,
      account_id,
      limit_credits: spend_limit_credits,
      period: spend_limit_period,
    })
  }
  return limits
}
