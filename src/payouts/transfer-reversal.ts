// What becomes of a payout whose transfer was reversed at the processor.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { isUuid } from '../platform/tokens.ts'
import { reversePayout } from './payouts.ts'
import { SELECT_PAYOUTS_BY_ID } from './store.ts'

export type ReversedTransfer = {
  id: string
  /** The payout's id. */
  transfer_group: string | null
  amount_reversed_cents: bigint
}

/** Safe to repeat: a payout is taken back once. */
export async function onTransferReversed(
  { db, clock, log }: { db: Db; clock: Clock; log: Log },
  { id: transfer_id, transfer_group, amount_reversed_cents: reversed_cents }: ReversedTransfer,
): Promise<void> {
  const outcome = await reversePayout(db, { transfer_id, reversed_cents, now: clock.now() })
  if (outcome === 'needs_operator') {
    log.error({ alarm: 'payouts', transfer_id }, 'a reversed transfer needs an operator')
  }
  if (outcome !== 'unknown' || transfer_group === null || !isUuid(transfer_group)) return
  const [payout] = await db.run(SELECT_PAYOUTS_BY_ID, [[transfer_group]])
  // Its result is not written yet: the processor asks again.
  if (payout?.status === 'pending') {
    throw new ApiError('service_unavailable', { detail: `payout ${transfer_group} is pending` })
  }
}
