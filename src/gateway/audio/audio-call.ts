// What speech, sounds and transcripts have in common: who pays, what is held, and the settlement. An audio call is
// priced by what goes in, so its price is known when the provider begins to answer, and it is settled then: the
// numbers stand in the headers, in front of the audio.

import type { FastifyReply } from 'fastify'
import type { Payer } from '../../access/payer.ts'
import type { AudioModel, Catalog } from '../../catalog/models.ts'
import { markupOf, priceAudio } from '../../catalog/pricing.ts'
import type { KeyPrincipal } from '../../http/access.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Endpoint, Hold } from '../../wallet/holds.ts'
import { presentNumbers, type SvcNumbers } from '../dialects/dialect.ts'
import { type ChatParts, spendLimitsOf } from '../order.ts'
import type { RunningCall } from '../running-calls.ts'
import type { Elevenlabs } from '../upstreams/elevenlabs/elevenlabs.ts'

export type AudioParts = Pick<
  ChatParts,
  'catalog' | 'ledger' | 'clock' | 'log' | 'metrics' | 'drains' | 'price_lists' | 'failed_calls'
> & {
  /** Undefined: there is no credential for it. */
  elevenlabs: Elevenlabs | undefined
  /** Where uploads wait for their turn. */
  upload_folder: string
}

export type AudioCall = {
  /** Of its hold and of its record; the client is told it. */
  id: string
  /** By performance.now(). */
  began_at: number
  endpoint: Endpoint
  payer: Payer
  /** Null where a user's own token makes the call. */
  key: KeyPrincipal | null
  request_id: string
  running: RunningCall
  /** As far as it is known. */
  request: { model: string; stream: boolean }
}

/** Characters of speech, milliseconds of a transcript, number of sounds. */
export type Quantity = number

export function requireAudioModel(
  catalog: Catalog,
  name: string,
  kind: AudioModel['kind'],
): AudioModel {
  const model = catalog.find(name)
  if (model?.kind === kind) return model
  const names = catalog.list().filter((one) => one.kind === kind)
  throw new ApiError('model_not_found', {
    message: `There is no ${kind} model ${JSON.stringify(name.slice(0, 100))}.`,
    hint: `Use one of: ${names.map((one) => one.name).join(', ')}.`,
  })
}

export function requireElevenlabs({ elevenlabs }: AudioParts): Elevenlabs {
  if (elevenlabs) return elevenlabs
  throw new ApiError('provider_misconfigured', { detail: 'no key for elevenlabs' })
}

/** Throws 402. `most`: what is held if there is as much. */
export async function holdAudio(
  parts: AudioParts,
  call: AudioCall,
  { model, least, most }: { model: AudioModel; least: Quantity; most: Quantity },
): Promise<Hold> {
  const { payer } = call
  const priceOf = (quantity: Quantity) => {
    const cost = priceAudio(model, quantity)
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

export type AudioUse = {
  model: AudioModel
  hold: Hold
  quantity: Quantity
  /** What was counted, by its name. */
  counted: object
  stream: boolean
  provider_request_id: string | undefined
  started_at: number
  /** We did not learn the quantity from the provider. */
  estimated?: boolean
}

/** Says no more about the call than is known when the provider begins: whoever leaves later has been served. */
export async function settleAudio(
  parts: AudioParts,
  call: AudioCall,
  use: AudioUse,
): Promise<SvcNumbers> {
  const { model, hold, quantity } = use
  const { payer, key } = call
  const elapsed_ms = Math.round(performance.now() - use.started_at)
  const cost_credits = priceAudio(model, quantity)
  const settlement = await parts.ledger().settle({
    hold,
    cost_credits,
    used_credits: cost_credits + markupOf(cost_credits, payer.markup_bps),
    usage: {
      model: model.name,
      billing_mode: payer.billing_mode,
      endpoint: call.endpoint,
      developer_id: payer.developer_id,
      ...(key && { key_id: key.key_id }),
      ...(payer.client_id !== null && { client_id: payer.client_id }),
      ...(payer.external_user_id !== null && { external_user_id: payer.external_user_id }),
      input_tokens: 0,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      reasoning_tokens: 0,
      estimated: use.estimated ?? false,
      ...(await parts.price_lists.find(model)),
      raw_usage: use.counted,
      request_id: call.request_id.slice('req_'.length),
      ...(use.provider_request_id !== undefined && {
        provider_request_id: use.provider_request_id,
      }),
      first_byte_ms: elapsed_ms,
      total_ms: elapsed_ms,
      outcome: 'complete',
      stream: use.stream,
    },
    event: {},
  })
  parts.metrics.gateway_calls.inc({ model: model.name, outcome: 'complete' })
  parts.metrics.gateway_credits.inc({ model: model.name }, Number(settlement.credits_used))
  const { credits_used, balance_before, balance_after } = settlement
  return { credits_used, balance_before, balance_after, billing_mode: payer.billing_mode }
}

/** Nothing is owed: the provider gave nothing. */
export async function releaseAudio(
  parts: AudioParts,
  model: AudioModel,
  hold: Hold,
): Promise<void> {
  await parts.ledger().release(hold)
  parts.metrics.gateway_calls.inc({ model: model.name, outcome: 'free' })
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
