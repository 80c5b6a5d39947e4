// What happens upstream when the client leaves, as the model's entry in the catalog declares it. `cancel` ends
// the provider's work at once. `drain` reads on to the exact usage, because an abort would neither stop the
// provider's bill nor tell what it is; for a bounded time, and for a bounded number of calls at once.

import type { ChatModel } from '../catalog/models.ts'

const DRAIN_LIMIT_MS = 120_000
const DRAINS_MAX = 200

export type Drains = { open: number }

export type DepartureOptions = {
  policy: ChatModel['on_disconnect']
  drains: Drains
  /** The process ends: what is still under way has no more time. */
  stop: AbortSignal
}

export class Departure {
  readonly #abort = new AbortController()
  readonly #drains: Drains
  readonly #policy: ChatModel['on_disconnect']
  readonly #gone: AbortSignal
  readonly #stop: AbortSignal
  #timer: NodeJS.Timeout | undefined

  constructor(gone: AbortSignal, options: DepartureOptions) {
    this.#gone = gone
    this.#stop = options.stop
    this.#stop.addEventListener('abort', this.#end, { once: true })
    this.#policy = options.policy
    this.#drains = options.drains
    if (gone.aborted) this.#leave()
    else gone.addEventListener('abort', this.#leave, { once: true })
  }

  /** Ends the provider's call. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get client_left(): boolean {
    return this.#gone.aborted
  }

  /** The call is over: nothing is left to end. */
  close(): void {
    this.#gone.removeEventListener('abort', this.#leave)
    this.#stop.removeEventListener('abort', this.#end)
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#drains.open--
  }

  readonly #end = (): void => this.#abort.abort()

  readonly #leave = (): void => {
    if (this.#policy === 'cancel' || this.#drains.open >= DRAINS_MAX) {
      this.#end()
      return
    }
    this.#drains.open++
    this.#timer = setTimeout(this.#end, DRAIN_LIMIT_MS)
    this.#timer.unref()
  }
}
