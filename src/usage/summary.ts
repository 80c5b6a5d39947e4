// What was used, added up by time and by model, key, app, user or error. The sums are kept by the hour and the day (UTC),
// so a range is one of whole hours.

import type { Clock } from '../platform/clock.ts'
import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { type CallFilters, filterValues, readTime } from './calls.ts'
import { byDay, grainsFor } from './grains.ts'
import { type CellRow, SUM_USAGE } from './summary-store.ts'

export const INTERVALS = ['hour', 'day'] as const
export const GROUPINGS = ['model', 'key', 'app', 'external_user', 'error'] as const

export type SummaryAsked = CallFilters & {
  from?: string
  to?: string
  interval: (typeof INTERVALS)[number]
  group_by?: (typeof GROUPINGS)[number]
}

export type Sums = Omit<CellRow, 'start' | 'group' | 'is_other'>

export type Summary = { from: Date; to: Date; data: CellRow[]; total: Sums }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Without a `from`: up to and with the day of `to`. */
const DEFAULT_DAYS = { hour: 2, day: 30 } as const
/** Bounds the cells of one answer. */
const DAYS_MAX = { hour: 31, day: 366 } as const
const GROUPS_MAX = 100

export async function sumUsage(
  db: Queryable,
  clock: Clock,
  asked: SummaryAsked & { account_id: string },
): Promise<Summary> {
  const { account_id, interval, group_by } = asked
  const { from, to } = readRange(clock.now(), asked)
  const grains = grainsFor({
    by_key: group_by === 'key' || asked.key_id !== undefined,
    by_user: group_by === 'external_user' || asked.external_user_id !== undefined,
  })
  const pieces = piecesOf({ from, to }, interval, grains)
  const data = await db.run(SUM_USAGE, [
    account_id,
    pieces.map((piece) => piece.grain),
    pieces.map((piece) => piece.from),
    pieces.map((piece) => piece.to),
    ...filterValues(asked),
    interval,
    group_by ?? null,
    GROUPS_MAX,
    ALL_BUCKETS,
  ])
  return { from, to, data, total: addUp(data) }
}

type Piece = { grain: number; from: Date; to: Date }

/** Whole days are read by the day where days are asked for, the rest by the hour. */
function piecesOf(
  { from, to }: { from: Date; to: Date },
  interval: SummaryAsked['interval'],
  grains: readonly number[],
): Piece[] {
  const first_day = new Date(Math.ceil(from.getTime() / DAY_MS) * DAY_MS)
  const last_day = new Date(Math.floor(to.getTime() / DAY_MS) * DAY_MS)
  if (interval === 'hour' || first_day >= last_day) {
    return grains.map((grain) => ({ grain, from, to }))
  }
  return grains.flatMap((grain) => [
    { grain, from, to: first_day },
    { grain: byDay(grain), from: first_day, to: last_day },
    { grain, from: last_day, to },
  ])
}

/** Outwards to whole hours. */
function readRange(now: Date, asked: SummaryAsked): { from: Date; to: Date } {
  const { interval } = asked
  const to = readTime('to', asked.to) ?? new Date(now.getTime() + 1)
  const today = Math.floor(to.getTime() / DAY_MS) * DAY_MS
  const from =
    readTime('from', asked.from) ?? new Date(today - (DEFAULT_DAYS[interval] - 1) * DAY_MS)
  const range = {
    from: new Date(Math.floor(from.getTime() / HOUR_MS) * HOUR_MS),
    to: new Date(Math.ceil(to.getTime() / HOUR_MS) * HOUR_MS),
  }
  if (range.from >= range.to) {
    throw new ApiError('bad_request', { message: 'query.from is not before query.to.' })
  }
  if (range.to.getTime() - range.from.getTime() > DAYS_MAX[interval] * DAY_MS) {
    throw new ApiError('bad_request', {
      message: `With interval=${interval} a summary covers at most ${DAYS_MAX[interval]} days.`,
    })
  }
  return range
}

function addUp(cells: readonly CellRow[]): Sums {
  const total = {
    credits: 0n,
    own_credits: 0n,
    cost_credits: 0n,
    markup_credits: 0n,
    requests: 0n,
    errors: 0n,
    input_tokens: 0n,
    cached_input_tokens: 0n,
    cache_write_tokens: 0n,
    output_tokens: 0n,
  } satisfies Sums
  for (const cell of cells) {
    for (const name of Object.keys(total) as (keyof Sums)[]) total[name] += cell[name]
  }
  return total
}
