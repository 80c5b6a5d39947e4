// Numbers and times as people read them. Each formatter is made at its first use: seven at once cost 70 ms at start.

export const CREDITS_PER_DOLLAR = 1_000_000
const CREDITS_PER_CENT = 10_000
const MINUS = '\u2212'
const MINUTE_S = 60
const HOUR_S = 3_600
const DAY_S = 86_400

export type Credits = number | string | bigint

/** "$12.34". What is less than a cent and not nothing says so. */
export function formatDollars(credits: Credits): string {
  const amount = Number(credits)
  const size = Math.abs(amount)
  const sign = amount < 0 ? MINUS : ''
  if (size > 0 && size < CREDITS_PER_CENT) return `${sign}<$0.01`
  return `${sign}$${twoDecimals().format(size / CREDITS_PER_DOLLAR)}`
}

/** Of an amount that Stripe moves, which is in cents. */
export function formatCents(cents: number): string {
  return formatDollars(cents * CREDITS_PER_CENT)
}

/** Transfers are of whole cents, rounded down. */
export function inWholeCents(credits: number): number {
  return Math.floor(credits / CREDITS_PER_CENT) * CREDITS_PER_CENT
}

/** "1,234,567", to the credit. */
export function formatCredits(credits: Credits): string {
  const amount = BigInt(credits)
  return amount < 0n ? MINUS + whole().format(-amount) : whole().format(amount)
}

export function formatCount(count: number): string {
  return count < 0 ? MINUS + whole().format(-count) : whole().format(count)
}

/** What was typed as dollars, in credits: exact, because it never passes through a float. Undefined if it is no amount. */
export function readDollars(text: string): number | undefined {
  const parts = /^\$?\s*(\d{1,12})(?:\.(\d{1,6}))?$/.exec(text.trim().replaceAll(',', ''))
  if (!parts) return undefined
  const credits = BigInt(parts[1] ?? '0') * 1_000_000n + BigInt((parts[2] ?? '').padEnd(6, '0'))
  return credits <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(credits) : undefined
}

/** For a field that holds dollars: without separators, and no more decimals than it needs. */
export function writeDollars(credits: number): string {
  const rest = String(credits % CREDITS_PER_DOLLAR)
    .padStart(6, '0')
    .replace(/0{1,4}$/, '')
  const dollars = Math.floor(credits / CREDITS_PER_DOLLAR)
  return rest === '00' ? String(dollars) : `${dollars}.${rest}`
}

/** "Nov 16, 2026, 2:30 PM" where the reader is. */
export function formatTime(iso: string): string {
  return localTime().format(new Date(iso))
}

export function formatDay(iso: string): string {
  return localDay().format(new Date(iso))
}

/** For the hover of a local time. */
export function formatUtc(iso: string): string {
  return `${new Date(iso).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** "3 minutes ago", "in 2 days". */
export function formatDistance(iso: string, now = Date.now()): string {
  const seconds = Math.round((new Date(iso).getTime() - now) / 1_000)
  const size = Math.abs(seconds)
  if (size < MINUTE_S) return seconds <= 0 ? 'just now' : 'in a moment'
  if (size < HOUR_S) return relative().format(Math.trunc(seconds / MINUTE_S), 'minute')
  if (size < DAY_S) return relative().format(Math.trunc(seconds / HOUR_S), 'hour')
  return relative().format(Math.trunc(seconds / DAY_S), 'day')
}

const whole = once(() => new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 }))
const twoDecimals = once(
  () => new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 }),
)
const localTime = once(
  () => new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short' }),
)
const localDay = once(() => new Intl.DateTimeFormat('en-US', { dateStyle: 'medium' }))
const relative = once(() => new Intl.RelativeTimeFormat('en-US', { numeric: 'auto' }))

function once<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => (made ??= make())
}
