// Where entries wait that cannot be written with the others, so that they hold up nobody: those whose key somebody keeps
// locked, and those that fail for a reason nobody foresaw. Locked keys that are free again are found without waiting.
// Those that are not are tried one after the other, which waits a moment: a key that many share is hardly ever found
// free, and whoever waits gets it in the end. Failing keys are tried again and again, each more slowly. A key is
// remembered for a while when nobody waits for it any more: the next who needs it must not hold up others to find out.

import { setTimeout as sleep } from 'node:timers/promises'

export type Trouble = 'locked' | 'failing'

export type QuarantineOptions<Entry> = {
  keyOf: (entry: Entry) => string
  batch_limit: number
  /** Those of the keys that somebody keeps locked, themselves or for these entries; found without waiting. */
  findLocked: (keys: readonly string[], entries: readonly Entry[]) => Promise<ReadonlySet<string>>
  /** Tries entries of one key once; answers those that are still in trouble. */
  deliver: (entries: readonly Entry[]) => Promise<{ left: readonly Entry[]; trouble: Trouble }>
  /** Takes back those whose trouble is over. */
  onFree: (entries: readonly Entry[]) => void
  /** Ends those whose time is over; answers the others. */
  dropExpired: (entries: readonly Entry[]) => Entry[]
}

type Ward<Entry> = {
  /** Of the last try. A server that could not be reached makes it `failing`: nobody knows of a lock then. */
  trouble: Trouble
  entries: Entry[]
  /** A failing key is not tried before this. */
  try_at: number
  pause_ms: number
  /** Since when nobody waits for it. */
  empty_since: number | undefined
}

const PAUSE_START_MS = 100
const PAUSE_LIMIT_MS = 1_000
/** Between two looks at locked keys while nobody waits. */
const LOOK_EVERY_MS = 500
/** Between two looks for what may be tried. */
const IDLE_MS = 20
const FORGET_FAILING_AFTER_MS = 30_000

export class Quarantine<Entry> {
  readonly #options: QuarantineOptions<Entry>
  readonly #wards = new Map<string, Ward<Entry>>()
  #running: Promise<void> | undefined
  /** Under way, and so in no ward. */
  #trying: readonly Entry[] = []
  #closing = false
  #looked_at = Number.NEGATIVE_INFINITY

  constructor(options: QuarantineOptions<Entry>) {
    this.#options = options
  }

  /** Ends when nobody waits and, unless it closes, every key is forgotten. */
  get running(): Promise<void> | undefined {
    return this.#running
  }

  has(key: string): boolean {
    return this.#wards.has(key)
  }

  /** Without a trouble: for keys that are here already. */
  add(entries: readonly Entry[], trouble: Trouble = 'locked'): void {
    for (const entry of entries) {
      const key = this.#options.keyOf(entry)
      const ward = this.#wards.get(key)
      if (ward) {
        ward.entries.push(entry)
        ward.empty_since = undefined
      } else {
        this.#wards.set(key, {
          trouble,
          entries: [entry],
          try_at: 0,
          pause_ms: PAUSE_START_MS,
          empty_since: undefined,
        })
      }
    }
    if (this.#wards.size > 0) this.#running ??= this.#run()
  }

  /** From now on it ends as soon as nobody waits. */
  close(): void {
    this.#closing = true
  }

  /** Forgets everything; answers whoever waited. */
  abandon(): Entry[] {
    const waiting = [...this.#wards.values()].flatMap((ward) => ward.entries)
    this.#wards.clear()
    return [...this.#trying, ...waiting]
  }

  async #run(): Promise<void> {
    while (this.#wards.size > 0) {
      this.#dropExpired()
      await this.#letFree()
      const now = performance.now()
      const next = [...this.#wards].find(
        ([, ward]) => ward.entries.length > 0 && ward.try_at <= now,
      )
      if (next) await this.#try(...next)
      else if (this.#wards.size > 0) await sleep(IDLE_MS, undefined, { ref: false })
    }
    this.#running = undefined
  }

  #dropExpired(): void {
    const now = performance.now()
    for (const [key, ward] of this.#wards) {
      ward.entries = this.#options.dropExpired(ward.entries)
      if (ward.entries.length > 0) continue
      ward.empty_since ??= now
      const forgotten =
        ward.trouble === 'failing' && now - ward.empty_since > FORGET_FAILING_AFTER_MS
      if (forgotten || this.#closing) this.#wards.delete(key)
    }
  }

  /** If the database does not answer, every key counts as locked. */
  async #letFree(): Promise<void> {
    const locked = [...this.#wards].filter(([, ward]) => ward.trouble === 'locked')
    const now = performance.now()
    const somebody_waits = locked.some(([, ward]) => ward.entries.length > 0)
    if (locked.length === 0) return
    if (!somebody_waits && now - this.#looked_at < LOOK_EVERY_MS) return
    this.#looked_at = now
    const keys = locked.map(([key]) => key)
    const entries = locked.flatMap(([, ward]) => ward.entries)
    const still = await this.#options.findLocked(keys, entries).catch(() => new Set(keys))
    for (const key of keys) if (!still.has(key)) this.#free(key)
  }

  async #try(key: string, ward: Ward<Entry>): Promise<void> {
    const tried = ward.entries.splice(0, this.#options.batch_limit)
    this.#trying = tried
    const { left, trouble } = await this.#options.deliver(tried)
    this.#trying = []
    // Abandoned meanwhile.
    if (this.#wards.get(key) !== ward) return
    if (left.length === 0) {
      this.#free(key)
      return
    }
    ward.entries.unshift(...left)
    ward.trouble = trouble
    if (trouble === 'failing') {
      ward.try_at = performance.now() + ward.pause_ms
      ward.pause_ms = Math.min(PAUSE_LIMIT_MS, ward.pause_ms * 2)
    }
    // Behind the others: each key has its turn.
    this.#wards.delete(key)
    this.#wards.set(key, ward)
  }

  #free(key: string): void {
    const entries = this.#wards.get(key)?.entries ?? []
    this.#wards.delete(key)
    this.#options.onFree(entries)
  }
}
