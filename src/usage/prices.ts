// The prices that a call was charged at, as its price list has them.

import type { CallRow } from './calls-store.ts'

/** Credits per million tokens. */
export type CallPrices = {
  input: number
  cached_input: number
  cache_write: number
  cache_write_1h: number
  output: number
  /** Where sound in a prompt has a price of its own. */
  audio_input?: number
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
    ...(prices['audio_input'] !== undefined && { audio_input: Number(prices['audio_input']) }),
  }
}

/** What an audio call was charged for. */
export type AudioCharge = {
  bucket: 'characters' | 'milliseconds' | 'sounds'
  unit: 'character' | 'hour' | 'generation'
  count: number
  /** Credits per million units. */
  price: number
}

/** Undefined for a model that is priced by the token. */
export function audioChargeOf(call: CallRow): AudioCharge | undefined {
  const price = isRecord(call.price_list) ? Number(call.price_list['price']) : Number.NaN
  if (!Number.isSafeInteger(price) || !isRecord(call.raw_usage)) return undefined
  const { characters, seconds, sounds } = call.raw_usage
  if (typeof characters === 'number')
    return { bucket: 'characters', unit: 'character', count: characters, price }
  // A part of a millisecond is charged as a whole one.
  if (typeof seconds === 'number')
    return { bucket: 'milliseconds', unit: 'hour', count: Math.ceil(seconds * 1000), price }
  if (typeof sounds === 'number')
    return { bucket: 'sounds', unit: 'generation', count: sounds, price }
  return undefined
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
  return detailOf(call, 'cache_write_1h_tokens')
}

/** Of input_tokens, those that are sound. */
export function soundTokens(call: CallRow): number {
  return detailOf(call, 'audio_input_tokens')
}

function detailOf({ details }: CallRow, name: string): number {
  const tokens = isRecord(details) ? details[name] : undefined
  return typeof tokens === 'number' ? tokens : 0
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
