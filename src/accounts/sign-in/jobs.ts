// Forgets the failures of days that are over, and devices that nobody has used for a year.

import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import type { Job } from '../../platform/worker.ts'
import { purgeDevices, purgeFailures } from './store.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const DEVICE_KEPT_MS = 365 * DAY_MS
const BATCH = 1_000
/** A million rows a run; what is left waits for the next. */
const BATCHES_MAX = 1_000

export function signInJob({ db, clock }: { db: Db; clock: Clock }): Job {
  return {
    name: 'accounts.purge_sign_ins',
    every_ms: 10 * MINUTE_MS,
    run: async (signal) => {
      const now_ms = clock.now().getTime()
      // Yesterday's stay: clocks of two machines differ at midnight.
      const first_day = new Date(now_ms - DAY_MS).toISOString().slice(0, 10)
      const first_use = new Date(now_ms - DEVICE_KEPT_MS)
      await inBatches(signal, () => purgeFailures(db, first_day, BATCH))
      await inBatches(signal, () => purgeDevices(db, first_use, BATCH))
    },
  }
}

async function inBatches(signal: AbortSignal, purge: () => Promise<number>): Promise<void> {
  for (let i = 0; i < BATCHES_MAX && !signal.aborted; i++) {
    if ((await purge()) < BATCH) return
  }
}
