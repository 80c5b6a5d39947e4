// What the batch knows of an account at the processor, asked again when it is more than a day old.

import type { Db } from '../platform/db.ts'
import { DAY_MS } from './rules.ts'
import { type CandidateRow, UPDATE_MIRROR } from './store.ts'
import { type Processor, TRANSFER_LIMITS } from './transfers.ts'

/** Whether the account may be paid. A processor that does not answer leaves what was known. */
export async function mayBePaid(
  db: Db,
  processor: Processor,
  { candidate, now }: { candidate: CandidateRow; now: Date },
): Promise<boolean> {
  const { stripe_account_id, payouts_enabled, payouts_blocked, mirrored_at } = candidate
  if (stripe_account_id === null || payouts_blocked) return false
  if (mirrored_at && now.getTime() - mirrored_at.getTime() <= DAY_MS) return payouts_enabled
  try {
    const { stripe, transfer_limits: limits = TRANSFER_LIMITS } = processor
    const account = await stripe.accounts.retrieve(stripe_account_id, undefined, limits)
    await db.run(UPDATE_MIRROR, [
      candidate.developer_id,
      account.charges_enabled,
      account.payouts_enabled,
      account.details_submitted,
      account.requirements?.disabled_reason ?? null,
      now,
    ])
    return account.payouts_enabled
  } catch {
    return payouts_enabled
  }
}
