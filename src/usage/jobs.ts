// Background work of the record: adds settled calls to the sums by the hour, and drops failed calls and sums of the service
// that are old.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { Job } from '../platform/worker.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { tellLowBalance } from './low-balance.ts'
import {
  DELETE_OLD_SERVICE_SUMS,
  DROP_OLD_FAILED_CALLS,
  FOLD_USAGE,
  KEEP_SUMS,
  LIFT_TIME_LIMIT,
  READ_ONE_SNAPSHOT,
  REBUILD_USAGE,
} from './store.ts'

export type UsageJobParts = { db: Db; clock: Clock; log: Log; wakeMailSender: () => void }

/** What is not in the sums yet is added up by whoever asks: a second of calls is little. */
const FOLD_EVERY_MS = 1_000
const BATCH_SIZE = 2_000
const FORGET_EVERY_MS = 3_600_000
const FAILED_CALL_KEPT_MS = 90 * 24 * 3_600_000

export function usageJobs(parts: UsageJobParts): Job[] {
  return [
    {
      name: 'usage.fold',
      every_ms: FOLD_EVERY_MS,
      run: (signal) => foldUsage(parts, signal),
    },
    {
      name: 'usage.forget_failed_calls',
      every_ms: FORGET_EVERY_MS,
      run: async () => {
        const before = new Date(parts.clock.now().getTime() - FAILED_CALL_KEPT_MS)
        await parts.db.run(DROP_OLD_FAILED_CALLS, [before])
        await parts.db.run(DELETE_OLD_SERVICE_SUMS, [before])
      },
    },
  ]
}

/** Until nothing new is left. */
export async function foldUsage(parts: UsageJobParts, signal?: AbortSignal): Promise<void> {
  const { db, log } = parts
  for (;;) {
    const folded = await foldOnce(parts)
    if (folded < 0) {
      log.warn({}, 'the database was restored: the sums of usage are made anew')
      await rebuildUsage(db)
      return
    }
    if (folded < BATCH_SIZE || signal?.aborted) return
  }
}

/** The mails are queued in the transaction that moves the cursor: each is sent once. */
async function foldOnce({ db, clock, wakeMailSender }: UsageJobParts): Promise<number> {
  return await db.transaction(async (tx) => {
    const [row] = await tx.run(FOLD_USAGE, [ALL_BUCKETS, BATCH_SIZE])
    const { folded = 0, low = [] } = row ?? {}
    for (const wallet of low) await tellLowBalance(tx, wallet, clock.now())
    if (low.length > 0) tx.afterCommit(wakeMailSender)
    return folded
  })
}

/** From the calls themselves; months whose calls are archived keep their sums. */
export async function rebuildUsage(db: Db): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.run(READ_ONE_SNAPSHOT)
    await tx.run(LIFT_TIME_LIMIT)
    await tx.run(KEEP_SUMS)
    await tx.run(REBUILD_USAGE, [ALL_BUCKETS])
  })
}
