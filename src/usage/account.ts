// One's account with its wallet, and the balance below which its owner is told.

import type { Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { bucketOf } from '../wallet/bucket.ts'
import {
  type AccountOverviewRow,
  SELECT_ACCOUNT_OVERVIEW,
  SET_LOW_BALANCE,
} from './account-store.ts'

export async function readAccount(db: Queryable, account_id: string): Promise<AccountOverviewRow> {
  const [row] = await db.run(SELECT_ACCOUNT_OVERVIEW, [account_id, bucketOf(account_id)])
  if (!row) throw new ApiError('user_not_found')
  return row
}

/** Null: never. */
export async function setLowBalance(
  db: Queryable,
  account_id: string,
  credits: bigint | null,
): Promise<void> {
  const changed = await db.run(SET_LOW_BALANCE, [account_id, credits])
  if (changed.length === 0) throw new ApiError('user_not_found')
}
