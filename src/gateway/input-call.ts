// A call that is priced by what goes in, as speech, sounds, transcripts and embeddings are: who pays, what is held, and
// the settlement. Its price is known when the provider begins to answer, or has answered, and it is settled then, in front
// of what the client is sent.

import type { FastifyReply } from 'fastify'
import type { Payer } from '../access/payer.ts'
import type { InputModel } from '../catalog/models.ts'
import { markupOf, priceInput } from '../catalog/pricing.ts'
import type { KeyPrincipal } from '../http/access.ts'
import type { EventStream } from '../http/event-stream.ts'
import type { ApiError } from '../platform/errors.ts'
import type { Endpoint, Hold } from '../wallet/holds.ts'
import { CallLifetime } from './call-lifetime.ts'
import { presentNumbers, type SvcNumbers } from './dialects/dialect.ts'
import type { Claim } from './idempotency/claim.ts'
import { type ChatParts, spendLimitsOf } from './order.ts'
import type { Priced } from './price-lists.ts'
import { clientLeft, serviceStopped } from './provider-answer.ts'
import type { RunningCall } from './running-calls.ts'
import { withoutRetry } from './settlement.ts'
import { errorFromTransport } from './upstreams/error-mapping.ts'

export type InputParts = Pick<
  ChatParts,
  | 'catalog'
  | 'ledger'
  | 'clock'
  | 'metrics'
  | 'drains'
  | 'price_lists'
  | 'failed_calls'
  | 'public_url'
>

export type InputCall = {
  /** Of its hold and of its record; the client is told it. */
  id: string
  /** By performance.now(). */
  began_at: number
  endpoint: Endpoint
  payer: Payer
  /** Null where a user's own token or session makes the call. */
  key: KeyPrincipal | null
  request_id: string
  running: RunningCall
  /** As far as it is known. */
  request: { model: string; stream: boolean }
  /** Set where the client sent an Idempotency-Key. */
  claim?: Claim | undefined
}

/** Characters of speech, milliseconds of a transcript, number of sounds, tokens of embedded texts. */
export type Quantity = number

/** Throws 402. `most`: what is held if there is as much. */
export async function holdInput(
  parts: InputParts,
  call: InputCall,
  { model, least, most }: { model: InputModel; least: Quantity; most: Quantity },
): Promise<Hold> {
  const { payer } = call
  const priceOf = (quantity: Quantity) => {
    const cost = priceInput(model, quantity)
    return cost + markupOf(cost, payer.markup_bps)
  }
  return await parts.ledger().hold({
    id: call.id,
    wallet_id: payer.account_id,
    min_credits: priceOf(least),
    max_credits: priceOf(most),
    spend_limits: spendLimitsOf(call),
  })
}

/** The provider is read to its end, whoever leaves: an abort would not stop its bill. */
export function beginLifetime(
  { drains }: InputParts,
  { running }: InputCall,
  client: Pick<EventStream, 'onLeave'>,
): CallLifetime {
  const lifetime = new CallLifetime({ policy: 'drain', drains })
  client.onLeave(() => lifetime.leave())
  running.onStop(() => lifetime.stop())
  return lifetime
}

/** Nobody wants it any more, and the provider does not know of it. */
class NotAsked extends Error {}

/** To be called right before the provider is. */
export function requireStillWanted({ came_first }: CallLifetime): void {
  if (came_first) throw new NotAsked('ended before the provider was asked')
}

export type InputUse = {
  model: InputModel
  hold: Hold
  quantity: Quantity
  /** What was counted, by its name. */
  counted: object
  /** What was asked for and cannot be done. */
  ignored: readonly string[]
  provider_request_id?: string | undefined
  started_at: number
  /** We did not learn the quantity from the provider. */
  estimated?: boolean
  outcome?: 'complete' | 'client_left'
}

/** Says no more about the call than is known when the provider begins: whoever leaves later has been served. */
export async function settleInput(
  parts: InputParts,
  call: InputCall,
  use: InputUse,
): Promise<SvcNumbers> {
  const { model, hold, outcome = 'complete' } = use
  const { billing_mode, markup_bps } = call.payer
  try {
    const cost = priceInput(model, use.quantity)
    const used = cost + markupOf(cost, markup_bps)
    // An estimate is ours to be wrong about: it never charges more than the caller let us hold.
    const used_credits = use.estimated && used > hold.amount ? hold.amount : used
    const usage = describeUsage(call, use, await parts.price_lists.find(model))
    const cost_credits = cost > used_credits ? used_credits : cost
    const settle = () =>
      parts.ledger().settle({ hold, used_credits, cost_credits, usage, event: {} })
    const settlement = await (call.claim ? call.claim.charging(settle) : settle())
    const { credits_used, balance_before, balance_after } = settlement
    parts.metrics.gateway_calls.inc({ model: model.name, outcome })
    parts.metrics.gateway_tokens.inc({ model: model.name, kind: 'input' }, tokensOf(use))
    parts.metrics.gateway_credits.inc({ model: model.name }, Number(credits_used))
    return { credits_used, balance_before, balance_after, billing_mode }
  } catch (error) {
    // The ledger keeps the charge for later: the hold must stay as it is, and nobody should ask a second time.
    throw withoutRetry(error)
  }
}

function describeUsage({ payer, ...call }: InputCall, use: InputUse, priced: Priced) {
  const elapsed_ms = Math.round(performance.now() - use.started_at)
  const details = {
    ...('details' in priced && priced.details),
    ...(use.ignored.length > 0 && { ignored_fields: use.ignored }),
  }
  return {
    model: use.model.name,
    billing_mode: payer.billing_mode,
    endpoint: call.endpoint,
    developer_id: payer.developer_id,
    ...(call.key && { key_id: call.key.key_id }),
    ...(payer.client_id !== null && { client_id: payer.client_id }),
    ...(payer.external_user_id !== null && { external_user_id: payer.external_user_id }),
    input_tokens: tokensOf(use),
    cached_input_tokens: 0,
    cache_write_tokens: 0,
    output_tokens: 0,
    reasoning_tokens: 0,
    estimated: use.estimated ?? false,
    ...priced,
    ...(Object.keys(details).length > 0 && { details }),
    raw_usage: use.counted,
    request_id: call.request_id.slice('req_'.length),
    ...(use.provider_request_id !== undefined && { provider_request_id: use.provider_request_id }),
    first_byte_ms: elapsed_ms,
    total_ms: elapsed_ms,
    outcome: use.outcome ?? 'complete',
    stream: call.request.stream,
  }
}

/**
 * The provider gave nothing, so nothing is owed; unless it was the client who ended the call, which does not end the
 * provider's bill. Answers what to throw.
 */
export async function concludeFailed(
  parts: InputParts,
  call: InputCall,
  { use, lifetime, error }: { use: InputUse; lifetime: CallLifetime; error: unknown },
): Promise<ApiError> {
  if (lifetime.ended_by === 'client' && !(error instanceof NotAsked)) {
    await settleInput(parts, call, { ...use, estimated: true, outcome: 'client_left' })
    return clientLeft('the client left')
  }
  await parts.ledger().release(use.hold)
  parts.metrics.gateway_calls.inc({ model: use.model.name, outcome: 'free' })
  if (lifetime.came_first === 'service') return serviceStopped(false)
  if (lifetime.came_first === 'client') return clientLeft('the client left before an answer')
  return errorFromTransport(use.model.provider, error)
}

function tokensOf({ model, quantity }: InputUse): number {
  return model.kind === 'embedding' ? quantity : 0
}

/** A binary body has no room for `svc`. */
export function setNumbers(reply: FastifyReply, svc: SvcNumbers): void {
  const { credits_used, balance_before, balance_after, billing_mode } = presentNumbers(svc)
  reply
    .header('x-svc-credits-used', String(credits_used))
    .header('x-svc-balance-before', String(balance_before))
    .header('x-svc-balance-after', String(balance_after))
    .header('x-svc-billing-mode', billing_mode)
}
