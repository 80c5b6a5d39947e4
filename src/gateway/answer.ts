// The provider's answer while it arrives: piece by piece, metered, with its fault kept instead of thrown, because
// what came before a fault still has to be paid for.

import { ApiError } from '../platform/errors.ts'
import type { Departure } from './departure.ts'
import type { ChatEvent, Usage } from './dialects/chat-types.ts'
import type { HoldGrowth } from './hold-growth.ts'
import { Meter, type Metered } from './meter.ts'
import type { ChatCall, Order } from './order.ts'
import { promptTokens } from './prompt-size.ts'
import type { CallRecord } from './settlement.ts'
import type { UpstreamFrame, UpstreamReply } from './upstreams/contract.ts'

export class Answer {
  fault: ApiError | undefined
  readonly #departure: Departure
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
  /** Who ended the provider's work, where it did not end by itself. */
  #ended_by: 'client' | 'service' | undefined

  constructor(
    call: ChatCall,
    order: Order,
    { departure, growth }: { departure: Departure; growth: HoldGrowth | undefined },
  ) {
    this.#departure = departure
    this.#growth = growth
    this.#streamed = call.request.stream
    this.#gathered = order.stream && !call.request.stream
    // The hold's estimate is on the safe side; what is charged should be close.
    const estimatePrompt = () => promptTokens(call.request, order.model, 'close')
    const counts_along = growth !== undefined
    this.#meter = new Meter({ model: order.model, estimatePrompt, counts_along })
  }

  /** Calls the provider and waits for the first piece: until then a fault can still be an HTTP error. */
  async open(call: ChatCall, order: Order): Promise<void> {
    const { client_left, service_stopped } = this.#departure
    if (client_left || service_stopped) {
      const detail = 'the client left before the provider was asked'
      this.fault = client_left ? clientLeft(detail) : serviceStopped(false)
      return
    }
    try {
      this.#reply = await order.upstream.open({
        request: this.#gathered ? { ...call.request, stream: true } : call.request,
        model: order.model,
        max_output_tokens: order.max_output_tokens,
        address: order.address,
        end_user: call.payer.billing_mode === 'user' ? call.payer.account_id : undefined,
        signal: this.#departure.signal,
      })
      this.#frames = this.#reply.frames[Symbol.asyncIterator]()
    } catch (error) {
      this.#fail(error)
    }
    this.#first = await this.#pull()
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
    this.fault ??=
      error instanceof ApiError ? error : new ApiError('internal_error', { cause: error })
    await this.#frames?.return?.()
  }

  /**
   * A provider that failed before any output costs nothing, whoever was listening, nor does a call that our own
   * stop has cut before anything was delivered. A call that its client ended does.
   */
  get is_free(): boolean {
    if (this.fault === undefined || this.#ended_by === 'client') return false
    const all_or_nothing = this.#ended_by === 'service' || this.#gathered
    return all_or_nothing ? !this.#delivered : !this.#meter.has_output
  }

  /** What was used, where the answer ends early because the credits do; the provider has said no end. */
  get cut_usage(): Usage | undefined {
    return this.#out_of_credits ? this.#metered().usage : undefined
  }

  record(): CallRecord {
    return {
      metered: this.#metered(),
      provider_request_id: this.#reply?.request_id ?? this.#answer_id,
      first_byte_ms: this.#first_byte_ms,
      total_ms: this.#elapsed(),
      outcome: this.#outcome(),
    }
  }

  #metered(): Metered {
    if (this.#ended_by === 'service') return this.#meter.concludeDelivered()
    return this.#out_of_credits ? this.#meter.concludeAtLimit() : this.#meter.conclude()
  }

  get #delivered(): boolean {
    return this.#streamed && this.#passed_on
  }

  #outcome(): CallRecord['outcome'] {
    if (this.#departure.client_left) return 'client_left'
    if (this.#ended_by === 'service') return 'service_stopped'
    if (this.#out_of_credits) return 'out_of_credits'
    return this.fault ? 'failed' : 'complete'
  }

  async #pull(): Promise<UpstreamFrame[] | undefined> {
    if (this.fault || !this.#frames || this.#out_of_credits) return undefined
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
      const is_over = this.#departure.signal.aborted
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
    const { signal, service_stopped } = this.#departure
    if (!signal.aborted) {
      this.fault = toFault(error)
      return
    }
    this.#ended_by = service_stopped ? 'service' : 'client'
    this.fault = service_stopped ? serviceStopped(this.#delivered) : clientLeft('the client left')
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#started_at)
  }
}

function toFault(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('upstream_error', { cause: error })
}

/** Nobody reads it; it keeps a client's leaving apart from a provider's failure in logs and metrics. */
function clientLeft(detail: string): ApiError {
  return new ApiError('bad_request', { status: 499, detail })
}

function serviceStopped(delivered: boolean): ApiError {
  return new ApiError('service_unavailable', {
    message: 'The service stopped before the answer was complete.',
    hint: delivered
      ? 'Send the request again for a whole answer; what was delivered of this one is charged.'
      : 'Send the request again as `Retry-After` says; nothing was charged.',
    detail: 'cut by a stop of the service',
    headers: { 'retry-after': '1' },
  })
}
