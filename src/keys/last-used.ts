// When each key was last used, collected in memory and written in bulk: never a write per request.

import type { Db } from '../platform/db.ts'
import type { Job } from '../platform/worker.ts'
import { touchKeys } from './store.ts'

const FLUSH_INTERVAL_MS = 30_000
const BATCH_MAX = 1_000
/** Beyond this many keys between two flushes the rest show an older time. */
const KEYS_MAX = 100_000

export class LastUsed {
  #uses = new Map<string, Date>()

  touch(key_id: string, at: Date): void {
    if (this.#uses.size < KEYS_MAX || this.#uses.has(key_id)) this.#uses.set(key_id, at)
  }

  async flush(db: Db): Promise<void> {
    const uses = [...this.#uses]
    this.#uses = new Map()
    for (let start = 0; start < uses.length; start += BATCH_MAX) {
      await touchKeys(db, new Map(uses.slice(start, start + BATCH_MAX))).catch((error: unknown) => {
        // For the next flush, with those that were used again meanwhile on top.
        this.#uses = new Map([...uses.slice(start), ...this.#uses])
        throw error
      })
    }
  }
}

/** Runs in every process that serves HTTP, because each collects its own. */
export function lastUsedJob(db: Db, last_used: LastUsed): Job {
  return { name: 'keys.last_used', every_ms: FLUSH_INTERVAL_MS, run: () => last_used.flush(db) }
}
