// When there were calls that a filter asks for. A list reads newest first until its page is full; of calls that are rare it would
// read all others on the way, millions of them for one page. The sums say on which days there are any, and in which hours.

import type { Queryable } from '../platform/db.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { byDay, grainsFor } from './grains.ts'
import { COUNT_CALLS, type CountRow } from './summary-store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** So few days are read as they are: to ask for their hours costs more. */
const DAYS_AS_THEY_ARE = 2
/** Beyond these days hours are not asked for. */
const DAYS_BY_HOUR_MAX = 100

export type Range = { from: Date; to: Date }

export type TimesAsked = Range & {
  filters: readonly (string | null)[]
  by_key: boolean
  by_user: boolean
  /** How many calls are enough. */
  wanted: number
}

/** What has to be read for a page: within the range, newest first; nothing if no call fits. */
export async function findTimes(
  db: Queryable,
  account_id: string,
  asked: TimesAsked,
): Promise<Range[]> {
  const first = new Date(Math.floor(asked.from.getTime() / DAY_MS) * DAY_MS)
  const whole = { from: first, to: asked.to }
  const days = enoughDays(
    await count(db, account_id, asked, { unit: 'day', pieces: [whole] }),
    asked,
  )
  if (days.length <= DAYS_AS_THEY_ARE) return within(asked, spansOf(days, DAY_MS))
  const near = days.slice(0, DAYS_BY_HOUR_MAX)
  const pieces = spansOf(near, DAY_MS)
  const hours = await count(db, account_id, asked, { unit: 'hour', pieces })
  const [newest, oldest] = [days[DAYS_BY_HOUR_MAX], days.at(-1)]
  const far = newest && oldest ? [{ from: oldest, to: addTo(newest, DAY_MS) }] : []
  return within(asked, [...spansOf(startsOf(hours), HOUR_MS), ...far])
}

type Counting = { unit: 'hour' | 'day'; pieces: readonly Range[] }

async function count(
  db: Queryable,
  account_id: string,
  asked: TimesAsked,
  { unit, pieces }: Counting,
): Promise<CountRow[]> {
  const by_hour = grainsFor(asked)
  const grains = unit === 'day' ? by_hour.map(byDay) : by_hour
  const all = grains.flatMap((grain) => pieces.map((piece) => ({ grain, ...piece })))
  return await db.run(COUNT_CALLS, [
    account_id,
    all.map(({ grain }) => grain),
    all.map(({ from }) => from),
    all.map(({ to }) => to),
    ...asked.filters,
    unit,
    ALL_BUCKETS,
  ])
}

/** The newest days that have as many calls as are wanted, or all of them. */
function enoughDays(days: readonly CountRow[], { to, wanted }: TimesAsked): Date[] {
  let found = 0n
  const enough = days.findIndex(({ start, requests, errors }) => {
    // Of a day that the range ends in, none may be before the end. Failed calls are not kept as long as their sums.
    if (addTo(start, DAY_MS) <= to) found += requests - errors
    return found >= BigInt(wanted)
  })
  return startsOf(enough === -1 ? days : days.slice(0, enough + 1))
}

function startsOf(rows: readonly CountRow[]): Date[] {
  return rows.map(({ start }) => start)
}

/** Newest first; units that follow each other are one. */
function spansOf(starts: readonly Date[], unit_ms: number): Range[] {
  const spans: Range[] = []
  for (const start of starts) {
    const last = spans.at(-1)
    if (last?.from.getTime() === start.getTime() + unit_ms) last.from = start
    else spans.push({ from: start, to: addTo(start, unit_ms) })
  }
  return spans
}

function within({ from, to }: Range, spans: readonly Range[]): Range[] {
  return spans
    .map((span) => ({
      from: span.from > from ? span.from : from,
      to: span.to < to ? span.to : to,
    }))
    .filter((span) => span.from < span.to)
}

function addTo(at: Date, ms: number): Date {
  return new Date(at.getTime() + ms)
}
