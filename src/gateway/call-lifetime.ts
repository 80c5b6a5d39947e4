// Who ends a call that does not end by itself, and when. A client that leaves ends it at once, or lets it be read
// on to its exact usage, as the model's entry in the catalog declares: an abort would neither stop such a provider's
// bill nor tell what it is. Reading on has a limit of time, and of calls at once. A stop of the service ends the
// call too. Whoever came first, the client or the stop, has ended it.

import { type ChatModel, disconnectPolicy } from '../catalog/models.ts'
import type { EventStream } from '../http/event-stream.ts'
import { CallSignal } from '../platform/http-call.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import type { RunningCall } from './running-calls.ts'
import { mayThink } from './upstreams/capabilities.ts'

const DRAIN_LIMIT_MS = 120_000
const DRAINS_MAX = 200

export type Drains = { open: number }

/** `undefined`: nobody; the provider ended it, in good order or not. */
export type EndedBy = 'client' | 'service' | undefined

export class CallLifetime {
  /** Ends the provider's work. */
  readonly signal = new CallSignal()
  readonly #drains: Drains
  readonly #policy: ChatModel['on_disconnect']
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #came_first: EndedBy

  constructor(options: { policy: ChatModel['on_disconnect']; drains: Drains }) {
    this.#policy = options.policy
    this.#drains = options.drains
  }

  static begin(
    { request, running, claim }: { request: ChatRequest; running: RunningCall; claim?: unknown },
    { model, drains, client }: { model: ChatModel; drains: Drains; client: EventStream },
  ): CallLifetime {
    const how = { reasons: mayThink(request), stream: request.stream }
    // Whoever sent an Idempotency-Key will come back for the answer.
    const policy = claim === undefined ? disconnectPolicy(model, how) : 'drain'
    const lifetime = new CallLifetime({ policy, drains })
    client.onLeave(() => lifetime.leave())
    running.onStop(() => lifetime.stop())
    return lifetime
  }

  /** Whether the client has left, though the provider's work may go on. */
  get client_left(): boolean {
    return this.#came_first === 'client'
  }

  /** Who was first to want an end, before there was one. */
  get came_first(): EndedBy {
    return this.#came_first
  }

  /** Who has ended the provider's work. */
  get ended_by(): EndedBy {
    return this.signal.aborted ? this.#came_first : undefined
  }

  /** After a stop it is we who closed its connection. */
  leave(): void {
    this.#came_first ??= 'client'
    if (this.#came_first !== 'client' || this.#closed || this.#timer !== undefined) return
    if (this.#policy === 'cancel' || this.#drains.open >= DRAINS_MAX) {
      this.#end()
      return
    }
    this.#drains.open++
    this.#timer = setTimeout(() => this.#end(), DRAIN_LIMIT_MS)
    this.#timer.unref()
  }

  /** The service stops: what is still under way has no more time. */
  stop(): void {
    this.#came_first ??= 'service'
    this.#end()
  }

  /** The call is over: nothing is left to end. */
  close(): void {
    this.#closed = true
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#drains.open--
  }

  #end(): void {
    if (!this.#closed) this.signal.abort()
  }
}
