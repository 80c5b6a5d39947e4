// Micro-batching: while one batch is under way, the next one gathers. There is no timer, so an idle caller
// waits for nobody; and everything is bounded, so a slow database becomes a clear refusal, not a heap.

import { setTimeout as sleep } from 'node:timers/promises'
import { asApiError, busy, GivenUp } from './batch-errors.ts'
import { Siding } from './siding.ts'

/**
 * What a failed batch means. `retry`: the outcome is unknown or the server is away, and the items are safe
 * to send again. Of the others nothing was done. `conflict`: the server asked us to try again; fewer items at once
 * may help. `blocked`: somebody keeps what an item needs. `refused`: some item in it is bad.
 */
export type Failure = 'retry' | 'conflict' | 'blocked' | 'refused'

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

/** One answer for each item, in the same order. Must be safe to repeat with the same items. */
export type Send<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>

export type BatcherOptions<Item, Result> = {
  /** In the order in which a batch takes from them. */
  queues: readonly QueueOptions[]
  send: Send<Item, Result>
  classify: (error: unknown) => Failure
  /** With it, an item that somebody else holds up waits apart from the others. */
  blocking?: Blocking<Item, Result>
  observe?: (event: BatchEvent<Item>) => void
}

export type Blocking<Item, Result> = {
  /** What the item needs for itself alone. */
  keyOf: (item: Item) => string
  /** Those of the keys that somebody keeps, found without waiting. */
  findBlocked: (keys: readonly string[]) => Promise<ReadonlySet<string>>
  /** As `send`, where a wait is nobody else's. */
  sendApart: Send<Item, Result>
}

export type BatchEvent<Item> =
  | { kind: 'sent'; items: readonly Item[]; seconds: number }
  | { kind: 'failed'; items: readonly Item[]; failure: Failure; error: unknown }
  | { kind: 'turned_away' | 'given_up'; queue: string }

type Entry<Item, Result> = {
  item: Item
  queue: Queue<Item, Result>
  queued_at: number
  give_up_at: number
  /** It was sent, and nobody knows what became of it. */
  unknown: boolean
  resolve(result: Result): void
  reject(error: unknown): void
}

type Entries<Item, Result> = readonly Entry<Item, Result>[]

type Queue<Item, Result> = {
  limits: QueueOptions
  entries: Entry<Item, Result>[]
  /** How many of its entries wait apart. */
  apart: number
  closed: boolean
}

const CONFLICT_TRIES = 5
const BACKOFF_START_MS = 20
const BACKOFF_LIMIT_MS = 1_000

/** One batch in flight at a time. */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #queues: Queue<Item, Result>[]
  readonly #siding: Siding<Entry<Item, Result>>
  #running: Promise<void> | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
    this.#queues = options.queues.map((limits) => {
      return { limits, entries: [], apart: 0, closed: false }
    })
    this.#siding = new Siding({
      keyOf: ({ item }) => options.blocking?.keyOf(item) ?? '',
      batch_limit: Math.min(...options.queues.map((limits) => limits.batch_limit)),
      deliver: (entries) => this.#deliverApart(entries),
    })
  }

  get depth(): number {
    return this.#queues.reduce((sum, queue) => sum + queue.entries.length, this.#siding.size)
  }

  submit(item: Item, name: string): Promise<Result> {
    const queue = this.#queues.find(({ limits }) => limits.name === name)
    if (!queue) throw new Error(`there is no queue of ${name}s`)
    const { queue_limit, queue_age_limit_ms, give_up_after_ms } = queue.limits
    const now = performance.now()
    const oldest = queue.entries[0]
    const aged = oldest !== undefined && now - oldest.queued_at > queue_age_limit_ms
    if (queue.closed || aged || queue.entries.length + queue.apart >= queue_limit) {
      this.#options.observe?.({ kind: 'turned_away', queue: name })
      return Promise.reject(busy(`the queue of ${name}s is full or closed`))
    }
    return new Promise((resolve, reject) => {
      const give_up_at = now + give_up_after_ms
      const entry = { item, queue, queued_at: now, give_up_at, unknown: false, resolve, reject }
      if (this.#joinOthers(entry)) return
      queue.entries.push(entry)
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
      await this.#idle()
      await turn()
    }
    await this.#idle()
  }

  async #idle(): Promise<void> {
    while (this.#running || this.#siding.running) await (this.#running ?? this.#siding.running)
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
    if (this.#siding.running) {
      for (const queue of this.#queues) {
        queue.entries = queue.entries.filter((entry) => !this.#joinOthers(entry))
      }
    }
    return this.#queues.flatMap((queue) => queue.entries.splice(0, queue.limits.batch_limit))
  }

  async #deliver(
    batch: Entries<Item, Result>,
    send: Send<Item, Result> = this.#options.send,
  ): Promise<void> {
    let entries = batch
    let conflicts = 0
    for (let tries = 0; ; tries++) {
      entries = this.#dropExpired(entries)
      if (entries.length === 0) return
      const failure = await this.#attempt(entries, send)
      if (!failure) return
      if (failure.kind === 'blocked') {
        const free = await this.#setAside(entries)
        if (free.length < entries.length) {
          entries = free
          continue
        }
      }
      if (failure.kind === 'conflict') conflicts++
      const contested = conflicts >= CONFLICT_TRIES && entries.length > 1
      if (failure.kind === 'refused' || contested) {
        await this.#isolate(entries, failure.error, send)
        return
      }
      for (const queue of this.#queues) queue.entries = this.#dropExpired(queue.entries)
      await sleep(backoff(tries))
    }
  }

  /** Whether others wait apart for what it needs, and it with them. */
  #joinOthers(entry: Entry<Item, Result>): boolean {
    const joined = this.#siding.join(entry)
    if (joined) entry.queue.apart++
    return joined
  }

  /** Answers those that nobody holds up. */
  async #setAside(entries: Entries<Item, Result>): Promise<Entries<Item, Result>> {
    const { blocking } = this.#options
    if (!blocking) return entries
    const keyOf = ({ item }: Entry<Item, Result>) => blocking.keyOf(item)
    try {
      const blocked = await blocking.findBlocked([...new Set(entries.map(keyOf))])
      const held_up = entries.filter((entry) => blocked.has(keyOf(entry)))
      for (const { queue } of held_up) queue.apart++
      this.#siding.add(held_up)
      return entries.filter((entry) => !blocked.has(keyOf(entry)))
    } catch {
      // Whoever cannot be asked is tried again with all the others.
      return entries
    }
  }

  /** Answers those that are still held up. */
  async #deliverApart(waiting: Entries<Item, Result>): Promise<Entries<Item, Result>> {
    for (const { queue } of waiting) queue.apart--
    const entries = this.#dropExpired(waiting)
    if (entries.length === 0) return []
    const send = this.#options.blocking?.sendApart ?? this.#options.send
    const failure = await this.#attempt(entries, send)
    if (!failure) return []
    if (failure.kind === 'refused') {
      await this.#isolate(entries, failure.error, send)
      return []
    }
    if (failure.kind !== 'blocked') await sleep(BACKOFF_LIMIT_MS)
    for (const { queue } of entries) queue.apart++
    return entries
  }

  async #attempt(
    entries: Entries<Item, Result>,
    send: Send<Item, Result>,
  ): Promise<{ kind: Failure; error: unknown } | undefined> {
    const { classify, observe } = this.#options
    const items = entries.map((entry) => entry.item)
    const started = performance.now()
    let results: readonly Result[]
    try {
      results = await send(items)
      if (results.length !== entries.length) throw new Error('a batch lacks an answer')
    } catch (error) {
      const kind = classify(error)
      if (kind === 'retry') for (const entry of entries) entry.unknown = true
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
  async #isolate(
    entries: Entries<Item, Result>,
    error: unknown,
    send: Send<Item, Result>,
  ): Promise<void> {
    if (entries.length === 1) {
      entries[0]?.reject(asApiError(error, `a ${entries[0].queue.limits.name} was refused`))
      return
    }
    const hastiest_first = entries.toSorted((left, right) => left.give_up_at - right.give_up_at)
    const middle = Math.ceil(entries.length / 2)
    await this.#deliver(hastiest_first.slice(0, middle), send)
    await this.#deliver(hastiest_first.slice(middle), send)
  }

  #dropExpired(entries: Entries<Item, Result>): Entry<Item, Result>[] {
    const now = performance.now()
    const live: Entry<Item, Result>[] = []
    for (const entry of entries) {
      if (entry.give_up_at > now) {
        live.push(entry)
        continue
      }
      const { name } = entry.queue.limits
      this.#options.observe?.({ kind: 'given_up', queue: name })
      entry.reject(entry.unknown ? new GivenUp(name) : busy(`a ${name} waited too long`))
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
