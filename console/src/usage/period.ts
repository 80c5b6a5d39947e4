// Periods. Days and hours are those of UTC everywhere, and every label says so.

export const PERIODS = ['24h', '7d', '30d', 'month', '90d'] as const
export type PeriodName = (typeof PERIODS)[number]

export type Period = {
  /** ISO 8601; its end is now. */
  from: string
  interval: 'hour' | 'day'
  /** "last 30 days (UTC)". */
  label: string
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** More than the API ever answers with. */
const STEPS_MAX = 750

export const PERIOD_CHOICES: readonly (readonly [PeriodName, string])[] = [
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
  ['month', 'This month'],
  ['90d', 'Last 90 days'],
]

export function periodOf(name: PeriodName, now: number): Period {
  const today = now - (now % DAY_MS)
  const days = (count: number): Period => ({
    from: new Date(today - (count - 1) * DAY_MS).toISOString(),
    interval: 'day',
    label: `last ${count} days (UTC)`,
  })
  switch (name) {
    case '24h':
      return {
        from: new Date(now - (now % HOUR_MS) - 23 * HOUR_MS).toISOString(),
        interval: 'hour',
        label: 'last 24 hours',
      }
    case 'month': {
      const first = new Date(today)
      first.setUTCDate(1)
      return { from: first.toISOString(), interval: 'day', label: 'this month (UTC)' }
    }
    case '7d':
      return days(7)
    case '30d':
      return days(30)
    case '90d':
      return days(90)
  }
}

/** The starts of all hours or days of a summary, also of those without a call. */
export function stepsOf({ from, to, interval }: { from: string; to: string; interval: string }) {
  const length = interval === 'hour' ? HOUR_MS : DAY_MS
  const begin = Date.parse(from)
  const count = Math.ceil((Date.parse(to) - (begin - (begin % length))) / length)
  return Array.from({ length: Math.min(Math.max(count, 1), STEPS_MAX) }, (_, step) =>
    new Date(begin - (begin % length) + step * length).toISOString(),
  )
}

const HOUR = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const

/** "Nov 16", or "Nov 16, 14:00". */
export function nameStep(start: string, interval: string): string {
  return new Date(start).toLocaleString('en-US', {
    month: 'short',
    day: 'numeric',
    timeZone: 'UTC',
    ...(interval === 'hour' && HOUR),
  })
}
