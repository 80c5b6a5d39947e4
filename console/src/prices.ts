// Prices as people read them. The API has them in credits per million units.

import { CREDITS_PER_DOLLAR, formatDollars } from './format.ts'

export type PriceUnit = 'token' | 'character' | 'hour' | 'generation'

const MILLION = 1_000_000
const LEAST_SHOWN = 100
const PER: Record<PriceUnit, { words: string; units: number }> = {
  token: { words: 'per million tokens', units: MILLION },
  character: { words: 'per million characters', units: MILLION },
  hour: { words: 'an hour', units: 1 },
  generation: { words: 'a sound', units: 1 },
}

/** "$0.15 per million tokens", "$0.22 an hour". */
export function formatPrice(price: number, unit: PriceUnit): string {
  const { words, units } = PER[unit]
  return `${formatSmallDollars((price * units) / MILLION)} ${words}`
}

/** "$0.15", "$0.000075": every decimal that there is. */
export function formatSmallDollars(credits: number): string {
  const dollars = (credits / CREDITS_PER_DOLLAR).toFixed(8)
  return `$${dollars.replace(/(\.\d\d\d*?)0+$/, '$1')}`
}

/** Dollars of a part of a sum: below one dollar with four decimals, where two would say nothing. */
export function formatSpend(credits: number): string {
  if (credits === 0 || credits >= CREDITS_PER_DOLLAR) return formatDollars(credits)
  return credits < LEAST_SHOWN ? '<$0.0001' : `$${(credits / CREDITS_PER_DOLLAR).toFixed(4)}`
}

/** Millionths of a credit as credits: "61.35". Exact, because it never passes through a float. */
export function formatMillionths(millionths: number): string {
  const all = BigInt(millionths)
  const rest = String(all % BigInt(MILLION))
    .padStart(6, '0')
    .replace(/0+$/, '')
  const whole = (all / BigInt(MILLION)).toLocaleString('en-US')
  return rest === '' ? whole : `${whole}.${rest}`
}
