// Micro-batching: while one batch is under way, the next one gathers. There is no timer, so an idle caller
// waits for nobody; and everything is bounded, so a slow database becomes a clear refusal, not a heap.

import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from './errors.ts'

/**
 * What a failed batch means. `retry`: the outcome is unknown or the server is away, and the items are safe
 * to send again. `conflict`: the server asked us to try again; fewer items at once may help. `refused`: some
 * item in it is bad, and nothing of the batch was done.
 */
export type Failure = 'retry' | 'conflict' | 'refused'

export type BatcherOptions<Item, Result> = {
  name: string
  batch_limit: number
  queue_limit: number
  /** New items are refused while the oldest waiting one is older than this. */
  queue_age_limit_ms: number
  /** An item is given up, outcome unknown, after this long. */
  give_up_after_ms: number
  /** One answer for each item, in the same order. Must be safe to repeat with the same items. */
  send: (items: readonly Item[]) => Promise<readonly Result[]>
  classify: (error: unknown) => Failure
  observe?: (event: BatchEvent) => void
}

export type BatchEvent =
  | { kind: 'sent'; size: number; seconds: number }
  | { kind: 'failed'; failure: Failure; error: unknown }
  | { kind: 'turned_away' }
  | { kind: 'given_up' }

type Entry<Item, Result> = {
  item: Item
  queued_at: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/** The item was sent, or may have been; nobody knows what became of it. Sending it again finds out. */
export class GivenUp extends ApiError {
  constructor(lane: string) {
    super('service_unavailable', {
      message: 'The connection to the database was lost: the change may or may not have been made.',
      hint: 'Look before you repeat it; with an Idempotency-Key simply repeat it.',
      detail: `${lane} lane gave up; the outcome is unknown`,
      headers: { 'retry-after': '1' },
    })
  }
}

const CONFLICT_TRIES = 5
const BACKOFF_START_MS = 20
const BACKOFF_LIMIT_MS = 1_000

/** One lane: one batch in flight at a time. */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  #queue: Entry<Item, Result>[] = []
  #running: Promise<void> | undefined
  #closed = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
  }

  get depth(): number {
    return this.#queue.length
  }

  submit(item: Item): Promise<Result> {
    const now = performance.now()
    const oldest = this.#queue[0]
    const { queue_limit, queue_age_limit_ms } = this.#options
    const aged = oldest !== undefined && now - oldest.queued_at > queue_age_limit_ms
    if (this.#closed || aged || this.#queue.length >= queue_limit) {
      this.#options.observe?.({ kind: 'turned_away' })
      return Promise.reject(busy(`${this.#options.name} lane is full or closed`))
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ item, queued_at: now, resolve, reject })
      this.#running ??= this.#run().finally(() => {
        this.#running = undefined
      })
    })
  }

  /** Takes nothing new, and ends when everything that was taken has its answer. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#running
  }

  async #run(): Promise<void> {
    // Lets every caller of this turn of the event loop into the batch.
    await turn()
    while (this.#queue.length > 0) {
      const batch = this.#queue.slice(0, this.#options.batch_limit)
      this.#queue = this.#queue.slice(this.#options.batch_limit)
      await this.#deliver(batch)
      await turn()
    }
  }

  async #deliver(batch: readonly Entry<Item, Result>[]): Promise<void> {
    let entries = batch
    let conflicts = 0
    for (let tries = 0; ; tries++) {
      entries = this.#dropExpired(entries)
      if (entries.length === 0) return
      const failure = await this.#attempt(entries)
      if (!failure) return
      if (failure.kind === 'conflict') conflicts++
      const contested = conflicts >= CONFLICT_TRIES && entries.length > 1
      if (failure.kind === 'refused' || contested) {
        await this.#isolate(entries, failure.error)
        return
      }
      this.#queue = this.#dropExpired(this.#queue)
      await sleep(backoff(tries))
    }
  }

  async #attempt(
    entries: readonly Entry<Item, Result>[],
  ): Promise<{ kind: Failure; error: unknown } | undefined> {
    const { send, classify, observe, name } = this.#options
    const started = performance.now()
    try {
      const results = await send(entries.map((entry) => entry.item))
      if (results.length !== entries.length) throw new Error(`${name} lane: an answer is missing`)
      entries.forEach((entry, index) => {
        entry.resolve(results[index] as Result)
      })
      observe?.({
        kind: 'sent',
        size: entries.length,
        seconds: (performance.now() - started) / 1000,
      })
      return undefined
    } catch (error) {
      const kind = classify(error)
      observe?.({ kind: 'failed', failure: kind, error })
      return { kind, error }
    }
  }

  /** Halves until the bad item stands alone, so that it fails alone. */
  async #isolate(entries: readonly Entry<Item, Result>[], error: unknown): Promise<void> {
    if (entries.length === 1) {
      entries[0]?.reject(asApiError(error, `${this.#options.name} lane refused the item`))
      return
    }
    const middle = Math.ceil(entries.length / 2)
    await this.#deliver(entries.slice(0, middle))
    await this.#deliver(entries.slice(middle))
  }

  #dropExpired(entries: readonly Entry<Item, Result>[]): Entry<Item, Result>[] {
    const cutoff = performance.now() - this.#options.give_up_after_ms
    const live: Entry<Item, Result>[] = []
    for (const entry of entries) {
      if (entry.queued_at > cutoff) {
        live.push(entry)
        continue
      }
      this.#options.observe?.({ kind: 'given_up' })
      entry.reject(new GivenUp(this.#options.name))
    }
    return live
  }
}

function backoff(tries: number): number {
  const ceiling = Math.min(BACKOFF_LIMIT_MS, BACKOFF_START_MS * 2 ** Math.min(tries, 10))
  return ceiling / 2 + (Math.random() * ceiling) / 2
}

function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

function busy(detail: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', { detail, cause, headers: { 'retry-after': '1' } })
}

/** What the server said is for the log; it may quote the item. */
function asApiError(error: unknown, detail: string): ApiError {
  return error instanceof ApiError ? error : busy(detail, error)
}
