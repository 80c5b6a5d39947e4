// Dollars as JSON has them: numbers, in whole cents. Here they are never floats.

import { ApiError } from '../platform/errors.ts'
import { CREDITS_PER_CENT, formatDollars } from '../platform/money.ts'

/** Throws where the number is no whole number of cents within the bounds. */
export function parseUsd(
  amount: number,
  field: { name: string; min_cents: bigint; max_cents: bigint },
): bigint {
  // The shortest text of the number: 20.1 is "20.1", though no float is exactly that.
  const [, whole, decimals = ''] = /^(\d{1,12})(?:\.(\d{1,2}))?$/.exec(String(amount)) ?? []
  const cents = whole === undefined ? -1n : BigInt(whole) * 100n + BigInt(decimals.padEnd(2, '0'))
  if (cents >= field.min_cents && cents <= field.max_cents) return cents
  const [min, max] = [formatCents(field.min_cents), formatCents(field.max_cents)]
  throw new ApiError('bad_request', {
    message: `body.${field.name} must be from ${min} to ${max}, in whole cents.`,
    param: field.name,
  })
}

export function formatCents(cents: bigint): string {
  return formatDollars(cents * CREDITS_PER_CENT)
}

/** For JSON: its shortest text is exact to the cent. */
export function usdNumber(cents: bigint): number {
  return Number(cents) / 100
}
