// The hold of a call whose full price would take much of what is free. It begins with a part and grows while the
// answer comes, so that others have room beside it. The count of the answer so far decides: a good while before it
// passes what is held, more is asked for while the answer goes on. When it has passed what is held, the answer waits
// for room that other calls give back. Without any, it ends there, as if its limit had been reached.

import { setTimeout as sleep } from 'node:timers/promises'
import { type ChatModel, disconnectPolicy } from '../catalog/models.ts'
import { type CallBounds, markupOf, priceUsage, quoteMaximum } from '../catalog/pricing.ts'
import type { CallSignal } from '../platform/http-call.ts'
import type { Growth } from '../wallet/holds.ts'
import { citedBlocks } from './citations.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import type { Meter } from './meter.ts'
import type { ChatCall, ChatParts, Order } from './order.ts'
import { mayThink } from './upstreams/capabilities.ts'

/** What is asked for ahead: our count may be a tenth too low, and a few more tokens come meanwhile. */
const AHEAD_PERCENT = 125
const AHEAD_TOKENS = 64
/** No character counts for more, so this many fewer need not be counted. */
const TOKENS_PER_CHARACTER_MAX = 3
/** How long an answer waits for calls that run beside it; compose.ts gives it to every call. */
export const GROWTH_WAIT_MS = 20_000
/** Where the ledger does not answer: longer than a failover takes. */
const OUTAGE_WAIT_MS = 60_000
const OUTAGE_PAUSE_MS = 250
/** Between a question ahead of time that was refused and the next. */
const REFUSED_PAUSE_MS = 100

/** What the price of the answer so far is worked out from. */
export type GrowthTerms = {
  bounds: Omit<CallBounds, 'max_output_tokens'>
  /** The whole answer, as long as the provider was allowed to make it. */
  max_credits: bigint
}

/**
 * Whether the output can be counted while it comes, all of it, and cut anywhere. Where the client wants the answer
 * in one piece, the provider is asked for a stream all the same, so nothing may be lost on the way.
 */
export function mayGrow(request: ChatRequest, model: ChatModel, relays: boolean): boolean {
  const { n, stream, original } = request
  const { body } = original
  const policy = disconnectPolicy(model, { reasons: mayThink(request), stream: true })
  // Rejected tokens of a prediction are paid for and never seen.
  if (policy !== 'cancel' || n > 1 || body['prediction'] !== undefined) return false
  return stream || !relays || !needsOwnReply(original)
}

/** Whether something is asked for that only the provider's own JSON can carry. */
function needsOwnReply(original: ChatRequest['original']): boolean {
  const { body } = original
  // A seed is of use only together with the fingerprint of the system.
  if (body['logprobs'] === true || body['seed'] !== undefined) return true
  // The reply says what was cleared.
  if (body['context_management'] !== undefined) return true
  return citedBlocks(original).length > 0
}

export class HoldGrowth {
  readonly #parts: ChatParts
  readonly #order: Order
  readonly #terms: GrowthTerms
  readonly #markup_bps: number
  readonly #signal: CallSignal
  /** Characters of output below which nothing has to be counted. */
  #count_again_at = 0
  /** The question that nobody waits for. */
  #asking: Promise<void> | undefined
  #ask_ahead_at = 0

  constructor(
    parts: ChatParts,
    { call, order, terms }: { call: ChatCall; order: Order; terms: GrowthTerms },
    signal: CallSignal,
  ) {
    this.#parts = parts
    this.#order = order
    this.#terms = terms
    this.#markup_bps = call.payer.markup_bps
    this.#signal = signal
  }

  /** Whether what was counted is covered by what is held. Asks for more in good time. */
  covers(meter: Meter): boolean {
    if (meter.characters < this.#count_again_at || meter.stopped) return true
    const tokens = meter.countOutput()
    const used = this.#priceOf(tokens, meter)
    const ahead_tokens = Math.ceil((tokens * AHEAD_PERCENT) / 100) + AHEAD_TOKENS
    const ahead = this.#priceOf(ahead_tokens, meter)
    if (ahead > this.#held) this.#askAhead(ahead)
    if (used > this.#held) return false
    const next = ahead < this.#held ? ahead : used
    const token_price = Number(this.#priceOf(tokens + 1_000, meter, false) - used) / 1_000
    const tokens_left = Number(this.#held - next) / Math.max(token_price, 1e-6)
    const unseen = (tokens_left * 100) / AHEAD_PERCENT / TOKENS_PER_CHARACTER_MAX
    // With all of it held, the provider's own limit is the bound.
    const is_full = this.#held >= this.#terms.max_credits
    this.#count_again_at = is_full ? Number.POSITIVE_INFINITY : meter.characters + unseen
    return true
  }

  /** False: there is none, and the answer ends here. True also when the call is over: its reader finds out. */
  async waitForRoom(meter: Meter): Promise<boolean> {
    await this.#asking
    const used = this.#priceOf(meter.countOutput(), meter)
    const give_up_at = performance.now() + OUTAGE_WAIT_MS
    while (used > this.#held) {
      const state = await this.#ask(used, this.#parts.growth.wait_ms)
      if (this.#signal.aborted) return true
      if (state === 'blocked' || state === 'refused') return false
      if (state === 'unknown' && performance.now() >= give_up_at) return false
      if (state === 'unknown') await sleep(OUTAGE_PAUSE_MS)
    }
    return true
  }

  get #held(): bigint {
    return this.#order.hold.amount
  }

  /** The prompt as the provider has counted it, where it has said so; until then as it was held for. */
  #priceOf(output_tokens: number, { reported }: Meter, bounded = true): bigint {
    const { model } = this.#order
    const { bounds, max_credits } = this.#terms
    const cost = reported
      ? priceUsage(model, { ...reported, output_tokens })
      : quoteMaximum(model, { ...bounds, max_output_tokens: output_tokens })
    const credits = cost + markupOf(cost, this.#markup_bps)
    return bounded && credits > max_credits ? max_credits : credits
  }

  /** Should the call be settled first, there is no hold left to grow. */
  #askAhead(credits: bigint): void {
    if (performance.now() < this.#ask_ahead_at) return
    this.#asking ??= this.#ask(credits, 0).then((state) => {
      if (state !== 'grown') this.#ask_ahead_at = performance.now() + REFUSED_PAUSE_MS
      this.#asking = undefined
    })
  }

  /** `unknown`: the ledger did not answer, so what was held before is all that can be counted on. */
  async #ask(min_credits: bigint, wait_ms: number): Promise<Growth['state'] | 'unknown'> {
    const { max_credits } = this.#terms
    try {
      const isOver = () => this.#signal.aborted
      const range = { min_credits, max_credits, wait_ms, isOver }
      const growth = await this.#parts.ledger().grow(this.#order.hold, range)
      if (growth.state === 'grown') this.#order.hold = growth.hold
      return growth.state
    } catch (error) {
      this.#parts.log.warn({ err: error, hold: this.#order.hold.id }, 'a hold did not grow')
      return 'unknown'
    }
  }
}
