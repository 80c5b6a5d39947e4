// The embedding models of the price list, in credits per million tokens. Prices are those of a third-party list of August
// 2026: check them before going live.

import type { EmbeddingModel } from './models.ts'

/** OpenAI's limits of its embedding models. */
const OPENAI_EMBEDDING = {
  kind: 'embedding',
  provider: 'openai',
  max_input_tokens: 8_192,
  max_request_tokens: 300_000,
} as const

export const EMBEDDING_MODELS: readonly EmbeddingModel[] = [
  {
    ...OPENAI_EMBEDDING,
    name: 'text-embedding-3-small',
    created: '2024-01-25',
    upstream_id: 'text-embedding-3-small',
    price: 20_000n,
    dimensions: 1_536,
    shortens: true,
  },
  {
    ...OPENAI_EMBEDDING,
    name: 'text-embedding-3-large',
    created: '2024-01-25',
    upstream_id: 'text-embedding-3-large',
    price: 130_000n,
    dimensions: 3_072,
    shortens: true,
  },
  {
    ...OPENAI_EMBEDDING,
    name: 'text-embedding-ada-002',
    created: '2022-12-15',
    upstream_id: 'text-embedding-ada-002',
    price: 100_000n,
    dimensions: 1_536,
    shortens: false,
  },
  {
    kind: 'embedding',
    name: 'google/gemini-embedding-001',
    display_name: 'Gemini Embedding',
    created: '2025-07-14',
    provider: 'google',
    upstream_id: 'gemini-embedding-001',
    price: 150_000n,
    // Longer texts are cut there, without a word.
    max_input_tokens: 2_048,
    dimensions: 3_072,
    shortens: true,
  },
]
