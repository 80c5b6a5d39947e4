// The provider's answer while it arrives: piece by piece, metered, with its fault kept instead of thrown, because
// what came before a fault still has to be paid for.

import { ApiError } from '../platform/errors.ts'
import type { CallLifetime, EndedBy } from './call-lifetime.ts'
import type { ChatEvent, Usage } from './dialects/chat-types.ts'
import type { HoldGrowth } from './hold-growth.ts'
import { Meter, type Metered } from './meter.ts'
import type { ChatCall, Order } from './order.ts'
import { promptTokens } from './prompt-size.ts'
import type { CallRecord } from './settlement.ts'
import type { UpstreamFrame, UpstreamReply } from './upstreams/contract.ts'

/** Whether the payer pays, with what went wrong where something did. */
export type Outcome =
  | { kind: 'free'; fault: ApiError; ended: CallRecord['ended'] }
  | { kind: 'charged'; record: CallRecord; fault: ApiError | undefined }

export class ProviderAnswer {
  #fault: ApiError | undefined
  readonly #lifetime: CallLifetime
  readonly #growth: HoldGrowth | undefined
  readonly #meter: Meter
  readonly #started_at = performance.now()
  #reply: UpstreamReply | undefined
  #frames: AsyncIterator<UpstreamFrame[]> | undefined
  #first: UpstreamFrame[] | undefined
  /** What has come and waits for room; the first of them is counted already. */
  #uncovered: UpstreamFrame[] = []
  /** Whether anything was passed on that a client can have seen. */
  #passed_on = false
  #first_byte_ms: number | undefined
  /** Names the call where the provider sends no request id. */
  #answer_id: string | undefined
  /** Whether a client reads along: otherwise nothing is delivered before everything is. */
  readonly #streamed: boolean
  /** Whether the provider sends pieces that no client sees before the last. */
  readonly #gathered: boolean
  /** What we ended because the hold could not grow any more. */
  #out_of_credits = false
  /** Who ended the provider's work, where it failed because of that. */
  #ended_by: EndedBy

  constructor(
    call: ChatCall,
    order: Order,
    { lifetime, growth }: { lifetime: CallLifetime; growth: HoldGrowth | undefined },
  ) {
    this.#lifetime = lifetime
    this.#growth = growth
    this.#streamed = call.request.stream
    this.#gathered = order.stream && !call.request.stream
    // The hold's estimate is on the safe side; what is charged should be close.
    const estimatePrompt = () => promptTokens(call.request, order.model, 'close')
    const counts_along = growth !== undefined
    this.#meter = new Meter({ model: order.model, estimatePrompt, counts_along })
  }

  /** Calls the provider and waits for the first piece: until then a fault can still be an HTTP error. */
  async open(order: Order): Promise<void> {
    const { came_first, signal } = this.#lifetime
    if (came_first) {
      const detail = 'the client left before the provider was asked'
      this.#fault = came_first === 'client' ? clientLeft(detail) : serviceStopped(false)
      return
    }
    const { max_output_tokens, sends_limit, stream, address } = order
    const terms = { max_output_tokens, sends_limit, stream, address, signal }
    try {
      this.#reply = await order.prepared.open(terms)
      this.#frames = this.#reply.frames[Symbol.asyncIterator]()
    } catch (error) {
      this.#fail(error)
    }
    this.#first = await this.#pull()
  }

  /** What went wrong, if anything has so far. */
  get fault(): ApiError | undefined {
    return this.#fault
  }

  /** The next frames that came together; undefined at the end and after a fault. */
  async read(): Promise<UpstreamFrame[] | undefined> {
    const first = this.#first
    this.#first = undefined
    const frames = first ?? (await this.#pull())
    if (frames) this.#passed_on = this.#meter.has_output
    return frames
  }

  /** It cannot be passed on any further: ends the provider's work, and what came before still counts. */
  async breakOff(error: unknown): Promise<void> {
    this.#fault ??=
      error instanceof ApiError ? error : new ApiError('internal_error', { cause: error })
    await this.#frames?.return?.()
  }

  /**
   * A provider that failed before any output costs nothing, whoever was listening, nor does a call that our own
   * stop has cut before anything was delivered. A call that its client ended does.
   */
  conclude(): Outcome {
    const fault = this.#fault
    if (fault === undefined) return { kind: 'charged', record: this.#record(), fault }
    if (this.#ended_by === 'client') return { kind: 'charged', record: this.#record(), fault }
    const all_or_nothing = this.#ended_by === 'service' || this.#gathered
    const is_free = all_or_nothing ? !this.#delivered : !this.#meter.has_output
    if (is_free) return { kind: 'free', fault, ended: this.#ended() }
    return { kind: 'charged', record: this.#record(), fault }
  }

  /** What was used, where the answer ends early because the credits do; the provider has said no end. */
  get cut_usage(): Usage | undefined {
    return this.#out_of_credits ? this.#metered().usage : undefined
  }

  #record(): CallRecord {
    return {
      metered: this.#metered(),
      provider_request_id: this.#reply?.request_id ?? this.#answer_id,
      first_byte_ms: this.#first_byte_ms,
      total_ms: this.#elapsed(),
      ended: this.#ended(),
      error_code: this.#ended() === 'failed' ? this.#fault?.code : undefined,
    }
  }

  #metered(): Metered {
    if (this.#ended_by === 'service') return this.#meter.concludeDelivered()
    return this.#out_of_credits ? this.#meter.concludeAtLimit() : this.#meter.conclude()
  }

  get #delivered(): boolean {
    return this.#streamed && this.#passed_on
  }

  #ended(): CallRecord['ended'] {
    if (this.#lifetime.client_left) return 'client_left'
    if (this.#ended_by === 'service') return 'service_stopped'
    if (this.#out_of_credits) return 'out_of_credits'
    return this.#fault ? 'failed' : 'complete'
  }

  async #pull(): Promise<UpstreamFrame[] | undefined> {
    if (this.#fault || !this.#frames || this.#out_of_credits) return undefined
    try {
      if (this.#growth && this.#uncovered.length > 0) {
        return await this.#takeCovered(this.#uncovered, this.#growth)
      }
      const { done, value } = await this.#frames.next()
      if (done) return undefined
      this.#first_byte_ms ??= this.#elapsed()
      if (this.#growth) return await this.#takeCovered(value, this.#growth)
      for (const { events } of value) this.#observe(events)
      return value
    } catch (error) {
      this.#fail(error)
      return undefined
    }
  }

  /**
   * Frame by frame, because much may have come at once. What is covered is passed on before the first frame that
   * is not waits for room.
   */
  async #takeCovered(frames: UpstreamFrame[], growth: HoldGrowth): Promise<UpstreamFrame[]> {
    for (const [index, frame] of frames.entries()) {
      if (frame !== this.#uncovered[0]) this.#observe(frame.events)
      if (growth.covers(this.#meter)) continue
      if (index > 0) {
        this.#uncovered = frames.slice(index)
        return frames.slice(0, index)
      }
      const has_room = await growth.waitForRoom(this.#meter)
      const is_over = this.#lifetime.signal.aborted
      if (has_room && !is_over) continue
      if (is_over) this.#fail(new Error('the call was ended while its hold waited for room'))
      else this.#out_of_credits = true
      await this.#frames?.return?.()
      return [frame]
    }
    this.#uncovered = []
    return frames
  }

  #observe(events: readonly ChatEvent[]): void {
    const [start] = events
    if (start?.kind === 'start') this.#answer_id = start.id
    this.#meter.observe(events)
  }

  #fail(error: unknown): void {
    const { signal, ended_by } = this.#lifetime
    this.#ended_by = ended_by
    if (!signal.aborted) this.#fault = toFault(error)
    else if (ended_by === 'service') this.#fault = serviceStopped(this.#delivered)
    else this.#fault = clientLeft('the client left')
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#started_at)
  }
}

function toFault(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('upstream_error', { cause: error })
}

/** Nobody reads it; it keeps a client's leaving apart from a provider's failure in logs and metrics. */
export function clientLeft(detail: string): ApiError {
  return new ApiError('bad_request', { status: 499, detail })
}

export function serviceStopped(delivered: boolean): ApiError {
  return new ApiError('service_unavailable', {
    message: 'The service stopped before the answer was complete.',
    hint: delivered
      ? 'Send the request again for a whole answer; what was delivered of this one is charged.'
      : 'Send the request again as `Retry-After` says; nothing was charged.',
    detail: 'cut by a stop of the service',
    headers: { 'retry-after': '1' },
  })
}
