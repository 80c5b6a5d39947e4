// What the batch knows of an account at the processor, asked again when it is more than a day old.

import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import { refreshPayoutAccount } from './accounts.ts'
import { DAY_MS } from './rules.ts'
import type { CandidateRow } from './store.ts'
import { createProcessor } from './stripe-processor.ts'
import { type Processor, TRANSFER_LIMITS } from './transfers.ts'

/** Whether the account may be paid. A processor that does not answer leaves what was known. */
export async function mayBePaid(
  db: Db,
  processor: Processor & { log: Log },
  { candidate, now }: { candidate: CandidateRow; now: Date },
): Promise<boolean> {
  const { developer_id, stripe_account_id, payouts_enabled, payouts_blocked, mirrored_at } =
    candidate
  if (stripe_account_id === null || payouts_blocked) return false
  if (mirrored_at && now.getTime() - mirrored_at.getTime() <= DAY_MS) return payouts_enabled
  const { stripe, transfer_limits: limits = TRANSFER_LIMITS } = processor
  const parts = {
    db,
    log: processor.log,
    clock: { now: () => now },
    processor: createProcessor(stripe, limits.timeout),
  }
  try {
    const account = await refreshPayoutAccount(parts, developer_id)
    return account?.stripe_account_id === stripe_account_id && account.payouts_enabled
  } catch {
    return payouts_enabled
  }
}
