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

/** Where items wait. Those of one queue never take the room of another. */
export type QueueOptions = {
  name: string
  /** At most so many of this queue in one batch. */
  batch_limit: number
  queue_limit: number
  /** New items are refused while the oldest waiting one is older than this. */
  queue_age_limit_ms: number
  /** An item is given up, outcome unknown, after this long. */
  give_up_after_ms: number
}

export type BatcherOptions<Item, Result> = {
  /** In the order in which a batch takes from them. */
  queues: readonly QueueOptions[]
  /** One answer for each item, in the same order. Must be safe to repeat with the same items. */
  send: (items: readonly Item[]) => Promise<readonly Result[]>
  classify: (error: unknown) => Failure
  observe?: (event: BatchEvent<Item>) => void
}

export type BatchEvent<Item> =
  | { kind: 'sent'; items: readonly Item[]; seconds: number }
  | { kind: 'failed'; items: readonly Item[]; failure: Failure; error: unknown }
  | { kind: 'turned_away' | 'given_up'; queue: string }

type Entry<Item, Result> = {
  item: Item
  queue: string
  queued_at: number
  give_up_at: number
  /** Once it was, nobody knows what became of it until the answer is there. */
  was_sent: boolean
  resolve(result: Result): void
  reject(error: unknown): void
}

type Queue<Item, Result> = {
  limits: QueueOptions
  entries: Entry<Item, Result>[]
  closed: boolean
}

/** The item was sent, or may have been; nobody knows what became of it. Sending it again finds out. */
export class GivenUp extends ApiError {
  constructor(queue: string) {
    super('service_unavailable', {
      message: 'The connection to the database was lost: the change may or may not have been made.',
      hint: 'Look before you repeat it; with an Idempotency-Key simply repeat it.',
      detail: `a ${queue} was given up; the outcome is unknown`,
      headers: { 'retry-after': '1' },
    })
  }
}

const CONFLICT_TRIES = 5
const BACKOFF_START_MS = 20
const BACKOFF_LIMIT_MS = 1_000

/** One batch in flight at a time. */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #queues: Queue<Item, Result>[]
  #running: Promise<void> | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
    this.#queues = options.queues.map((limits) => ({ limits, entries: [], closed: false }))
  }

  get depth(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.entries.length, 0)
  }

  submit(item: Item, name: string): Promise<Result> {
    const queue = this.#queues.find(({ limits }) => limits.name === name)
    if (!queue) throw new Error(`there is no queue of ${name}s`)
    const { queue_limit, queue_age_limit_ms, give_up_after_ms } = queue.limits
    const now = performance.now()
    const oldest = queue.entries[0]
    const aged = oldest !== undefined && now - oldest.queued_at > queue_age_limit_ms
    if (queue.closed || aged || queue.entries.length >= queue_limit) {
      this.#options.observe?.({ kind: 'turned_away', queue: name })
      return Promise.reject(busy(`the queue of ${name}s is full or closed`))
    }
    return new Promise((resolve, reject) => {
      const give_up_at = now + give_up_after_ms
      const entry = { item, queue: name, queued_at: now, give_up_at, was_sent: false }
      queue.entries.push({ ...entry, resolve, reject })
      this.#running ??= this.#run()
    })
  }

  /**
   * Takes nothing new, and ends when everything that was taken has its answer. The last queue closes first: what
   * it gives up may still have to be undone through one before it.
   */
  async close(): Promise<void> {
    for (const queue of this.#queues.toReversed()) {
      queue.closed = true
      await this.#running
      await turn()
    }
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      // Lets every caller of this turn of the event loop into the batch.
      await turn()
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
        await this.#deliver(batch)
        await turn()
      }
    } finally {
      // In the step that found nothing left: whoever comes next starts anew.
      this.#running = undefined
    }
  }

  #take(): Entry<Item, Result>[] {
    return this.#queues.flatMap((queue) => queue.entries.splice(0, queue.limits.batch_limit))
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
      for (const queue of this.#queues) queue.entries = this.#dropExpired(queue.entries)
      await sleep(backoff(tries))
    }
  }

  async #attempt(
    entries: readonly Entry<Item, Result>[],
  ): Promise<{ kind: Failure; error: unknown } | undefined> {
    const { send, classify, observe } = this.#options
    for (const entry of entries) entry.was_sent = true
    const items = entries.map((entry) => entry.item)
    const started = performance.now()
    let results: readonly Result[]
    try {
      results = await send(items)
      if (results.length !== entries.length) throw new Error('a batch lacks an answer')
    } catch (error) {
      const kind = classify(error)
      observe?.({ kind: 'failed', items, failure: kind, error })
      return { kind, error }
    }
    entries.forEach((entry, index) => {
      entry.resolve(results[index] as Result)
    })
    observe?.({ kind: 'sent', items, seconds: (performance.now() - started) / 1000 })
    return undefined
  }

  /** Halves until the bad item stands alone, so that it fails alone. Who gives up first is not made to wait. */
  async #isolate(entries: readonly Entry<Item, Result>[], error: unknown): Promise<void> {
    if (entries.length === 1) {
      entries[0]?.reject(asApiError(error, `a ${entries[0].queue} was refused`))
      return
    }
    const hastiest_first = entries.toSorted((left, right) => left.give_up_at - right.give_up_at)
    const middle = Math.ceil(entries.length / 2)
    await this.#deliver(hastiest_first.slice(0, middle))
    await this.#deliver(hastiest_first.slice(middle))
  }

  #dropExpired(entries: readonly Entry<Item, Result>[]): Entry<Item, Result>[] {
    const now = performance.now()
    const live: Entry<Item, Result>[] = []
    for (const entry of entries) {
      if (entry.give_up_at > now) {
        live.push(entry)
        continue
      }
      const { queue, was_sent } = entry
      this.#options.observe?.({ kind: 'given_up', queue })
      entry.reject(was_sent ? new GivenUp(queue) : busy(`a ${queue} waited too long`))
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
