// Where entries wait that somebody else holds up, so that they hold up nobody themselves. Keys that are free again are
// found without waiting. Those that are not are tried one after the other, which waits a moment: a key that many share
// is hardly ever free, and whoever waits gets it in the end. A key is remembered until it is free, also when nobody
// waits for it any more: the next who needs it must not hold up others to find out.

import { setTimeout as sleep } from 'node:timers/promises'

export type SidingOptions<Entry> = {
  keyOf: (entry: Entry) => string
  batch_limit: number
  /** Those of the keys that somebody keeps, found without waiting. */
  findBlocked: (keys: readonly string[]) => Promise<ReadonlySet<string>>
  /** Tries entries of one key once; answers those that are still held up. */
  deliver: (entries: readonly Entry[]) => Promise<readonly Entry[]>
  /** Takes back those that nobody holds up any more. */
  onFree: (entries: readonly Entry[]) => void
  /** Ends those whose time is over; answers the others. */
  dropExpired: (entries: readonly Entry[]) => Entry[]
}

/** Between two looks while nobody waits. */
const LOOK_EVERY_MS = 500

export class Siding<Entry> {
  readonly #options: SidingOptions<Entry>
  readonly #waiting = new Map<string, Entry[]>()
  #running: Promise<void> | undefined
  #closing = false

  constructor(options: SidingOptions<Entry>) {
    this.#options = options
  }

  /** Ends when nobody waits and, unless it closes, every key is free. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  has(key: string): boolean {
    return this.#waiting.has(key)
  }

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const key = this.#options.keyOf(entry)
      const others = this.#waiting.get(key)
      if (others) others.push(entry)
      else this.#waiting.set(key, [entry])
    }
    if (this.#waiting.size > 0) this.#running ??= this.#run()
  }

  /** From now on it ends as soon as nobody waits. */
  close(): void {
    this.#closing = true
  }

  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      for (const [key, entries] of this.#waiting) {
        this.#waiting.set(key, this.#options.dropExpired(entries))
      }
      await this.#letFree()
      const next = [...this.#waiting].find(([, entries]) => entries.length > 0)
      if (next) await this.#try(...next)
      else if (this.#closing) this.#waiting.clear()
      else if (this.#waiting.size > 0) await sleep(LOOK_EVERY_MS, undefined, { ref: false })
    }
    this.#running = undefined
  }

  async #letFree(): Promise<void> {
    const keys = [...this.#waiting.keys()]
    // Who cannot be asked says nothing about them.
    const blocked = await this.#options.findBlocked(keys).catch(() => new Set(keys))
    for (const key of keys) if (!blocked.has(key)) this.#free(key)
  }

  async #try(key: string, entries: Entry[]): Promise<void> {
    const left = await this.#options.deliver(entries.splice(0, this.#options.batch_limit))
    if (left.length === 0) {
      this.#free(key)
      return
    }
    entries.unshift(...left)
    // Behind the others: each key has its turn.
    this.#waiting.delete(key)
    this.#waiting.set(key, entries)
  }

  #free(key: string): void {
    const entries = this.#waiting.get(key) ?? []
    this.#waiting.delete(key)
    this.#options.onFree(entries)
  }
}
