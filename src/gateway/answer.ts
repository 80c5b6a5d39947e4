// The provider's answer while it arrives: piece by piece, metered, with its fault kept instead of thrown, because
// what came before a fault still has to be paid for.

import { promptTokens } from '../catalog/prompt-size.ts'
import { ApiError } from '../platform/errors.ts'
import type { Departure } from './departure.ts'
import { Meter } from './meter.ts'
import type { ChatCall, Order } from './order.ts'
import type { CallRecord } from './settlement.ts'
import type { UpstreamFrame, UpstreamReply } from './upstreams/contract.ts'

export class Answer {
  fault: ApiError | undefined
  readonly #departure: Departure
  readonly #meter: Meter
  readonly #started_at = performance.now()
  #reply: UpstreamReply | undefined
  #frames: AsyncIterator<UpstreamFrame> | undefined
  #first: UpstreamFrame | undefined
  #first_byte_ms: number | undefined

  constructor(call: ChatCall, order: Order, departure: Departure) {
    this.#departure = departure
    // The hold's estimate is on the safe side; what is charged should be close.
    const estimatePrompt = () => promptTokens(call.request, order.model, 'close')
    this.#meter = new Meter({ model: order.model, estimatePrompt })
  }

  /** Calls the provider and waits for the first piece: until then a fault can still be an HTTP error. */
  async open(call: ChatCall, order: Order): Promise<void> {
    try {
      this.#reply = await order.upstream.open({
        request: call.request,
        model: order.model,
        max_output_tokens: order.max_output_tokens,
        address: order.address,
        end_user: call.payer.billing_mode === 'user' ? call.payer.account_id : undefined,
        signal: this.#departure.signal,
      })
      this.#frames = this.#reply.frames[Symbol.asyncIterator]()
    } catch (error) {
      this.fault = toFault(error)
    }
    this.#first = await this.#read()
  }

  async *frames(): AsyncGenerator<UpstreamFrame> {
    for (let frame = this.#first; frame; frame = await this.#read()) yield frame
  }

  /** A provider that failed before any output costs nothing; a client that left after asking does. */
  get is_free(): boolean {
    return this.fault !== undefined && !this.#meter.has_output && !this.#departure.client_left
  }

  record(): CallRecord {
    const outcome = this.#departure.client_left ? 'client_left' : this.fault ? 'failed' : 'complete'
    return {
      metered: this.#meter.conclude(),
      provider_request_id: this.#reply?.request_id,
      first_byte_ms: this.#first_byte_ms,
      total_ms: this.#elapsed(),
      outcome,
    }
  }

  async #read(): Promise<UpstreamFrame | undefined> {
    if (this.fault || !this.#frames) return undefined
    try {
      const { done, value } = await this.#frames.next()
      if (done) return undefined
      this.#first_byte_ms ??= this.#elapsed()
      this.#meter.observe(value.events)
      return value
    } catch (error) {
      this.fault = toFault(error)
      return undefined
    }
  }

  #elapsed(): number {
    return Math.round(performance.now() - this.#started_at)
  }
}

function toFault(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError('upstream_error', { cause: error })
}
