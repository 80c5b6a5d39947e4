// What a call costs. Prices are whole credits per million units, so every sum is an exact integer of
// millionths and is rounded up once, at the end. Quotes bound what a call can cost before it is made: the
// hold taken for a quote covers every usage within its limits.

import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX, type Credits, divideRoundUp } from '../platform/money.ts'
import type { ChatModel, InputModel, TokenPrices } from './models.ts'

const PRICE_UNIT = 1_000_000n
const BASIS_POINTS = 10_000n
const MS_PER_HOUR = 3_600_000n

/**
 * Less output than this is of no use to anyone: a wallet that cannot cover it is refused instead. It is also the least
 * that OpenAI's Responses API can be limited to.
 */
export const OUTPUT_TOKENS_MIN = 16

/** Disjoint counts. */
export type TokenUsage = {
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  /** Of the input: how much of it was sound. */
  audio_input_tokens?: number
}

/** What a call may use at most. */
export type CallBounds = {
  prompt_tokens: number
  /** Of the prompt: how much of it may be sound. */
  audio_tokens?: number
  /** For each answer. */
  max_output_tokens: number
  /** Answers asked for. */
  n: number
  /** Whether the request may write the provider's cache; true: for any time to live. */
  cache_write: boolean | '5m' | '1h'
}

export function priceUsage(model: ChatModel, usage: TokenUsage): Credits {
  const buckets = {
    input: toCount(usage.input_tokens),
    cache_read: toCount(usage.cache_read_tokens),
    cache_write_5m: toCount(usage.cache_write_5m_tokens),
    cache_write_1h: toCount(usage.cache_write_1h_tokens),
  }
  const { input, cache_read, cache_write_5m, cache_write_1h } = buckets
  const prices = pricesFor(model, input + cache_read + cache_write_5m + cache_write_1h)
  const audio = toCount(usage.audio_input_tokens ?? 0)
  const spoken = audio * (prices.audio_input ?? prices.input)
  return roundUp(
    toCount(usage.input_tokens - Number(audio)) * prices.input +
      spoken +
      cache_read * prices.cache_read +
      cache_write_5m * prices.cache_write_5m +
      cache_write_1h * prices.cache_write_1h +
      toCount(usage.output_tokens) * prices.output,
  )
}

/** The prices that hold for a prompt of this size: all of its tokens, cached or not, count. */
export function pricesFor(model: ChatModel, prompt_tokens: bigint | number): TokenPrices {
  const { long_prompt } = model
  return long_prompt && prompt_tokens > long_prompt.above_tokens ? long_prompt.prices : model.prices
}

/**
 * `quantity`: characters (code points) of speech, milliseconds of a transcription, number of sounds, tokens of embedded texts.
 */
export function priceInput(model: InputModel, quantity: number): Credits {
  const parts_per_unit = model.kind === 'transcription' ? MS_PER_HOUR : 1n
  return inRange(divideRoundUp(toCount(quantity) * model.price, PRICE_UNIT * parts_per_unit))
}

/** The developer's share on top of the cost; rounded down, in favour of whoever pays. */
export function markupOf(cost: Credits, markup_bps: number): Credits {
  return inRange((cost * toCount(markup_bps)) / BASIS_POINTS)
}

/** The largest cost that fits into `credits` together with its markup. */
export function costWithin(credits: Credits, markup_bps: number): Credits {
  // cost + floor(cost × bps / 10,000) ≤ credits is the same as cost × (10,000 + bps) < (credits + 1) × 10,000.
  const whole = BASIS_POINTS + toCount(markup_bps)
  return divideRoundUp((credits + 1n) * BASIS_POINTS, whole) - 1n
}

/** At least what any usage within the bounds costs. */
export function quoteMaximum(model: ChatModel, bounds: CallBounds): Credits {
  const output_tokens = toCount(bounds.max_output_tokens) * toCount(bounds.n)
  const costs = tiersOf(model, bounds).map((tier) => tier.prompt + output_tokens * tier.output)
  return roundUp(costs.reduce((most, cost) => (cost > most ? cost : most), 0n))
}

/** The least worth holding: the whole prompt and a few tokens of output. */
export function quoteMinimum(model: ChatModel, bounds: CallBounds): Credits {
  const max_output_tokens = Math.min(bounds.max_output_tokens, OUTPUT_TOKENS_MIN)
  return quoteMaximum(model, { ...bounds, max_output_tokens })
}

/**
 * The largest output limit for each answer that a hold of `credits` covers, markup included. 0: not even the
 * prompt fits.
 */
export function affordableOutput(
  model: ChatModel,
  hold: Omit<CallBounds, 'max_output_tokens'> & { credits: Credits; markup_bps: number },
): number {
  const affordable = costWithin(hold.credits, hold.markup_bps) * PRICE_UNIT
  let limit = toCount(model.max_output_tokens)
  for (const tier of tiersOf(model, hold)) {
    const left = affordable - tier.prompt
    const price = tier.output * toCount(hold.n)
    if (left < 0n) return 0
    if (price > 0n && left / price < limit) limit = left / price
  }
  return Number(limit)
}

type Tier = { prompt: bigint; output: bigint }

// The prompt is known only as "at most", so a call that may be long may also turn out not to be.
function tiersOf(model: ChatModel, bounds: Omit<CallBounds, 'max_output_tokens'>): Tier[] {
  const { long_prompt, prices } = model
  const prompt_tokens = toCount(bounds.prompt_tokens)
  const audio_tokens = toCount(bounds.audio_tokens ?? 0)
  const tier = (of: TokenPrices, tokens: bigint): Tier => {
    const dearest = dearestInput(model, of, bounds.cache_write)
    const surcharge = larger((of.audio_input ?? 0n) - dearest, 0n)
    const spoken = audio_tokens < tokens ? audio_tokens : tokens
    return { prompt: tokens * dearest + spoken * surcharge, output: of.output }
  }
  if (!long_prompt || prompt_tokens <= long_prompt.above_tokens)
    return [tier(prices, prompt_tokens)]
  return [tier(prices, BigInt(long_prompt.above_tokens)), tier(long_prompt.prices, prompt_tokens)]
}

/** Anthropic writes its cache only where it is asked to; others do so by themselves. */
function dearestInput(
  model: ChatModel,
  prices: TokenPrices,
  cache_write: CallBounds['cache_write'],
): bigint {
  const on_demand = model.provider === 'anthropic'
  let dearest = larger(prices.input, prices.cache_read)
  if (!on_demand || cache_write !== false) dearest = larger(dearest, prices.cache_write_5m)
  if (!on_demand || cache_write === true || cache_write === '1h') {
    dearest = larger(dearest, prices.cache_write_1h)
  }
  return dearest
}

function larger(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}

function toCount(quantity: number): bigint {
  if (Number.isSafeInteger(quantity) && quantity >= 0) return BigInt(quantity)
  throw new ApiError('pricing_error', { detail: `${quantity} is not a count` })
}

function roundUp(millionths: bigint): Credits {
  return inRange(divideRoundUp(millionths, PRICE_UNIT))
}

function inRange(credits: Credits): Credits {
  if (credits <= CREDITS_MAX) return credits
  throw new ApiError('pricing_error', { detail: `${credits} credits are out of range` })
}
