// What comes after: the price of what was used, charged and recorded in one transaction.

import { markupOf, priceUsage, type TokenUsage } from '../catalog/pricing.ts'
import { ApiError, type ErrorCode } from '../platform/errors.ts'
import type { Settlement } from '../wallet/holds.ts'
import type { SvcNumbers } from './dialects/dialect.ts'
import type { Metered } from './meter.ts'
import type { ChatCall, ChatParts, Order } from './order.ts'
import type { Priced } from './price-lists.ts'
import { isRecord } from './upstreams/json-values.ts'

export type CallRecord = {
  metered: Metered
  provider_request_id: string | undefined
  first_byte_ms: number | undefined
  total_ms: number
  /** By whom: the provider, in good order or not, the client, a stop of ours, or the credits. */
  ended: 'complete' | 'failed' | 'client_left' | 'service_stopped' | 'out_of_credits'
  /** What went wrong with the provider, where that ended it. */
  error_code: ErrorCode | undefined
}

export async function settleCall(
  parts: ChatParts,
  call: ChatCall,
  order: Order,
  record: CallRecord,
): Promise<SvcNumbers> {
  const { usage, estimated } = record.metered
  const cost = priceUsage(order.model, usage)
  const used = cost + markupOf(cost, call.payer.markup_bps)
  // An estimate is ours to be wrong about: it never charges more than the caller let us hold.
  const used_credits = estimated && used > order.hold.amount ? order.hold.amount : used
  const request = {
    hold: order.hold,
    used_credits,
    cost_credits: cost > used_credits ? used_credits : cost,
    usage: describeUsage(call, order, record, await parts.price_lists.find(order.model)),
    // The usage row has all there is to tell.
    event: {},
  }
  const settle = () => parts.ledger().settle(request)
  const settlement = await (call.claim ? call.claim.charging(settle) : settle())
  countCall(parts, order, record, settlement)
  const { credits_used, balance_before, balance_after } = settlement
  return { credits_used, balance_before, balance_after, billing_mode: call.payer.billing_mode }
}

/** Tells the official clients not to ask again for what the provider has already done. */
export function withoutRetry(thrown: unknown): ApiError {
  const error =
    thrown instanceof ApiError ? thrown : new ApiError('internal_error', { cause: thrown })
  error.headers['x-should-retry'] = 'false'
  return error
}

function describeUsage(call: ChatCall, order: Order, record: CallRecord, priced: Priced) {
  const { payer, key } = call
  const { usage, estimated, raw } = record.metered
  return {
    model: order.model.name,
    billing_mode: payer.billing_mode,
    endpoint: call.endpoint,
    developer_id: payer.developer_id,
    ...(key && { key_id: key.key_id }),
    ...(payer.client_id !== null && { client_id: payer.client_id }),
    ...(payer.external_user_id !== null && { external_user_id: payer.external_user_id }),
    input_tokens: usage.input_tokens,
    cached_input_tokens: usage.cache_read_tokens,
    cache_write_tokens: usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    output_tokens: usage.output_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    estimated,
    // The prices it was charged at: a later price list must not change what this row says.
    ...priced,
    ...detailsOf(order, usage, priced),
    raw_usage: withoutZeros(raw),
    request_id: call.request_id.slice('req_'.length),
    ...(record.provider_request_id !== undefined && {
      provider_request_id: record.provider_request_id,
    }),
    ...(record.first_byte_ms !== undefined && { first_byte_ms: Math.round(record.first_byte_ms) }),
    total_ms: Math.round(record.total_ms),
    outcome: record.ended,
    ...(call.request.stream && { stream: true }),
    ...(record.error_code !== undefined && { error_code: record.error_code }),
  }
}

/** What only few calls have. */
function detailsOf({ ignored }: Order, usage: TokenUsage, priced: Priced) {
  const details = {
    ...('details' in priced && priced.details),
    ...(ignored.length > 0 && { ignored_fields: ignored }),
    // They have a price of their own, and cache_write_tokens has both.
    ...(usage.cache_write_1h_tokens > 0 && { cache_write_1h_tokens: usage.cache_write_1h_tokens }),
    ...(usage.audio_input_tokens !== undefined && {
      audio_input_tokens: usage.audio_input_tokens,
    }),
  }
  return Object.keys(details).length > 0 ? { details } : {}
}

/** Most of what providers report is zero. A count that is not there was zero, or not reported. */
function withoutZeros(report: unknown): unknown {
  if (!isRecord(report)) return report
  const told: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(report)) {
    const kept = withoutZeros(value)
    if (kept !== 0 && kept !== null && kept !== undefined) told[name] = kept
  }
  return Object.keys(told).length > 0 ? told : undefined
}

function countCall(
  parts: ChatParts,
  order: Order,
  record: CallRecord,
  settlement: Settlement,
): void {
  const { metrics } = parts
  const model = order.model.name
  const { usage } = record.metered
  const input_tokens =
    usage.input_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  metrics.gateway_calls.inc({ model, outcome: record.ended })
  metrics.gateway_tokens.inc({ model, kind: 'input' }, input_tokens)
  metrics.gateway_tokens.inc({ model, kind: 'cached' }, usage.cache_read_tokens)
  metrics.gateway_tokens.inc({ model, kind: 'output' }, usage.output_tokens)
  metrics.gateway_credits.inc({ model }, Number(settlement.credits_used))
  metrics.gateway_seconds.observe({ model, phase: 'total' }, record.total_ms / 1000)
  if (record.first_byte_ms !== undefined) {
    metrics.gateway_seconds.observe({ model, phase: 'first_byte' }, record.first_byte_ms / 1000)
  }
}
