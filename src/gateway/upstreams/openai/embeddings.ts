// OpenAI's embeddings. They are asked for in base64, whatever the client reads: as digits the largest answer would be
// four times as long.

import type { EmbeddingProfile } from '../embeddings.ts'
import { given, listOf, recordOf } from '../json-values.ts'
import { countOf } from '../token-counts.ts'
import { OPENAI_ERRORS } from './errors.ts'

export const openaiEmbeddings: EmbeddingProfile = {
  errors: OPENAI_ERRORS,
  request_id_headers: ['x-request-id'],
  inputs_max: 2_048,
  takes_token_ids: true,
  draft: ({ base_url, api_key }, { model, inputs, dimensions }) => ({
    url: `${base_url}/embeddings`,
    headers: { authorization: `Bearer ${api_key}` },
    body: given({
      model: model.upstream_id,
      input: inputs,
      encoding_format: 'base64',
      dimensions,
    }),
  }),
  read({ data, usage }) {
    const entries = listOf(data).map(recordOf)
    const vectors: unknown[] = Array.from({ length: entries.length })
    for (const [position, { index, embedding }] of entries.entries()) {
      vectors[typeof index === 'number' && index in vectors ? index : position] = embedding
    }
    return { vectors, tokens: countOf(recordOf(usage)['prompt_tokens']) }
  },
}
