// Proves the payout books from their rows, in one snapshot: part of `svc ledger check`, and done after each batch.

import type { Db, Tx } from '../platform/db.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { type LedgerReport, openRange, type Proof, proveAll, reportOf } from '../wallet/check.ts'
import { LIFT_TIME_LIMIT, READ_ONE_SNAPSHOT } from '../wallet/check-store.ts'
import { PAYOUT_BOOK_PROOFS, PAYOUT_PRESENT_PROOFS, PAYOUT_RANGE_PROOFS } from './check-store.ts'

/** A bounded one ends at the time limit of statements. */
export async function checkPayouts(
  db: Db,
  options: { bounded?: boolean } = {},
): Promise<LedgerReport> {
  const proofs = await db.transaction(async (tx) => {
    await tx.run(READ_ONE_SNAPSHOT)
    if (!options.bounded) await tx.run(LIFT_TIME_LIMIT)
    return await provePayouts(tx)
  })
  return reportOf(proofs)
}

/** In the snapshot, or the transaction, that the caller has. */
export async function provePayouts(tx: Tx): Promise<Proof[]> {
  const range = await openRange(tx)
  const buckets = ALL_BUCKETS
  return [
    ...(await proveAll(tx, [...PAYOUT_RANGE_PROOFS, ...PAYOUT_BOOK_PROOFS], { buckets, range })),
    ...(await proveAll(tx, PAYOUT_PRESENT_PROOFS, { buckets })),
  ]
}
