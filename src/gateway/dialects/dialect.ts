// What a client format must do: read a request into neutral words, and write the answer, whole or streamed,
// either translated from neutral events or relayed from a provider that speaks the same format.

import type { ChatEvent, ChatRequest, ClientDialect, ReplyStyle, Usage } from './chat-types.ts'
import type { FieldTable } from './field-rules.ts'
import type { OutputItem } from './responses/terms.ts'

/** What the call cost, known once it is settled. */
export type SvcNumbers = {
  credits_used: bigint
  balance_before: bigint
  balance_after: bigint
  billing_mode: 'developer' | 'user'
}

/** As clients see them. No balance is larger than what a JSON reader takes exactly. */
export function presentNumbers({
  credits_used,
  balance_before,
  balance_after,
  billing_mode,
}: SvcNumbers) {
  return {
    credits_used: Number(credits_used),
    balance_before: Number(balance_before),
    balance_after: Number(balance_after),
    billing_mode,
  }
}

export type RequestHeaders = Readonly<Record<string, string | string[] | undefined>>

export type WholeAnswer = {
  /** Of the call. Ids of the reply come from it, so that a repeated reply has the same ones. */
  call_id: string
  model: string
  created: Date
  events: readonly ChatEvent[]
  style?: ReplyStyle | undefined
  /** Whether what the payer has, not the request or the model, set the limit of the answer. */
  credits_limit?: boolean
  /** The provider's own body, where that is what the client gets. */
  relayed?: string | undefined
  svc: SvcNumbers
}

export type StreamOptions = {
  /** As that of a whole answer. */
  call_id: string
  model: string
  created: Date
  include_usage: boolean
  /** For a format that begins with the size of the prompt, which most providers say at the end. */
  estimatePrompt?: () => number
  style?: ReplyStyle | undefined
  /** As that of a whole answer. */
  credits_limit?: boolean
}

/** Whose error bodies a client of this format reads. */
export const ERROR_DIALECTS = {
  openai: 'openai',
  anthropic: 'anthropic',
  responses: 'openai',
} as const satisfies Record<ClientDialect, string>

export type ProviderFrame = {
  name: string | undefined
  data: string
  /** What it says, in neutral words. */
  events?: readonly ChatEvent[]
}

export interface Dialect {
  readonly name: ClientDialect
  /** Whether clients refer to the ids of an answer later: one that is told again must have the same ones. */
  readonly has_lasting_ids?: true
  /** What becomes of each field that a client sends. */
  readonly fields: FieldTable
  /** Throws ApiError('bad_request') with a message that names the field, and nothing else. */
  parse(body: unknown, headers: RequestHeaders): ChatRequest
  /** The whole answer of a call that was not streamed, as JSON text. */
  formatReply(answer: WholeAnswer): string
  /** The provider's own JSON body: `model` becomes the public name, `svc` is added, the rest stays byte for byte. */
  relayReply(body: string, answer: WholeAnswer): string
  openStream(options: StreamOptions): DialectStream
  /** What of a whole answer can be referred to later, in a format that has such a thing. */
  itemsOf?(answer: Omit<WholeAnswer, 'svc'>): readonly OutputItem[]
}

/**
 * The writer of one streamed answer. An answer is either translated (`write`) or relayed (`relay`), never both.
 * Each method returns the text to send now, '' for nothing.
 */
export interface DialectStream {
  write(event: ChatEvent): string
  relay(frame: ProviderFrame): string
  /** The provider was stopped: ends the answer as if its limit had been reached. Before `finish`. */
  reachLimit(usage: Usage): string
  /** As those of a whole answer. After the last event and `reachLimit`, before `finish`. */
  items?(): readonly OutputItem[]
  /** After settlement: everything that ends the stream. `ended`: when that was, if not now. */
  finish(svc: SvcNumbers, ended?: Date): string
  /** An error after HTTP 200. `body` is the rendered envelope; nothing may follow it. */
  fail(body: string): string
  /** While the provider is silent. */
  keepAlive(): string
}
