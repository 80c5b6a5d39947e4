// Where entries wait that somebody else holds up, so that they hold up nobody themselves. They are tried again one key
// after the other, whoever asks for such a key meanwhile joins them, and a key leaves when nobody waits for it.

export type SidingOptions<Entry> = {
  keyOf: (entry: Entry) => string
  batch_limit: number
  /** Tries once; answers those that are still held up. */
  deliver: (entries: readonly Entry[]) => Promise<readonly Entry[]>
}

export class Siding<Entry> {
  readonly #options: SidingOptions<Entry>
  readonly #waiting = new Map<string, Entry[]>()
  #size = 0
  #running: Promise<void> | undefined

  constructor(options: SidingOptions<Entry>) {
    this.#options = options
  }

  /** Without those that are being tried. */
  get size(): number {
    return this.#size
  }

  /** Resolves when nobody is left; undefined while nobody is here. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  /** Only if others of its key are here. */
  join(entry: Entry): boolean {
    const others = this.#waiting.get(this.#options.keyOf(entry))
    if (!others) return false
    others.push(entry)
    this.#size++
    return true
  }

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (this.join(entry)) continue
      this.#waiting.set(this.#options.keyOf(entry), [entry])
      this.#size++
    }
    if (this.#size > 0) this.#running ??= this.#run()
  }

  async #run(): Promise<void> {
    for (let [key] = this.#waiting.keys(); key !== undefined; [key] = this.#waiting.keys()) {
      const waiting = this.#waiting.get(key) ?? []
      const batch = waiting.splice(0, this.#options.batch_limit)
      this.#size -= batch.length
      const left = await this.#options.deliver(batch)
      this.#size += left.length
      waiting.unshift(...left)
      this.#waiting.delete(key)
      // Behind the others: each key has its turn.
      if (waiting.length > 0) this.#waiting.set(key, waiting)
    }
    this.#running = undefined
  }
}
