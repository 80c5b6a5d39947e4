// What an owner should look at: keys near their limit or their end, webhooks whose deliveries fail.

import type { Clock } from '../platform/clock.ts'
import type { Queryable } from '../platform/db.ts'
import { bucketOf } from '../wallet/bucket.ts'
import { spendPeriod } from '../wallet/spend-limits.ts'
import {
  SELECT_URGENT_KEYS,
  SELECT_URGENT_WEBHOOKS,
  type UrgentKeyRow,
  type UrgentWebhookRow,
} from './attention-store.ts'

const DAY_MS = 24 * 3_600_000
export const NEAR_LIMIT_PERCENT = 85
export const FAILING_PERCENT = 10
export const EXPIRES_WITHIN_DAYS = 14
/** Who wonders why calls are refused still finds the key. */
const EXPIRED_SHOWN_DAYS = 7
/** Of each kind: more would not be read. */
const ROWS_MAX = 10

export type Attention = { keys: UrgentKeyRow[]; webhooks: UrgentWebhookRow[] }

export async function readAttention(
  { db, clock }: { db: Queryable; clock: Clock },
  account_id: string,
): Promise<Attention> {
  const now = clock.now()
  const daysFromNow = (days: number) => new Date(now.getTime() + days * DAY_MS)
  const keys = await db.run(SELECT_URGENT_KEYS, [
    account_id,
    bucketOf(account_id),
    spendPeriod('day', now),
    spendPeriod('month', now),
    spendPeriod('total', now),
    NEAR_LIMIT_PERCENT,
    daysFromNow(-EXPIRED_SHOWN_DAYS),
    daysFromNow(EXPIRES_WITHIN_DAYS),
    ROWS_MAX,
  ])
  const webhooks = await db.run(SELECT_URGENT_WEBHOOKS, [account_id, FAILING_PERCENT, ROWS_MAX])
  return { keys, webhooks }
}
