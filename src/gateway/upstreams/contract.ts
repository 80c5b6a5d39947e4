// What an upstream must do: one call to a provider, as a stream of neutral events beside the provider's own
// frames. It never retries, never logs a credential, and turns every failure into an ApiError of our table.

import type { ChatModel } from '../../catalog/models.ts'
import type { CallSignal } from '../../platform/http-call.ts'
import type { ChatEvent, ChatRequest, ClientDialect } from '../dialects/chat-types.ts'

export type UpstreamAddress = { base_url: string; api_key: string }

export type UpstreamCall = {
  request: ChatRequest
  model: ChatModel
  /** What the hold covers: always sent, never more than asked for. */
  max_output_tokens: number
  address: UpstreamAddress
  /** An opaque name of the end user, for the provider's abuse detection. Never an email. */
  end_user: string | undefined
  /** Aborts the call: the client left, or a limit was reached. */
  signal: CallSignal
}

/**
 * One piece of the answer. A streamed call yields many, a call that is not streamed exactly one, whose `data`
 * is the whole JSON body.
 */
export type UpstreamFrame = {
  events: ChatEvent[]
  /** The provider's own text: the data of an SSE event, or the JSON body. Forwarded to clients of its dialect. */
  data: string
  /** The SSE event's name, where the protocol has names. */
  name: string | undefined
}

export type UpstreamReply = {
  /** The provider's request id, for support cases. */
  request_id: string | undefined
  /** Those of one network read together. Throws an ApiError if the answer breaks off: what came before stands. */
  frames: AsyncIterable<UpstreamFrame[]>
}

export interface Upstream {
  /** The client dialect that can be given this upstream's frames as they are; undefined: none. */
  readonly dialect: ClientDialect | undefined
  /** Resolves when the provider has accepted the call and begins to answer. */
  open(call: UpstreamCall): Promise<UpstreamReply>
}
