// What everybody used, for operators. The sums are by the hour of the clock (UTC), so a stretch begins with one.

import type { Queryable } from '../platform/db.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { type ServiceRow, SUM_SERVICE } from './service-store.ts'

export type { ServiceRow } from './service-store.ts'

const HOUR_MS = 3_600_000
const HOURS = 24

/** The hour that runs and the 24 before it. */
export async function readServiceUsage(
  db: Queryable,
  now: Date,
): Promise<{ from: Date; rows: ServiceRow[] }> {
  const from = hourBefore(now, HOURS)
  return { from, rows: await db.run(SUM_SERVICE, [from, ALL_BUCKETS]) }
}

/** The beginning of the hour that was this many hours ago. */
export function hourBefore(now: Date, hours: number): Date {
  return new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS - hours * HOUR_MS)
}

export type Traffic = { requests: bigint; errors: bigint; credits: bigint }

export function addTraffic(rows: readonly ServiceRow[]): Traffic {
  const total: Traffic = { requests: 0n, errors: 0n, credits: 0n }
  for (const row of rows) {
    total.requests += row.requests
    total.errors += row.errors
    total.credits += row.credits
  }
  return total
}
