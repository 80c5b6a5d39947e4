// What an operator sees and does: payouts of everybody, and letting a developer be paid again.

import type { Queryable } from '../platform/db.ts'
import { type PayoutRow, SELECT_ALL_PAYOUTS, SELECT_PAYOUT, UNBLOCK_ACCOUNT } from './store.ts'

export async function listPayouts(
  db: Queryable,
  wanted: { status: PayoutRow['status'] | undefined; limit: number },
): Promise<PayoutRow[]> {
  return await db.run(SELECT_ALL_PAYOUTS, [null, wanted.status ?? null, wanted.limit])
}

export async function readPayout(db: Queryable, id: string): Promise<PayoutRow | undefined> {
  const [payout] = await db.run(SELECT_PAYOUT, [id])
  return payout
}

/** False if nothing was in the way. */
export async function unblockPayouts(db: Queryable, developer_id: string): Promise<boolean> {
  return (await db.run(UNBLOCK_ACCOUNT, [developer_id])).length > 0
}
