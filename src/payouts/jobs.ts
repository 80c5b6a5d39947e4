// Background work of payouts: folds sums, and makes the batch once a day.

import type { Stripe } from 'stripe'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import { mintId } from '../platform/tokens.ts'
import type { Job } from '../platform/worker.ts'
import { type BatchResult, runBatch } from './batch.ts'
import { checkPayouts } from './check.ts'
import { foldEarnings } from './earnings.ts'
import { lastBatchAt } from './rules.ts'
import { noteRun } from './runs.ts'
import { TAKE_RUN } from './store.ts'

const FOLD_EVERY_MS = 5_000
const LOOK_EVERY_MS = 5 * 60_000
/** A batch that did not end, because its process died or the processor was away, is made again. */
const RETRY_AFTER_MS = 3_600_000

export type PayoutJobParts = {
  db: Db
  database_url: string
  /** Undefined: nobody can be paid. */
  stripe: Stripe | undefined
  clock: Clock
  log: Log
  metrics: LedgerMetrics
}

export function payoutJobs(parts: PayoutJobParts): Job[] {
  return [
    {
      name: 'payouts.fold_earnings',
      every_ms: FOLD_EVERY_MS,
      run: (signal) => foldEarnings(parts.db, signal),
    },
    {
      name: 'payouts.batch',
      every_ms: LOOK_EVERY_MS,
      run: (signal) => runDailyBatch(parts, signal),
    },
  ]
}

/** Whoever takes the day makes its batch. */
async function runDailyBatch(parts: PayoutJobParts, signal: AbortSignal): Promise<void> {
  const { db, stripe, clock, log } = parts
  if (!stripe) return
  const now = clock.now()
  const day = lastBatchAt(now).toISOString().slice(0, 10)
  const retry_before = new Date(now.getTime() - RETRY_AFTER_MS)
  const [taken] = await db.run(TAKE_RUN, [day, now, retry_before, mintId({ at: now })])
  if (!taken) return
  const result = await runBatch({ ...parts, stripe }, { now, signal })
  const { paid_cents, ...counts } = result
  log.info({ day, ...counts, paid_cents: Number(paid_cents) }, 'payout batch')
  await noteRun(db, taken.id, { result, ended_at: isOver(result) ? clock.now() : null })
  await alarmOnDifferences(parts)
}

function isOver({ status, reason }: BatchResult): boolean {
  if (status === 'stopped') return reason !== 'processor_unreachable' && reason !== 'lock_lost'
  return status === 'done'
}

async function alarmOnDifferences({ db, log, metrics }: PayoutJobParts): Promise<void> {
  for (const { name, differences, first } of (await checkPayouts(db)).proofs) {
    if (differences === 0) continue
    metrics.ledger_invariant_breaks.inc({ invariant: name }, differences)
    log.error({ alarm: 'ledger', invariant: name, differences, first }, 'ledger alarm')
  }
}
