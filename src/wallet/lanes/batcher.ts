// Micro-batching: while one batch is under way, the next one gathers. There is no timer, so an idle caller waits for
// nobody; and everything is bounded, so a slow database becomes a clear refusal, not a heap. A batch that fails is sent
// again. If the server itself reports a failure three times, the batch is taken apart until whoever is at fault stands
// alone; that one is tried apart from the others from then on (quarantine.ts).

import { setTimeout as sleep } from 'node:timers/promises'
import {
  attempt,
  busy,
  dropExpired,
  type Entries,
  type Entry,
  type FailedBatch,
  giveUp,
  hasRoom,
  type Queue,
  type QueueOptions,
  refuse,
  type Send,
  type Watcher,
} from './batch-entry.ts'
import { Quarantine, type Trouble } from './quarantine.ts'

export type BatcherOptions<Item, Result> = Watcher<Item> & {
  /** In the order in which a batch takes from them. */
  queues: readonly QueueOptions[]
  send: Send<Item, Result>
  /** What the item needs for itself alone. */
  keyOf: (item: Item) => string
  /** The keys of those items that somebody keeps, found without waiting. */
  findLocked: (items: readonly Item[]) => Promise<ReadonlySet<string>>
  /** The same two, where a wait is nobody else's. */
  findLockedApart: (keys: readonly string[], items: readonly Item[]) => Promise<ReadonlySet<string>>
  sendApart: Send<Item, Result>
}

/** After so many failures a batch is taken apart. */
const TRIES = 3
const BACKOFF_START_MS = 20
const BACKOFF_LIMIT_MS = 1_000

/** One batch in flight at a time, and one apart. */
export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>
  readonly #queues: Queue<Item, Result>[]
  readonly #quarantine: Quarantine<Entry<Item, Result>>
  #running: Promise<void> | undefined
  #in_flight: Entries<Item, Result> = []
  #abandoned = false

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options
    this.#queues = options.queues.map((limits) => {
      return { limits, entries: [], apart: 0, closed: false }
    })
    this.#quarantine = this.#makeQuarantine()
  }

  get depth(): number {
    return this.#queues.reduce((sum, { entries, apart }) => sum + entries.length + apart, 0)
  }

  submit(item: Item, name: string): Promise<Result> {
    const queue = this.#queues.find(({ limits }) => limits.name === name)
    if (!queue) throw new Error(`there is no queue of ${name}s`)
    const now = performance.now()
    const goes_apart = this.#quarantine.has(this.#options.keyOf(item))
    if (queue.closed || !hasRoom(queue, now, goes_apart)) {
      this.#options.observe?.({ kind: 'turned_away', queue: name })
      return Promise.reject(busy(`the queue of ${name}s is full or closed`))
    }
    return new Promise((resolve, reject) => {
      const give_up_at = now + queue.limits.give_up_after_ms
      const entry = {
        item,
        queue,
        queued_at: now,
        give_up_at,
        unknown: false,
        answered: false,
        resolve,
        reject,
      }
      if (goes_apart) {
        this.#quarantineEntries([entry])
        return
      }
      queue.entries.push(entry)
      this.#running ??= this.#run()
    })
  }

  /**
   * Takes nothing new, and ends when everything that was taken has its answer. The last queue closes first: what
   * it gives up may still have to be undone through one before it. What has no answer in time is given up.
   */
  async close(within_ms?: number): Promise<void> {
    const timer = within_ms === undefined ? undefined : setTimeout(() => this.#abandon(), within_ms)
    this.#quarantine.close()
    for (const queue of this.#queues.toReversed()) {
      queue.closed = true
      await this.#idle()
      await turn()
    }
    await this.#idle()
    clearTimeout(timer)
  }

  #abandon(): void {
    this.#abandoned = true
    for (const queue of this.#queues) queue.closed = true
    const waiting = this.#queues.flatMap((queue) => queue.entries.splice(0))
    for (const entry of [...this.#in_flight, ...waiting, ...this.#quarantine.abandon()]) {
      giveUp(entry, this.#options)
    }
  }

  async #idle(): Promise<void> {
    while (!this.#abandoned && (this.#running || this.#quarantine.running)) {
      await Promise.race([this.#running ?? this.#quarantine.running, sleep(100)])
    }
  }

  async #run(): Promise<void> {
    try {
      // Lets every caller of this turn of the event loop into the batch.
      await turn()
      for (let batch = this.#take(); batch.length > 0; batch = this.#take()) {
        this.#in_flight = batch
        await this.#deliver(batch)
        this.#in_flight = []
        await turn()
      }
    } finally {
      // In the step that found nothing left: whoever comes next starts anew.
      this.#running = undefined
    }
  }

  #take(): Entry<Item, Result>[] {
    if (this.#quarantine.running) for (const queue of this.#queues) this.#quarantineQueued(queue)
    return this.#queues.flatMap((queue) => queue.entries.splice(0, queue.limits.batch_limit))
  }

  async #deliver(batch: Entries<Item, Result>): Promise<void> {
    let entries = batch
    let failures = 0
    for (let tries = 0; !this.#abandoned; tries++) {
      entries = dropExpired(entries, this.#options)
      if (entries.length === 0) return
      const failure = await attempt(entries, this.#options.send, this.#options)
      if (!failure) return
      if (failure.kind === 'blocked') {
        const free = await this.#quarantineLocked(entries)
        if (free.length < entries.length) {
          entries = free
          continue
        }
      }
      if (failure.kind !== 'unreachable') failures++
      if (failure.kind === 'refused' || failures >= TRIES) {
        await this.#split(entries, failure)
        return
      }
      this.#expireQueues()
      await sleep(backoff(tries))
    }
    for (const entry of entries) giveUp(entry, this.#options)
  }

  #expireQueues(): void {
    for (const queue of this.#queues) queue.entries = dropExpired(queue.entries, this.#options)
  }

  /** Halves until the item at fault stands alone. Who gives up first is not made to wait. */
  async #split(entries: Entries<Item, Result>, failure: FailedBatch): Promise<void> {
    const [only] = entries
    if (entries.length === 1 && only) {
      if (failure.kind === 'refused') refuse(only, failure.error)
      else this.#quarantineEntries([only], failure.kind === 'blocked' ? 'locked' : 'failing')
      return
    }
    const hastiest_first = entries.toSorted((left, right) => left.give_up_at - right.give_up_at)
    const middle = Math.ceil(entries.length / 2)
    for (const half of [hastiest_first.slice(0, middle), hastiest_first.slice(middle)]) {
      this.#expireQueues()
      const live = dropExpired(half, this.#options)
      if (live.length === 0 || this.#abandoned) continue
      const again = await attempt(live, this.#options.send, this.#options)
      // A server that has gone away says nothing about these items.
      if (again?.kind === 'unreachable') await this.#deliver(live)
      else if (again) await this.#split(live, again)
    }
  }

  #makeQuarantine(): Quarantine<Entry<Item, Result>> {
    const { keyOf, findLockedApart } = this.#options
    return new Quarantine({
      keyOf: ({ item }) => keyOf(item),
      batch_limit: Math.min(...this.#queues.map(({ limits }) => limits.batch_limit)),
      findLocked: (keys, entries) =>
        findLockedApart(
          keys,
          entries.map(({ item }) => item),
        ),
      deliver: (entries) => this.#deliverQuarantined(entries),
      onFree: (entries) => this.#readmit(entries),
      dropExpired: (entries) => {
        const live = dropExpired(entries, this.#options)
        for (const { queue } of entries) queue.apart--
        for (const { queue } of live) queue.apart++
        return live
      },
    })
  }

  #isApart({ item }: Entry<Item, Result>): boolean {
    return this.#quarantine.has(this.#options.keyOf(item))
  }

  #quarantineEntries(entries: Entries<Item, Result>, trouble?: Trouble): void {
    for (const { queue } of entries) queue.apart++
    this.#quarantine.add(entries, trouble)
  }

  /** To the front: they have waited longest. */
  #readmit(entries: Entries<Item, Result>): void {
    const now = performance.now()
    for (const entry of entries.toReversed()) {
      entry.queue.apart--
      // It says nothing about how long this queue takes.
      entry.queued_at = now
      entry.queue.entries.unshift(entry)
    }
    if (entries.length > 0) this.#running ??= this.#run()
  }

  /** Those who came before it was known that they are in trouble. */
  #quarantineQueued(queue: Queue<Item, Result>): void {
    const apart = queue.entries.filter((entry) => this.#isApart(entry))
    if (apart.length === 0) return
    queue.entries = queue.entries.filter((entry) => !this.#isApart(entry))
    this.#quarantineEntries(apart)
  }

  /** Answers those that nobody keeps locked. */
  async #quarantineLocked(entries: Entries<Item, Result>): Promise<Entries<Item, Result>> {
    const { keyOf, findLocked } = this.#options
    try {
      const locked = await findLocked(entries.map(({ item }) => item))
      this.#quarantineEntries(entries.filter(({ item }) => locked.has(keyOf(item))))
      return entries.filter(({ item }) => !locked.has(keyOf(item)))
    } catch {
      // If the database does not answer, all of them are tried again together.
      return entries
    }
  }

  /** Answers those that are still in trouble. */
  async #deliverQuarantined(
    entries: Entries<Item, Result>,
  ): Promise<{ left: Entries<Item, Result>; trouble: Trouble }> {
    const { sendApart } = this.#options
    for (const { queue } of entries) queue.apart--
    let left: Entry<Item, Result>[] = []
    const failure = await attempt(entries, sendApart, this.#options)
    let trouble: Trouble = failure?.kind === 'blocked' ? 'locked' : 'failing'
    if (failure?.kind === 'blocked' || failure?.kind === 'unreachable') left = [...entries]
    else if (failure) ({ left, trouble } = await this.#tryEach(entries))
    for (const { queue } of left) queue.apart++
    return { left, trouble }
  }

  async #tryEach(
    entries: Entries<Item, Result>,
  ): Promise<{ left: Entry<Item, Result>[]; trouble: Trouble }> {
    const left: Entry<Item, Result>[] = []
    let trouble: Trouble = 'failing'
    for (const entry of dropExpired(entries, this.#options)) {
      const failure = await attempt([entry], this.#options.sendApart, this.#options)
      if (failure?.kind === 'refused') refuse(entry, failure.error)
      else if (failure) left.push(entry)
      if (failure?.kind === 'blocked') trouble = 'locked'
    }
    return { left, trouble }
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
