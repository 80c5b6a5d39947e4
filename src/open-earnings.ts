// What somebody who leaves has still to get. Payouts stand to the right of accounts, so accounts get it as a function.

import type { OpenEarnings } from './accounts/closing/closing.ts'
import { findPayoutAccount } from './payouts/accounts.ts'
import { readSummary } from './payouts/earnings.ts'
import type { Queryable } from './platform/db.ts'

export async function readOpenEarnings(
  db: Queryable,
  developer_id: string,
  now: Date,
): Promise<OpenEarnings> {
  const sums = await readSummary(db, developer_id, now)
  const { total_earned_credits, total_paid_out_credits, not_payable_credits } = sums
  return {
    open_credits: total_earned_credits - total_paid_out_credits - not_payable_credits,
    in_flight_credits: sums.in_flight_credits,
    not_payable_credits,
    has_payout_account: (await findPayoutAccount(db, developer_id))?.payouts_enabled === true,
  }
}
