// What an operator sees and does: payouts of everybody, and letting a developer be paid again.

import type { Queryable } from '../platform/db.ts'
import {
  type PayoutRow,
  SELECT_ALL_PAYOUTS,
  SELECT_PAYOUT,
  SELECT_PAYOUTS_IN_STATUS,
  UNBLOCK_ACCOUNT,
} from './store.ts'

export type { PayoutRow } from './store.ts'

export async function listPayouts(
  db: Queryable,
  wanted: { status: PayoutRow['status'] | undefined; before_id?: string | null; limit: number },
): Promise<PayoutRow[]> {
  const { status, before_id = null, limit } = wanted
  if (status === undefined) return await db.run(SELECT_ALL_PAYOUTS, [before_id, limit])
  return await db.run(SELECT_PAYOUTS_IN_STATUS, [before_id, limit, status])
}

export async function readPayout(db: Queryable, id: string): Promise<PayoutRow | undefined> {
  const [payout] = await db.run(SELECT_PAYOUT, [id])
  return payout
}

/** False if nothing was in the way. */
export async function unblockPayouts(db: Queryable, developer_id: string): Promise<boolean> {
  return (await db.run(UNBLOCK_ACCOUNT, [developer_id])).length > 0
}
