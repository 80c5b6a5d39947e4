// How many tokens the texts of a request are where no provider has counted them: `safe` for the hold, `close` for what is
// charged. Never more than the model reads: beyond that OpenAI refuses, and Google cuts the text.

import type { EmbeddingModel } from '../../catalog/models.ts'
import { estimateTokens } from '../token-count.ts'
import type { EmbeddingInput } from '../upstreams/embeddings.ts'

type Accuracy = 'safe' | 'close'

/** Marks of beginning and end that a provider may count. */
const TOKENS_PER_TEXT: Record<Accuracy, number> = { safe: 2, close: 0 }
/** OpenAI's embedding models have the vocabulary of GPT-4; Google's is as large as o200k, and counts a tenth more. */
const GOOGLE_PERCENT = 110

/** `inputs_max`: how many of them the provider is sent at once, where that is not all. */
export function embeddedTokens(
  inputs: readonly EmbeddingInput[],
  model: EmbeddingModel,
  accuracy: Accuracy,
  inputs_max = Number.POSITIVE_INFINITY,
): number {
  let tokens = 0
  for (const input of inputs) tokens += tokensOf(input, model, accuracy)
  const requests = Math.max(1, Math.ceil(inputs.length / inputs_max))
  return Math.min(tokens, requests * (model.max_request_tokens ?? tokens))
}

function tokensOf(input: EmbeddingInput, model: EmbeddingModel, accuracy: Accuracy): number {
  if (typeof input !== 'string') return input.length
  const estimate =
    model.provider === 'google'
      ? Math.ceil((estimateTokens(input, accuracy, 'large') * GOOGLE_PERCENT) / 100)
      : estimateTokens(input, accuracy, 'small')
  const tokens = Math.max(1, estimate + TOKENS_PER_TEXT[accuracy])
  return Math.min(tokens, model.max_input_tokens)
}
