// What a developer earned and where it is now. The sums close at every instant:
//   total_earned = on_hold + pending_payout + accumulating + in_flight + total_paid_out + reserve_held
//                + released_reserve + not_payable

import { readCursor, toPage } from '../http/schemas.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import {
  FOLD_EARNINGS,
  type OwnPayoutRow,
  SELECT_BY_APP,
  SELECT_BY_DAY,
  SELECT_BY_DAY_AND_APP,
  SELECT_OWN_PAYOUTS,
  SELECT_SUMS,
  type SeriesRow,
} from './earnings-store.ts'
import { DAY_MS, eligibleUntil, splitEligible } from './rules.ts'

const FOLD_LIMIT = 10_000
const SERIES_DAYS = 30
const SERIES_DAYS_MAX = 366
/** Nothing was earned before; and PostgreSQL has no year 0, which JavaScript has. */
const FIRST_DAY = '2000-01-01'

export type EarningsSummary = {
  total_earned_credits: bigint
  pending_payout_credits: bigint
  accumulating_credits: bigint
  reserve_held_credits: bigint
  total_paid_out_credits: bigint
  /** Inside the seven days. */
  on_hold_credits: bigint
  /** The gross of a payout whose outcome is not known yet. */
  in_flight_credits: bigint
  /** Reserves past their ninety days; the next payout takes them along. */
  released_reserve_credits: bigint
  /** Earned with credits that nobody paid for. */
  not_payable_credits: bigint
}

export async function readSummary(
  db: Queryable,
  developer_id: string,
  now: Date,
): Promise<EarningsSummary> {
  const [sums] = await db.run(SELECT_SUMS, [developer_id, eligibleUntil(now), now, ALL_BUCKETS])
  if (!sums) throw new Error('sums are one row')
  const { pending_payout, accumulating } = splitEligible(sums.eligible)
  return {
    total_earned_credits: sums.total_earned,
    pending_payout_credits: pending_payout,
    accumulating_credits: accumulating,
    reserve_held_credits: sums.reserve_held,
    total_paid_out_credits: sums.paid_out,
    on_hold_credits: sums.unclaimed - sums.eligible,
    in_flight_credits: sums.in_flight,
    released_reserve_credits: sums.reserve_released,
    not_payable_credits: sums.not_payable,
  }
}

export async function listOwnPayouts(
  db: Queryable,
  page: { developer_id: string; cursor?: string | undefined; limit: number },
) {
  const after = readCursor(page.cursor)
  const rows = await db.run(SELECT_OWN_PAYOUTS, [page.developer_id, after, page.limit + 1])
  return toPage<OwnPayoutRow>(rows, page.limit, ({ id }) => id)
}

const SERIES = {
  day: SELECT_BY_DAY,
  app: SELECT_BY_APP,
  day_and_app: SELECT_BY_DAY_AND_APP,
} as const

export type SeriesRequest = {
  group_by: keyof typeof SERIES
  from?: string | undefined
  to?: string | undefined
}

/** Days are UTC, both ends included. Days without an earning are left out. */
export async function readSeries(
  db: Queryable,
  developer_id: string,
  wanted: SeriesRequest & { now: Date },
): Promise<SeriesRow[]> {
  const to = wanted.to ?? dayOf(wanted.now)
  const from = wanted.from ?? dayOf(new Date(Date.parse(to) - (SERIES_DAYS - 1) * DAY_MS))
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1
  if (!(days >= 1 && days <= SERIES_DAYS_MAX && Date.parse(from) >= Date.parse(FIRST_DAY))) {
    throw new ApiError('bad_request', {
      message: `query.from and query.to must be 1 to ${SERIES_DAYS_MAX} days, from ${FIRST_DAY} on.`,
    })
  }
  return await db.run(SERIES[wanted.group_by], [developer_id, from, to])
}

function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10)
}

/** Until nothing is left to fold, or somebody else is at it. */
export async function foldEarnings(db: Db, signal: AbortSignal): Promise<void> {
  let folded: number
  do {
    const [row] = await db.run(FOLD_EARNINGS, [FOLD_LIMIT])
    folded = row?.folded ?? 0
  } while (folded === FOLD_LIMIT && !signal.aborted)
}
