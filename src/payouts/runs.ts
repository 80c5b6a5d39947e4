// The batches that were made, and what a batch would pay now.

import { readCursor, toPage } from '../http/schemas.ts'
import type { Queryable } from '../platform/db.ts'
import { type BatchParts, type BatchResult, type Payable, runBatch } from './batch.ts'
import { INSERT_RUN, LIST_RUNS, NOTE_RUN } from './store.ts'

/** Whom a preview names; the others are in its sums. */
const NAMED_MAX = 200

/** A batch that an operator asks for. */
export async function beginRun(
  db: Queryable,
  run: { id: string; started_by: string; at: Date },
): Promise<void> {
  await db.run(INSERT_RUN, [run.id, run.started_by, run.at])
}

/** `ended_at` is null while it is to be tried again. */
export async function noteRun(
  db: Queryable,
  id: string,
  { result, ended_at }: { result: BatchResult; ended_at: Date | null },
): Promise<void> {
  const { paid, failed, pending, paid_cents } = result
  const outcome = result.reason ?? result.status
  await db.run(NOTE_RUN, [id, ended_at, outcome, paid, failed, pending, paid_cents])
}

/** Newest first. */
export async function listRuns(
  db: Queryable,
  { cursor, limit }: { cursor: string | undefined; limit: number },
) {
  const rows = await db.run(LIST_RUNS, [readCursor(cursor), limit + 1])
  return toPage(rows, limit, (row) => row.id)
}

export type Preview = {
  total_cents: bigint
  developers: number
  suspended: number
  /** The first of them. */
  payouts: Omit<Payable, 'outcome'>[]
  /** All of them. */
  developer_ids: ReadonlySet<string>
}

/** What a batch would pay as of now. It reads every developer's sums, a page at a time. */
export async function previewBatch(parts: BatchParts, now: Date): Promise<Preview> {
  const developer_ids = new Set<string>()
  const payouts: Payable[] = []
  let total_cents = 0n
  const onPayout = (payout: Payable) => {
    total_cents += payout.amount_cents
    developer_ids.add(payout.developer_id)
    if (payouts.length < NAMED_MAX) payouts.push(payout)
  }
  const { suspended } = await runBatch(parts, { now, dry_run: true, onPayout })
  return { total_cents, developers: developer_ids.size, suspended, payouts, developer_ids }
}
