// What is forgotten, and when: docs/operations.md, "What grows and for how long". In small batches, so that nobody waits
// for a clean-up.

import type { Clock } from '../platform/clock.ts'
import type { Db, Statement } from '../platform/db.ts'
import type { Job } from '../platform/worker.ts'
import { ALL_BUCKETS } from './bucket.ts'
import {
  DELETE_OLD_IDEMPOTENCY,
  DELETE_OLD_SPEND_COUNTERS,
  DROP_OLD_OUTBOX,
} from './retention-store.ts'

type RetentionOptions = { db: Db; clock: Clock }

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const FORGET_EVERY_MS = HOUR_MS
const FORGET_ANSWER_AFTER_MS = 45 * DAY_MS
const FORGET_SPEND_AFTER_MS = 62 * DAY_MS
const FORGET_EVENT_AFTER_MS = 35 * DAY_MS
const BATCH_SIZE = 1_000
/** Bounds one run; the next comes in an hour. */
const BATCHES = 500

export function forgetJob(options: RetentionOptions): Job {
  return {
    name: 'wallet.forget',
    every_ms: FORGET_EVERY_MS,
    run: (signal) => forgetOldRows(options, signal),
  }
}

/** Answers nobody will ask for again, days and months that are over, events of old. */
export async function forgetOldRows(
  { db, clock }: RetentionOptions,
  signal?: AbortSignal,
): Promise<void> {
  const before = (age_ms: number) => new Date(clock.now().getTime() - age_ms)
  const rules: [Statement<object>, unknown[]][] = [
    [DELETE_OLD_IDEMPOTENCY, [ALL_BUCKETS, before(FORGET_ANSWER_AFTER_MS), BATCH_SIZE]],
    [DELETE_OLD_SPEND_COUNTERS, [ALL_BUCKETS, before(FORGET_SPEND_AFTER_MS), BATCH_SIZE]],
  ]
  for (const [statement, values] of rules) {
    for (let batch = 0; batch < BATCHES; batch++) {
      if (signal?.aborted) return
      if ((await db.run(statement, values)).length < BATCH_SIZE) break
    }
  }
  await db.run(DROP_OLD_OUTBOX, [before(FORGET_EVENT_AFTER_MS)])
}
