// What the last checks of the book have found, kept for operators: one row for each part of it.

import type { Queryable } from '../platform/db.ts'
import { toJson } from '../platform/money.ts'
import type { LedgerReport } from './check.ts'
import {
  type CheckRow,
  LIST_CHECKS,
  LIST_LAST_SEALS,
  RECORD_CHECK,
  SELECT_GUARD,
  type SealRow,
} from './check-record-store.ts'

const SEALS_SHOWN = 24

export async function recordCheck(
  db: Queryable,
  report: LedgerReport,
  made: { part: string; at: Date; duration_ms: number },
): Promise<void> {
  const { proofs, totals } = report
  const found = proofs
    .filter((proof) => proof.differences > 0)
    .map(({ name, differences, first }) => ({ name, differences, first }))
  const sums = Object.entries(totals ?? {}).map(([account, total]) => [account, total.toString()])
  await db.run(RECORD_CHECK, [
    made.part,
    made.at,
    Math.round(made.duration_ms),
    proofs.reduce((sum, proof) => sum + proof.checked, 0),
    proofs.reduce((sum, proof) => sum + proof.differences, 0),
    toJson(found),
    totals ? toJson(Object.fromEntries(sums)) : null,
  ])
}

export type BookState = {
  checks: CheckRow[]
  seals: SealRow[]
  /** Null: only a check can say. */
  wallets_below_zero: 0 | null
}

export async function readBookState(db: Queryable): Promise<BookState> {
  const checks = await db.run(LIST_CHECKS)
  const seals = await db.run(LIST_LAST_SEALS, [SEALS_SHOWN])
  const [guard] = await db.run(SELECT_GUARD)
  return { checks, seals, wallets_below_zero: guard?.guarded ? 0 : null }
}
