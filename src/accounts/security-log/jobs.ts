// Forgets events and places that are older than anybody looks back: a year and what an inquiry takes.

import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import type { Job } from '../../platform/worker.ts'
import { deleteOldEvents } from './store.ts'

const HOUR_MS = 60 * 60 * 1000
const KEPT_MS = 400 * 24 * HOUR_MS
/** What is left after them waits for the next run. */
const ROUNDS_MAX = 100

export function forgetSecurityEventsJob(parts: { db: Db; clock: Clock }): Job {
  return {
    name: 'accounts.forget_security_events',
    every_ms: HOUR_MS,
    run: async (signal) => {
      const before = new Date(parts.clock.now().getTime() - KEPT_MS)
      for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round++) {
        if (!(await deleteOldEvents(parts.db, before))) return
      }
    },
  }
}
