// Vectors that are made: hold, ask, settle once. A provider that takes fewer texts at a time than a client may send is
// asked several times, one after the other; if one of them fails, there is no answer, and nothing is owed.

import type { EmbeddingModel } from '../../catalog/models.ts'
import type { EventStream } from '../../http/event-stream.ts'
import { ApiError } from '../../platform/errors.ts'
import type { CallLifetime } from '../call-lifetime.ts'
import type { SvcNumbers } from '../dialects/dialect.ts'
import {
  beginLifetime,
  concludeFailed,
  holdInput,
  type InputCall,
  type InputParts,
  requireStillWanted,
  settleInput,
} from '../input-call.ts'
import type { ChatParts } from '../order.ts'
import type { UpstreamAddress } from '../upstreams/contract.ts'
import type { Embedder, EmbeddingInput, EmbeddingsAsked } from '../upstreams/embeddings.ts'
import { embeddedTokens } from './token-estimate.ts'

export type EmbeddingParts = InputParts &
  Pick<ChatParts, 'upstreams'> & {
    embedders: Readonly<Record<EmbeddingModel['provider'], Embedder>>
  }

export type EmbeddingsWanted = EmbeddingsAsked & {
  embedder: Embedder
  address: UpstreamAddress
  /** What was asked for and cannot be done. */
  ignored: readonly string[]
}

export type Embedded = { vectors: readonly string[]; tokens: number; svc: SvcNumbers }

export function requireAddress({ upstreams }: EmbeddingParts, model: EmbeddingModel) {
  const { address } = upstreams[model.provider]
  if (address) return address
  throw new ApiError('provider_misconfigured', { detail: `no key for ${model.provider}` })
}

/** Throws in our words. */
export async function embedTexts(
  parts: EmbeddingParts,
  call: InputCall,
  wanted: EmbeddingsWanted,
  client: Pick<EventStream, 'onLeave'>,
): Promise<Embedded> {
  const { model, inputs, ignored, embedder } = wanted
  const most = embeddedTokens(inputs, model, 'safe', embedder.inputs_max)
  const hold = await holdInput(parts, call, { model, least: most, most })
  const lifetime = beginLifetime(parts, call, client)
  const use = { model, hold, ignored, started_at: performance.now() }
  const asked: EmbeddingInput[] = []
  try {
    const answer = await ask(wanted, lifetime, asked).catch(async (error: unknown) => {
      const tokens = embeddedTokens(asked, model, 'close', embedder.inputs_max)
      const guessed = { ...use, ...countOf(tokens, asked) }
      throw await concludeFailed(parts, call, { use: guessed, lifetime, error })
    })
    const { vectors, tokens, estimated, provider_request_id } = answer
    const used = { ...use, ...countOf(tokens, inputs), estimated, provider_request_id }
    return { vectors, tokens, svc: await settleInput(parts, call, used) }
  } finally {
    lifetime.close()
  }
}

type Answer = {
  vectors: string[]
  tokens: number
  /** Whether tokens are missing that the provider did not count. */
  estimated: boolean
  provider_request_id: string | undefined
}

/** `sent`: gets what the provider knows of, as it is sent. */
async function ask(
  wanted: EmbeddingsWanted,
  lifetime: CallLifetime,
  sent: EmbeddingInput[],
): Promise<Answer> {
  const { model, inputs, dimensions, embedder, address } = wanted
  const answer: Answer = {
    vectors: [],
    tokens: 0,
    estimated: false,
    provider_request_id: undefined,
  }
  requireStillWanted(lifetime)
  while (sent.length < inputs.length) {
    const batch = inputs.slice(sent.length, sent.length + embedder.inputs_max)
    sent.push(...batch)
    const terms = { address, signal: lifetime.signal }
    const part = await embedder.embed({ model, inputs: batch, dimensions }, terms)
    answer.vectors.push(...part.vectors)
    answer.tokens += part.tokens ?? embeddedTokens(batch, model, 'close')
    answer.estimated ||= part.tokens === undefined
    answer.provider_request_id ??= part.request_id
  }
  return answer
}

function countOf(quantity: number, inputs: readonly unknown[]) {
  return { quantity, counted: { prompt_tokens: quantity, texts: inputs.length } }
}
