// What Anthropic reports as used, in disjoint buckets whose sum is its own total.

import type { Usage } from '../../dialects/chat-types.ts'
import { isRecord, type JsonRecord, recordOf } from '../json-values.ts'
import { countOf } from '../token-counts.ts'

/** Later reports overwrite earlier ones, field by field; null says nothing. */
export function mergeAnthropicUsage(before: JsonRecord, later: unknown): JsonRecord {
  const said = Object.entries(recordOf(later)).filter(([, value]) => (value ?? null) !== null)
  return { ...before, ...Object.fromEntries(said) }
}

/** `input_tokens` excludes the cache; writes without the split by lifetime are five-minute ones. */
export function anthropicUsage(raw: unknown): Usage | undefined {
  if (!isRecord(raw)) return undefined
  const input_tokens = countOf(raw['input_tokens'])
  const output_tokens = countOf(raw['output_tokens'])
  if (input_tokens === undefined || output_tokens === undefined) return undefined
  const split = recordOf(raw['cache_creation'])
  const short = countOf(split['ephemeral_5m_input_tokens']) ?? 0
  const long = countOf(split['ephemeral_1h_input_tokens']) ?? 0
  const written = countOf(raw['cache_creation_input_tokens']) ?? short + long
  const cache_write_1h_tokens = Math.min(long, written)
  const thought = countOf(recordOf(raw['output_tokens_details'])['thinking_tokens']) ?? 0
  return {
    input_tokens,
    cache_read_tokens: countOf(raw['cache_read_input_tokens']) ?? 0,
    cache_write_5m_tokens: written - cache_write_1h_tokens,
    cache_write_1h_tokens,
    output_tokens,
    reasoning_tokens: Math.min(thought, output_tokens),
  }
}
