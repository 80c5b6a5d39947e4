// When each session was last used, collected in memory and written in bulk: never a write per request. What the idle
// time-out is held against.

import type { Db } from '../platform/db.ts'
import type { Job } from '../platform/worker.ts'
import { touchSessions } from './session-store.ts'

const FLUSH_INTERVAL_MS = 30_000
const BATCH_MAX = 1_000
/** Beyond this many sessions between two flushes the rest show an older time. */
const SESSIONS_MAX = 100_000
/**
 * How much later than the setting a session ends: another process may have seen it and not written that yet, or this one
 * may have read it just before that was written.
 */
const SLACK_MS = 2 * FLUSH_INTERVAL_MS

export class LastSeen {
  readonly #idle_ms: number
  #uses = new Map<string, Date>()
  /** Those of the flush before: what the cache of sessions has may be from before it. */
  #flushed = new Map<string, Date>()

  constructor(options: { idle_minutes: number }) {
    this.#idle_ms = options.idle_minutes * 60_000
  }

  touch(session_id: string, at: Date): void {
    if (this.#uses.size < SESSIONS_MAX || this.#uses.has(session_id)) {
      this.#uses.set(session_id, at)
    }
  }

  /** When a session must have been seen last to be good now. */
  idleSince(now: Date): Date {
    return new Date(now.getTime() - this.#idle_ms - SLACK_MS)
  }

  isIdle(session: { session_id: string; last_seen_at: Date }, now: Date): boolean {
    const { session_id, last_seen_at } = session
    const here = this.#uses.get(session_id) ?? this.#flushed.get(session_id)
    const seen_ms = Math.max(last_seen_at.getTime(), here?.getTime() ?? 0)
    return seen_ms <= this.idleSince(now).getTime()
  }

  async flush(db: Db): Promise<void> {
    const uses = [...this.#uses]
    this.#flushed = this.#uses
    this.#uses = new Map()
    for (let start = 0; start < uses.length; start += BATCH_MAX) {
      const batch = new Map(uses.slice(start, start + BATCH_MAX))
      await touchSessions(db, batch).catch((error: unknown) => {
        // For the next flush, with those that were used again meanwhile on top.
        this.#uses = new Map([...uses.slice(start), ...this.#uses])
        throw error
      })
    }
  }
}

/** Runs in every process that serves HTTP, because each collects its own. */
export function lastSeenJob(db: Db, last_seen: LastSeen): Job {
  return {
    name: 'accounts.last_seen',
    every_ms: FLUSH_INTERVAL_MS,
    run: () => last_seen.flush(db),
  }
}
