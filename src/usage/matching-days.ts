// Where in time the calls that a filter asks for are. A list reads newest first until its page is full; of calls that are rare it
// would read all others on the way, a million of them for an empty page. The sums say on which days there are any.

import type { Queryable } from '../platform/db.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { COUNT_DAYS } from './summary-store.ts'

const DAY_MS = 24 * 3_600_000
/** Of usage_hour: sums by the day. Of those with an external user, either all together or each. */
const DAYS_WITHOUT_USERS = [3, 4]
const DAYS_BY_USER = [3, 5]

export type DaysAsked = {
  from: Date
  to: Date
  filters: readonly (string | null)[]
  by_user: boolean
  /** How many calls are enough. */
  wanted: number
}

/** The first instant that has to be read, or undefined if nothing matches. */
export async function findFirstDay(
  db: Queryable,
  account_id: string,
  { from, to, filters, by_user, wanted }: DaysAsked,
): Promise<Date | undefined> {
  const grains = by_user ? DAYS_BY_USER : DAYS_WITHOUT_USERS
  const first = new Date(Math.floor(from.getTime() / DAY_MS) * DAY_MS)
  const days = await db.run(COUNT_DAYS, [
    account_id,
    grains,
    grains.map(() => first),
    grains.map(() => to),
    ...filters,
    ALL_BUCKETS,
  ])
  let found = 0n
  for (const { start, requests, errors } of days) {
    // Of a day that the range ends in, none may be before the end. Failed calls are not kept as long as their sums.
    if (start.getTime() + DAY_MS <= to.getTime()) found += requests - errors
    if (found >= BigInt(wanted)) return start
  }
  return days.at(-1)?.start
}
