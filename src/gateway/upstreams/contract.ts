// What a provider must be able to do, in two steps: prepare the request, which is pure and says what cannot be
// asked before any credit is held, and open the call, which gives neutral events beside the provider's own
// frames. A call is never retried, no credential is logged, and every failure is an ApiError of our table.

import type { ChatModel } from '../../catalog/models.ts'
import type { CallSignal } from '../../platform/http-call.ts'
import type { ChatEvent, ChatRequest, ClientDialect } from '../dialects/chat-types.ts'
import type { ProviderErrors, ProviderName } from './error-mapping.ts'
import type { FrameReader } from './exchange.ts'
import type { JsonRecord } from './json-values.ts'
import type { NameRule, ToolNames } from './tool-names.ts'

export type UpstreamAddress = { base_url: string; api_key: string }

export type Asked = {
  request: ChatRequest
  model: ChatModel
  /** The client's own fields that a provider of its dialect may be sent as they are. */
  relayed: JsonRecord
  /** An opaque name of the end user, for the provider's abuse detection. Never an email. */
  end_user: string | undefined
}

/** What is known once the credits are held. */
export type CallTerms = {
  /** What the hold covers. */
  max_output_tokens: number
  /** False where the provider's own limit is the same, and it need not be told. */
  sends_limit: boolean
  /** Whether the provider is asked for a stream: also for a client that is not, where the hold grows. */
  stream: boolean
}

export type OpenTerms = CallTerms & {
  address: UpstreamAddress
  /** Aborts the call: the client left, or a limit was reached. */
  signal: CallSignal
}

export type PreparedCall = {
  /** What the client asked for and this provider has no word for. */
  ignored: readonly string[]
  /** Whether the client can be given the provider's frames as they are. */
  relays: boolean
  /** Resolves when the provider has accepted the call and begins to answer. */
  open(terms: OpenTerms): Promise<UpstreamReply>
}

export interface Upstream {
  /** Throws ApiError('bad_request') where the model cannot do what is asked. Asks nobody. */
  prepare(asked: Asked): PreparedCall
}

/** All that is special about one provider. */
export type ProviderProfile = {
  name: ProviderName
  /** The client dialect whose frames are its own; undefined: none. */
  dialect: ClientDialect | undefined
  /** Where it is, unless a setting says otherwise. */
  base_url: string
  tool_names: NameRule
  errors: ProviderErrors
  request_id_headers: readonly string[]
  draft(asked: Asked, names: ToolNames): Draft
  endpoint(
    address: UpstreamAddress,
    call: { model: ChatModel; stream: boolean },
  ): { url: string; headers: Record<string, string> }
}

/** A request that lacks only what the hold decides. */
export type Draft = {
  ignored: readonly string[]
  relays: boolean
  /** Beside those of the endpoint. */
  headers?: Record<string, string>
  body(terms: CallTerms): JsonRecord
  createReader(): FrameReader
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
