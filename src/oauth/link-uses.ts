// When hosted links were last used, to the day: collected in memory and written in bulk, never a write per call. A link
// that nobody uses ends by this (HOSTED_GRANT_IDLE_DAYS).

import type { Db } from '../platform/db.ts'
import type { Job } from '../platform/worker.ts'
import { touchLinkedGrants } from './expiry-store.ts'

const FLUSH_INTERVAL_MS = 30_000
const BATCH_MAX = 1_000
/** Links that are remembered as noted today. Beyond, some are written more than once a day. */
const NOTED_MAX = 100_000
const DAY_MS = 24 * 3600 * 1000

export class LinkUses {
  #day = 0
  /** Grants whose use of this day is noted, so that the next one costs nothing. */
  #noted = new Set<string>()
  #unwritten = new Set<string>()
  #last_use = new Date(0)

  touch(grant_id: string, at: Date): void {
    const day = Math.floor(at.getTime() / DAY_MS)
    if (day !== this.#day || this.#noted.size >= NOTED_MAX) {
      this.#day = day
      this.#noted = new Set()
    }
    if (this.#noted.has(grant_id)) return
    // While the database is away: what does not fit is noted by a later use.
    if (this.#unwritten.size >= NOTED_MAX) return
    this.#noted.add(grant_id)
    this.#unwritten.add(grant_id)
    this.#last_use = at
  }

  async flush(db: Db): Promise<void> {
    const [ids, at] = [[...this.#unwritten], this.#last_use]
    this.#unwritten = new Set()
    for (let start = 0; start < ids.length; start += BATCH_MAX) {
      const batch = ids.slice(start, start + BATCH_MAX)
      await touchLinkedGrants(db, batch, at).catch((error: unknown) => {
        // For the next flush.
        this.#unwritten = new Set([...ids.slice(start), ...this.#unwritten])
        throw error
      })
    }
  }
}

/** Runs in every process that serves HTTP, because each collects its own. */
export function linkUsesJob(parts: { db: Db; link_uses: LinkUses }): Job {
  return {
    name: 'oauth.link_uses',
    every_ms: FLUSH_INTERVAL_MS,
    run: () => parts.link_uses.flush(parts.db),
  }
}
