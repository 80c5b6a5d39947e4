// Tells whoever does the work that there is some, once it is committed. In the same process it is a call; to another
// process it is a NOTIFY of its own, never one in the transaction of a settlement: all of them would wait for each other.
// Both only make faster what polling finds anyway.

import { type Db, statement } from '../platform/db.ts'

/** There are new rows in the outbox. */
export const EVENTS_CHANNEL = 'svc_events'
/** A developer asked for something to be sent. */
export const DELIVERIES_CHANNEL = 'svc_deliveries'
/** A wake-up at once, then at most one in this time, however many calls end. */
const GAP_MS = 40

const NOTIFY = statement<{ done: string }>(
  'events.notify',
  `select pg_notify($1::text, '')::text as done`,
)

export class Wake {
  readonly channel: string
  readonly #db: Db
  #worker: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #again = false

  constructor(db: Db, channel: string) {
    this.#db = db
    this.channel = channel
  }

  /** This process does the work itself: nobody else need be told. */
  workHere(worker: () => void): void {
    this.#worker = worker
  }

  readonly wake = (): void => {
    if (this.#timer) {
      this.#again = true
      return
    }
    this.#timer = setTimeout(this.#goOn, GAP_MS).unref()
    this.#tell()
  }

  readonly #goOn = (): void => {
    this.#timer = undefined
    if (!this.#again) return
    this.#again = false
    this.wake()
  }

  #tell(): void {
    if (this.#worker) this.#worker()
    else void this.#db.run(NOTIFY, [this.channel]).catch(() => {})
  }
}
