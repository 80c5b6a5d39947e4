// The prices that a call was charged at, as its price list has them.

import type { CallRow } from './calls-store.ts'

/** Credits per million tokens. */
export type CallPrices = {
  input: number
  cached_input: number
  cache_write: number
  cache_write_1h: number
  output: number
}

/** Null where nothing was charged, and for models that are not priced by the token. */
export function pricesOf(call: CallRow): CallPrices | null {
  const list = call.price_list
  if (!isRecord(list)) return null
  const { long_prompt } = list
  const prompt = call.input_tokens + call.cached_input_tokens + call.cache_write_tokens
  const is_long = isRecord(long_prompt) && prompt > Number(long_prompt['above_tokens'])
  const prices = is_long ? long_prompt['prices'] : list['prices']
  if (!isRecord(prices)) return null
  const { input, cache_read, cache_write_5m, cache_write_1h, output } = prices
  const found = [input, cache_read, cache_write_5m, cache_write_1h, output].map(Number)
  if (!found.every(Number.isSafeInteger)) return null
  return {
    input: Number(input),
    cached_input: Number(cache_read),
    cache_write: Number(cache_write_5m),
    cache_write_1h: Number(cache_write_1h),
    output: Number(output),
  }
}

export function upstreamModelOf(call: CallRow): string | null {
  if (call.upstream_model !== null) return call.upstream_model
  const upstream_id = isRecord(call.price_list) ? call.price_list['upstream_id'] : undefined
  return typeof upstream_id === 'string' ? upstream_id : null
}

/** What the client asked for and nobody did. */
export function ignoredFieldsOf(call: CallRow): string[] {
  const fields = isRecord(call.details) ? call.details['ignored_fields'] : undefined
  return Array.isArray(fields) ? fields.filter((field) => typeof field === 'string') : []
}

/** Of cache_write_tokens, those that are kept for an hour and cost more. */
export function longCacheWrites(call: CallRow): number {
  const tokens = isRecord(call.details) ? call.details['cache_write_1h_tokens'] : undefined
  return typeof tokens === 'number' ? tokens : 0
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
