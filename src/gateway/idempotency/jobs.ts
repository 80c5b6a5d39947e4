// Forgets the results of calls after a day, in small batches, and measures what is kept.

import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { Job } from '../../platform/worker.ts'
import { KEPT_MS } from './idempotent-calls.ts'
import { DELETE_OLD_CALLS, MEASURE_RESULTS } from './store.ts'

type ForgetParts = {
  db: Db
  clock: Clock
  metrics: Pick<Metrics, 'idempotent_results' | 'idempotent_bytes'>
}

const FORGET_EVERY_MS = 60_000
const BATCH_SIZE = 500
/** Bounds one run; the next comes in a minute. */
const BATCHES = 200

export function forgetResultsJob(parts: ForgetParts): Job {
  return {
    name: 'gateway.forget_results',
    every_ms: FORGET_EVERY_MS,
    run: (signal) => forgetResults(parts, signal),
  }
}

async function forgetResults({ db, clock, metrics }: ForgetParts, signal: AbortSignal) {
  const before = new Date(clock.now().getTime() - KEPT_MS)
  for (let batch = 0; batch < BATCHES && !signal.aborted; batch++) {
    if ((await db.run(DELETE_OLD_CALLS, [before, BATCH_SIZE])).length < BATCH_SIZE) break
  }
  const [kept] = await db.run(MEASURE_RESULTS)
  metrics.idempotent_results.set(Number(kept?.results ?? 0n))
  metrics.idempotent_bytes.set(Number(kept?.bytes ?? 0n))
}
