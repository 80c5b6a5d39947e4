// What happens upstream when the client leaves, as the model's entry in the catalog declares it. `cancel` ends
// the provider's work at once. `drain` reads on to the exact usage, because an abort would neither stop the
// provider's bill nor tell what it is; for a bounded time, and for a bounded number of calls at once. A stop of
// the service ends the work too. Whoever came first, the client or the stop, has ended the call.

import type { ChatModel } from '../catalog/models.ts'
import { CallSignal } from '../platform/http-call.ts'

const DRAIN_LIMIT_MS = 120_000
const DRAINS_MAX = 200

export type Drains = { open: number }

export class Departure {
  /** Ends the provider's call. */
  readonly signal = new CallSignal()
  readonly #drains: Drains
  readonly #policy: ChatModel['on_disconnect']
  #timer: NodeJS.Timeout | undefined
  #closed = false
  client_left = false
  service_stopped = false

  constructor(options: { policy: ChatModel['on_disconnect']; drains: Drains }) {
    this.#policy = options.policy
    this.#drains = options.drains
  }

  /** The client has left; after a stop it is we who closed its connection. */
  leave(): void {
    if (this.service_stopped) return
    this.client_left = true
    if (this.#closed || this.#timer !== undefined) return
    if (this.#policy === 'cancel' || this.#drains.open >= DRAINS_MAX) {
      this.end()
      return
    }
    this.#drains.open++
    this.#timer = setTimeout(() => this.end(), DRAIN_LIMIT_MS)
    this.#timer.unref()
  }

  /** The service stops: what is still under way has no more time. */
  stop(): void {
    this.service_stopped = !this.client_left
    this.end()
  }

  end(): void {
    if (!this.#closed) this.signal.abort()
  }

  /** The call is over: nothing is left to end. */
  close(): void {
    this.#closed = true
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#drains.open--
  }
}
