// What is settled before any credit is held: the model, the provider, and the request that it will be sent. A
// request that cannot be served is refused here, whatever the payer's balance is.

import type { Payer } from '../access/payer.ts'
import type { ChatModel } from '../catalog/models.ts'
import { ApiError } from '../platform/errors.ts'
import { requireChatModel } from './chat-model.ts'
import type { ChatRequest } from './dialects/chat-types.ts'
import type { Dialect } from './dialects/dialect.ts'
import { judgeFields } from './dialects/field-rules.ts'
import type { ChatParts } from './order.ts'
import type { PreparedCall, Upstream, UpstreamAddress } from './upstreams/contract.ts'
import { upstreamOf } from './upstreams/registry.ts'

/** A header is short, and a body has as many fields as its sender likes. */
const IGNORED_MAX = 20
const FIELD_NAME = /^(anthropic-beta: )?[\w.[\]-]{1,64}$/

export type Plan = {
  model: ChatModel
  upstream: Upstream
  address: UpstreamAddress
  prepared: PreparedCall
  /** What the client asked for and nobody will do; named in the reply and in the call's record. */
  ignored: readonly string[]
}

/** Throws 400, 404 or 503. Asks nobody. */
export function planCall(
  parts: Pick<ChatParts, 'catalog' | 'upstreams'>,
  { dialect, request, payer }: { dialect: Dialect; request: ChatRequest; payer: Payer },
): Plan {
  const model = requireChatModel(parts.catalog, request.model)
  const { upstream, address } = parts.upstreams[upstreamOf(model)]
  const { relayed, ignored } = judgeFields(dialect.fields, request.original.body, model)
  const end_user = payer.billing_mode === 'user' ? payer.account_id : undefined
  const prepared = upstream.prepare({ request, model, relayed, end_user })
  if (!address) {
    throw new ApiError('provider_misconfigured', { detail: `no key for ${model.provider}` })
  }
  return {
    model,
    upstream,
    address,
    prepared,
    ignored: nameable([...ignored, ...(request.ignored ?? []), ...prepared.ignored]),
  }
}

/** As names that fit into a header. */
export function nameable(fields: readonly string[]): readonly string[] {
  if (fields.length === 0) return fields
  const names = new Set(fields.map((field) => (FIELD_NAME.test(field) ? field : '(other)')))
  return [...names].slice(0, IGNORED_MAX)
}
