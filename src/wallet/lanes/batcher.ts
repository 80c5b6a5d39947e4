// Micro-batching: while one batch is under way, the next one gathers. There is no timer, so an idle caller
// waits for nobody; and everything is bounded, so a slow database becomes a clear refusal, not a heap.

import { setTimeout as sleep } from 'node:timers/promises'
import {
  attempt,
  busy,
  dropExpired,
  type Entries,
  type Entry,
  type Queue,
  type QueueOptions,
  refuse,
  type Send,
  type Watcher,
} from './batch-entry.ts'
import { Siding } from './siding.ts'

export type BatcherOptions<Item, Result> = Watcher<Item> & {
  /** In the order in which a batch takes from them. */
  queues: readonly QueueOptions[]
  send: Send<Item, Result>
  /** With it, an item that somebody else holds up waits apart from the others. */
  blocking?: Blocking<Item, Result>
}

export type Blocking<Item, Result> = {
  /** What the item needs for itself alone. */
  keyOf: (item: Item) => string
  /** Those of the keys that somebody keeps, found without waiting. */
  findBlocked: (keys: readonly string[]) => Promise<ReadonlySet<string>>
  /** The same two, where a wait is nobody else's. */
  findBlockedApart: (keys: readonly string[]) => Promise<ReadonlySet<string>>
  sendApart: Send<Item, Result>
}

const CONFLICT_TRIES = 5
const BACKOFF_START_MS = 20
const BACKOFF_LIMIT_MS = 1_000
/** Of a queue's limit, and beside it: what waits apart takes nobody's room. */
const APART_SHARE = 0.25

/** One batch in flight at a time, and one apart. */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #queues: Queue<Item, Result>[]
  readonly #siding: Siding<Entry<Item, Result>> | undefined
  #running: Promise<void> | undefined

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
    this.#queues = options.queues.map((limits) => {
      return { limits, entries: [], apart: 0, closed: false }
    })
    this.#siding = options.blocking && this.#makeSiding(options.blocking)
  }

  get depth(): number {
    return this.#queues.reduce((sum, { entries, apart }) => sum + entries.length + apart, 0)
  }

  submit(item: Item, name: string): Promise<Result> {
    const queue = this.#queues.find(({ limits }) => limits.name === name)
    if (!queue) throw new Error(`there is no queue of ${name}s`)
    const now = performance.now()
    const goes_apart = this.#isApart(item)
    if (queue.closed || !hasRoom(queue, now, goes_apart)) {
      this.#options.observe?.({ kind: 'turned_away', queue: name })
      return Promise.reject(busy(`the queue of ${name}s is full or closed`))
    }
    return new Promise((resolve, reject) => {
      const give_up_at = now + queue.limits.give_up_after_ms
      const entry = { item, queue, queued_at: now, give_up_at, unknown: false, resolve, reject }
      if (goes_apart) {
        this.#putApart([entry])
        return
      }
      queue.entries.push(entry)
      this.#running ??= this.#run()
    })
  }

  /**
   * Takes nothing new, and ends when everything that was taken has its answer. The last queue closes first: what
   * it gives up may still have to be undone through one before it.
   */
  async close(): Promise<void> {
    this.#siding?.close()
    for (const queue of this.#queues.toReversed()) {
      queue.closed = true
      await this.#idle()
      await turn()
    }
    await this.#idle()
  }

  async #idle(): Promise<void> {
    while (this.#running || this.#siding?.running) await (this.#running ?? this.#siding?.running)
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
    if (this.#siding?.running) for (const queue of this.#queues) this.#sortOut(queue)
    return this.#queues.flatMap((queue) => queue.entries.splice(0, queue.limits.batch_limit))
  }

  async #deliver(batch: Entries<Item, Result>): Promise<void> {
    let entries = batch
    let conflicts = 0
    for (let tries = 0; ; tries++) {
      entries = dropExpired(entries, this.#options)
      if (entries.length === 0) return
      const failure = await attempt(entries, this.#options.send, this.#options)
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
        await this.#isolate(entries, failure.error)
        return
      }
      for (const queue of this.#queues) queue.entries = dropExpired(queue.entries, this.#options)
      await sleep(backoff(tries))
    }
  }

  /** Halves until the bad item stands alone, so that it fails alone. Who gives up first is not made to wait. */
  async #isolate(entries: Entries<Item, Result>, error: unknown): Promise<void> {
    const [only] = entries
    if (entries.length === 1 && only) {
      refuse(only, error)
      return
    }
    const hastiest_first = entries.toSorted((left, right) => left.give_up_at - right.give_up_at)
    const middle = Math.ceil(entries.length / 2)
    await this.#deliver(hastiest_first.slice(0, middle))
    await this.#deliver(hastiest_first.slice(middle))
  }

  #makeSiding(blocking: Blocking<Item, Result>): Siding<Entry<Item, Result>> {
    return new Siding({
      keyOf: ({ item }) => blocking.keyOf(item),
      batch_limit: Math.min(...this.#queues.map(({ limits }) => limits.batch_limit)),
      findBlocked: blocking.findBlockedApart,
      deliver: (entries) => this.#deliverApart(entries, blocking.sendApart),
      onFree: (entries) => this.#takeBack(entries),
      dropExpired: (entries) => {
        const live = dropExpired(entries, this.#options)
        for (const { queue } of entries) queue.apart--
        for (const { queue } of live) queue.apart++
        return live
      },
    })
  }

  #isApart(item: Item): boolean {
    const key = this.#options.blocking?.keyOf(item)
    return key !== undefined && this.#siding?.has(key) === true
  }

  #putApart(entries: Entries<Item, Result>): void {
    for (const { queue } of entries) queue.apart++
    this.#siding?.add(entries)
  }

  /** To the front: they have waited longest. */
  #takeBack(entries: Entries<Item, Result>): void {
    const now = performance.now()
    for (const entry of entries.toReversed()) {
      entry.queue.apart--
      // It says nothing about how long this queue takes.
      entry.queued_at = now
      entry.queue.entries.unshift(entry)
    }
    if (entries.length > 0) this.#running ??= this.#run()
  }

  /** Those who came before it was known that they are held up. */
  #sortOut(queue: Queue<Item, Result>): void {
    const held_up = queue.entries.filter(({ item }) => this.#isApart(item))
    if (held_up.length === 0) return
    queue.entries = queue.entries.filter(({ item }) => !this.#isApart(item))
    this.#putApart(held_up)
  }

  /** Answers those that nobody holds up. */
  async #setAside(entries: Entries<Item, Result>): Promise<Entries<Item, Result>> {
    const { blocking } = this.#options
    if (!blocking) return entries
    try {
      const keys = entries.map(({ item }) => blocking.keyOf(item))
      const blocked = await blocking.findBlocked([...new Set(keys)])
      this.#putApart(entries.filter(({ item }) => blocked.has(blocking.keyOf(item))))
      return entries.filter(({ item }) => !blocked.has(blocking.keyOf(item)))
    } catch {
      // Whoever cannot be asked is tried again with all the others.
      return entries
    }
  }

  /** Answers those that are still held up. */
  async #deliverApart(
    entries: Entries<Item, Result>,
    send: Send<Item, Result>,
  ): Promise<Entries<Item, Result>> {
    for (const { queue } of entries) queue.apart--
    const failure = await attempt(entries, send, this.#options)
    if (!failure) return []
    let left = entries
    if (failure.kind === 'refused') left = await this.#tryEach(entries, send)
    else if (failure.kind !== 'blocked') await sleep(BACKOFF_LIMIT_MS)
    for (const { queue } of left) queue.apart++
    return left
  }

  async #tryEach(
    entries: Entries<Item, Result>,
    send: Send<Item, Result>,
  ): Promise<Entries<Item, Result>> {
    const left: Entry<Item, Result>[] = []
    for (const entry of entries) {
      const failure = await attempt([entry], send, this.#options)
      if (failure?.kind === 'refused') refuse(entry, failure.error)
      else if (failure) left.push(entry)
    }
    return left
  }
}

function hasRoom<Item, Result>(
  { limits, entries, apart }: Queue<Item, Result>,
  now: number,
  goes_apart: boolean,
): boolean {
  if (goes_apart) return apart < limits.queue_limit * APART_SHARE
  const oldest = entries[0]
  const aged = oldest !== undefined && now - oldest.queued_at > limits.queue_age_limit_ms
  return !aged && entries.length < limits.queue_limit
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
