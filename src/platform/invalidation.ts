// Tells every process which cached credentials to forget. The table is the truth and is polled; NOTIFY from
// the writing transaction only asks for a poll right away. A process whose polls fail stops trusting its
// caches within a second: revocation is then as fast as the database it cannot reach.

import type { Client } from 'pg'
import { type Db, statement, type Tx } from './db.ts'
import type { Log } from './log.ts'
import { openClient } from './session.ts'

const CHANNEL = 'svc_invalidation'
const POLL_INTERVAL_MS = 400
/** Measured from the start of the last poll that succeeded. */
const TRUST_MS = 900
const LISTEN_RETRY_MS = 2_000

export interface Forgetful {
  /** Drops every entry that carries one of the tags. */
  forget(tags: readonly string[]): void
  forgetAll(): void
}

const WRITE = statement<{ pg_notify: string }>(
  'invalidation.write',
  `with written as (
     insert into invalidation (tag)
     select unnest($1::text[])
   )
   select pg_notify('${CHANNEL}', '')::text`,
)

// Rows since the oldest transaction that was open at the last look, and where to look from next time.
const POLL = statement<{ position: string; ids: string[]; tags: string[] }>(
  'invalidation.poll',
  `select pg_snapshot_xmin(pg_current_snapshot())::text as position,
          coalesce(array_agg(id::text), '{}') as ids,
          coalesce(array_agg(tag), '{}') as tags
   from invalidation
   where written_by >= $1::text::xid8`,
)

const TRIM = statement<{ id: bigint }>(
  'invalidation.trim',
  `delete from invalidation
   where id in (select id from invalidation where created_at < $1 order by id limit 5000)
   returning id`,
)

/** Rows that every process has read long ago. A process that was cut off for longer clears its cache anyway. */
export async function trimInvalidations(db: Db, before: Date): Promise<number> {
  return (await db.run(TRIM, [before])).length
}

export type FeedOptions = {
  db: Db
  url: string
  log: Log
  caches: readonly Forgetful[]
  onTrust: (trusted: boolean) => void
}

/** Other channels that its connection listens on: what is notified there, and what is done then. */
type Channels = Map<string, () => void>

export class InvalidationFeed {
  readonly #options: FeedOptions
  #position: string | undefined
  #seen = new Set<string>()
  #polledAt = Number.NEGATIVE_INFINITY
  #wasTrusted = false
  #stopped = false
  #polling: Promise<void> | undefined
  #pollAgain = false
  #timer: NodeJS.Timeout | undefined
  #listener: Client | undefined
  readonly #channels: Channels = new Map([[CHANNEL, () => void this.#poll()]])
  #listenTimer: NodeJS.Timeout | undefined

  constructor(options: FeedOptions) {
    this.#options = options
  }

  /** Whether a cached credential may be believed right now. */
  get trusted(): boolean {
    return performance.now() - this.#polledAt < TRUST_MS
  }

  /**
   * Part of the transaction that revokes: what commits is forgotten, what rolls back is not. This process
   * forgets before the caller is answered, the others when they have read the table.
   */
  async invalidate(tx: Tx, tags: readonly string[]): Promise<void> {
    if (tags.length === 0) return
    await tx.run(WRITE, [tags])
    tx.afterCommit(() => {
      for (const cache of this.#options.caches) cache.forget(tags)
    })
  }

  /** Before the start. A notification may be lost, so it must only make faster what happens anyway. */
  alsoListen(channel: string, callback: () => void): void {
    this.#channels.set(channel, callback)
  }

  async start(): Promise<void> {
    await this.#poll()
    await this.#listen()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#listenTimer)
    await this.#polling
    await this.#listener?.end().catch(() => {})
  }

  // One poll at a time; a notification during one asks for one more, because the running one may have
  // taken its snapshot before.
  async #poll(): Promise<void> {
    if (this.#polling) {
      this.#pollAgain = true
      return await this.#polling
    }
    clearTimeout(this.#timer)
    this.#polling = this.#pollOnce().finally(() => {
      this.#polling = undefined
      if (this.#stopped) return
      const wait_ms = this.#pollAgain ? 0 : POLL_INTERVAL_MS
      this.#pollAgain = false
      this.#timer = setTimeout(() => void this.#poll(), wait_ms)
      this.#timer.unref()
    })
    await this.#polling
  }

  async #pollOnce(): Promise<void> {
    const started = performance.now()
    // A poll that hangs is as bad as one that fails, and must be told when trust runs out.
    const trust_left_ms = Math.max(0, this.#polledAt + TRUST_MS - started)
    const overdue = setTimeout(() => this.#report(false), trust_left_ms)
    try {
      const [row] = await this.#options.db.run(POLL, [this.#position ?? '0'])
      if (!row) throw new Error('the poll answered no row')
      this.#apply(row)
      this.#polledAt = started
      this.#report(true)
    } catch (error) {
      this.#options.log.debug({ err: error }, 'invalidation poll failed')
      if (!this.trusted) this.#report(false)
    } finally {
      clearTimeout(overdue)
    }
  }

  #apply(row: { position: string; ids: string[]; tags: string[] }): void {
    // After a gap nobody knows what was missed; at the first look there is nothing to forget.
    if (!this.#wasTrusted) for (const cache of this.#options.caches) cache.forgetAll()
    const fresh = row.tags.filter((_tag, index) => !this.#seen.has(row.ids[index] ?? ''))
    if (fresh.length > 0) for (const cache of this.#options.caches) cache.forget(fresh)
    this.#seen = new Set(row.ids)
    this.#position = row.position
  }

  #report(trusted: boolean): void {
    if (trusted === this.#wasTrusted) return
    this.#wasTrusted = trusted
    this.#options.onTrust(trusted)
    if (!trusted)
      this.#options.log.warn('revocations cannot be read: cached credentials are not trusted')
  }

  async #listen(): Promise<void> {
    if (this.#stopped) return
    const { url } = this.#options
    let client: Client | undefined
    try {
      client = await openClient({ url, application_name: 'svc listen' })
      this.#keepListening(client)
      for (const channel of this.#channels.keys()) await client.query(`listen ${channel}`)
      if (!this.#stopped) {
        this.#listener = client
        return
      }
    } catch {
      this.#listenLater()
    }
    // Refused, as on a server in recovery, or too late: without this, each attempt would leave one open.
    void client?.end().catch(() => {})
  }

  #keepListening(client: Client): void {
    const retry = () => {
      if (this.#listener === client) this.#listener = undefined
      this.#listenLater()
    }
    client.on('error', retry)
    client.on('end', retry)
    client.on('notification', ({ channel }) => this.#channels.get(channel)?.())
  }

  #listenLater(): void {
    if (this.#stopped) return
    clearTimeout(this.#listenTimer)
    this.#listenTimer = setTimeout(() => void this.#listen(), LISTEN_RETRY_MS)
    this.#listenTimer.unref()
  }
}
