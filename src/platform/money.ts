// Credits: whole numbers, 1,000,000 = $1.00, always bigint. Every rounding has a name.

export type Credits = bigint

/** The largest balance: beyond it JSON readers would lose digits. About $9.0 billion. */
export const CREDITS_MAX: Credits = 9_007_199_254_740_991n

export const CREDITS_PER_DOLLAR: Credits = 1_000_000n

/** Exact: a cent is a whole number of credits. */
export const CREDITS_PER_CENT: Credits = CREDITS_PER_DOLLAR / 100n

/** Rounds up to the next whole unit: what a call costs. For amounts from 0 on. */
export function divideRoundUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor - 1n) / divisor
}

/** For a reader: exact, with cents at least. */
export function formatDollars(credits: Credits): string {
  const whole = (credits / CREDITS_PER_DOLLAR).toLocaleString('en')
  const fraction = String(credits % CREDITS_PER_DOLLAR).padStart(6, '0')
  return `$${whole}.${fraction.slice(0, 2)}${fraction.slice(2).replace(/0+$/, '')}`
}

/**
 * JSON for records written outside the serialiser (streams, logs): bigint as a plain number. Most hold none,
 * and looking at every field for one costs five times as much as writing it.
 */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, entry) =>
      typeof entry === 'bigint' ? Number(entry) : entry,
    )
  }
}

/**
 * An amount as a person types it: `10`, `$2.50`, `2,50`, `1,000.00`. Undefined where it is none, or where it
 * could be read in two ways: `1,000` alone may be a thousand or one.
 */
export function parseDollars(text: string): Credits | undefined {
  const plain = text.trim().replace(/^\$\s*/, '')
  const grouped = /^\d{1,3}(,\d{3})+\.\d+$/.test(plain) ? plain.replaceAll(',', '') : plain
  const found = /^(\d{1,9})(?:\.(\d{1,6})|,(\d{1,2}))?$/.exec(grouped)
  if (!found) return undefined
  const [, whole = '', decimals, cents] = found
  return BigInt(whole) * CREDITS_PER_DOLLAR + BigInt((decimals ?? cents ?? '').padEnd(6, '0'))
}
