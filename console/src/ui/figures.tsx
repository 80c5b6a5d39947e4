// Money, times and states as they stand in text and tables.

import type { ReactNode } from 'react'
import {
  type Credits,
  formatCredits,
  formatDay,
  formatDistance,
  formatDollars,
  formatTime,
  formatUtc,
} from '../format.ts'

/** Dollars, where people decide; the exact credits on hover. */
export function Money({ credits }: { credits: Credits }) {
  return <span title={`${formatCredits(credits)} credits`}>{formatDollars(credits)}</span>
}

/** Whole credits, where it must be exact; dollars on hover. */
export function CreditAmount({ credits }: { credits: Credits }) {
  return <span title={formatDollars(credits)}>{formatCredits(credits)}</span>
}

/** Local, with UTC on hover. `distance`: "3 minutes ago". */
export function Time({ at, as = 'time' }: { at: string; as?: 'time' | 'day' | 'distance' }) {
  const formats = { time: formatTime, day: formatDay, distance: formatDistance }
  return (
    <time
      dateTime={at}
      title={as === 'distance' ? `${formatTime(at)} · ${formatUtc(at)}` : formatUtc(at)}
    >
      {formats[as](at)}
    </time>
  )
}

/** A state by its word; the colour only repeats it. */
export function Badge({
  tone = 'plain',
  children,
}: {
  tone?: 'plain' | 'good' | 'warn' | 'danger'
  children: ReactNode
}) {
  return <span className={`badge ${tone}`}>{children}</span>
}

const NEAR_LIMIT = 0.85

/** How much of a limit is used up. */
export function LimitMeter({ used, limit, label }: { used: number; limit: number; label: string }) {
  const share = limit > 0 ? Math.min(used / limit, 1) : 1
  const tone = share >= 1 ? 'danger' : share >= NEAR_LIMIT ? 'warn' : ''
  return (
    <span
      className={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
    >
      <span className="meter-bar" style={{ width: `${share * 100}%` }} />
    </span>
  )
}
