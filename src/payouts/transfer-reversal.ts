// What becomes of a payout whose transfer was reversed.

import type { Tx } from '../platform/db.ts'

export type ReversedTransfer = {
  id: string
  /** The payout's id. */
  transfer_group: string | null
  amount_cents: bigint
  amount_reversed_cents: bigint
}

/** Called once for each event, in the transaction that notes it. Payouts are not made yet, so there is none to find. */
export async function onTransferReversed(_tx: Tx, _transfer: ReversedTransfer): Promise<void> {}
