// Operators make a batch of payouts: first they see what it would pay, and then make it for that sum. It pays nobody who was
// not in the sum; transfers that were in doubt are resolved beside it, as by every batch.

import { type BatchOptions, type BatchParts, type BatchResult, runBatch } from '../payouts/batch.ts'
import { beginRun, noteRun, previewBatch } from '../payouts/runs.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { mintId } from '../platform/tokens.ts'
import { type IdempotentAnswer, withIdempotency } from '../wallet/idempotency.ts'
import { type By, recordAct } from './acts.ts'

export type RunParts = BatchParts & { clock: Clock }

type Run = { id: string; now: Date }

/** From the command line: the record and the run's row, then the batch itself. */
export async function runPayouts(
  parts: RunParts,
  by: By,
  options: BatchOptions,
): Promise<BatchResult> {
  const run = { id: mintId({ at: parts.clock.now() }), now: options.now }
  await parts.db.transaction((tx) => noteStart(parts, tx, run, by))
  return await makeBatch(parts, run, options)
}

export type WantedRun = { expected_total_cents: number }

/**
 * Answers before the batch is made, once for each Idempotency-Key: whoever asks again gets the same answer, and no
 * second batch. `begin` makes it, and is there only the first time.
 */
export async function startPayoutRun(
  parts: RunParts,
  wanted: WantedRun,
  by: By & { operator_id: string; idempotency_key: string | undefined },
): Promise<{ answer: IdempotentAnswer; begin?: (signal: AbortSignal) => Promise<void> }> {
  const { idempotency_key, ...actor } = by
  const now = parts.clock.now()
  const run = { id: mintId({ at: now }), now }
  const claim = {
    principal: by.operator_id,
    endpoint: 'POST /operator/payout-runs',
    key: idempotency_key,
    body: { ...wanted, reason: by.reason },
    at: now,
  }
  let only: ReadonlySet<string> = new Set()
  const answer = await withIdempotency(parts.db, claim, async (tx) => {
    const { total_cents, developers, developer_ids } = await previewBatch(parts, now)
    requireSame(BigInt(wanted.expected_total_cents), total_cents)
    only = developer_ids
    const details = { total_cents: total_cents.toString(), developers }
    await noteStart(parts, tx, run, { ...actor, details })
    return { status: 202, body: { id: run.id, dry_run: false, total_cents, developers } }
  })
  if (answer.replayed) return { answer }
  return { answer, begin: (signal) => finishRun(parts, run, { now, only, signal }) }
}

async function noteStart(
  { clock }: RunParts,
  tx: Tx,
  run: Run,
  by: By & { details?: Record<string, string | number> },
): Promise<void> {
  await beginRun(tx, { id: run.id, started_by: by.who, at: run.now })
  const details = { run_id: run.id, ...by.details }
  await recordAct(clock, tx, {
    ...by,
    act: 'payouts run',
    subject: 'everybody who is due',
    details,
  })
}

async function makeBatch(parts: RunParts, run: Run, options: BatchOptions): Promise<BatchResult> {
  const result = await runBatch(parts, options)
  await noteRun(parts.db, run.id, { result, ended_at: parts.clock.now() })
  return result
}

/** What it leaves undone, the next batch does. */
async function finishRun(parts: RunParts, run: Run, options: BatchOptions): Promise<void> {
  try {
    await makeBatch(parts, run, options)
  } catch (error) {
    parts.log.error({ alarm: 'payout', err: error, run_id: run.id }, 'an operator’s batch failed')
  }
}

function requireSame(expected: bigint, found: bigint): void {
  if (expected === found) return
  throw new ApiError('bad_request', {
    status: 409,
    message: `The batch would pay ${found} cents now, not ${expected}.`,
    hint: 'Look at a dry run again, and send its total.',
    param: 'expected_total_cents',
  })
}
