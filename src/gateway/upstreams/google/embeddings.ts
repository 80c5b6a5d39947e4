// Google's batchEmbedContents. It counts the tokens of some models only, and answers with digits.

import type { EmbeddingProfile } from '../embeddings.ts'
import { given, listOf, recordOf } from '../json-values.ts'
import { countOf } from '../token-counts.ts'
import { GOOGLE_ERRORS } from './errors.ts'

export const googleEmbeddings: EmbeddingProfile = {
  errors: GOOGLE_ERRORS,
  request_id_headers: ['x-goog-request-id', 'x-request-id'],
  // More are a 400.
  inputs_max: 100,
  takes_token_ids: false,
  draft({ base_url, api_key }, { model, inputs, dimensions }) {
    const name = `models/${encodeURIComponent(model.upstream_id)}`
    const requests = inputs.map((text) =>
      given({
        model: `models/${model.upstream_id}`,
        content: { parts: [{ text }] },
        outputDimensionality: dimensions,
      }),
    )
    return {
      url: `${base_url}/v1beta/${name}:batchEmbedContents`,
      headers: { 'x-goog-api-key': api_key },
      body: { requests },
    }
  },
  read: ({ embeddings, usageMetadata }) => ({
    vectors: listOf(embeddings).map((embedding) => recordOf(embedding)['values']),
    tokens: countOf(recordOf(usageMetadata)['promptTokenCount']),
  }),
}
