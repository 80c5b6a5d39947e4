// What a provider reported as used, in disjoint buckets whose sum is the provider's own total.
// A count that is absent is zero only beside counts that are there: no report at all is undefined,
// and the caller estimates. An explicit zero is data.

import type { Usage } from '../dialects/chat-types.ts'
import { isRecord, type JsonRecord, numberOf, recordOf } from './json-values.ts'

const TOKENS_MAX = 1_000_000_000

/** `prompt_tokens` includes what was cached, `completion_tokens` what was thought. */
export function openaiUsage(raw: unknown): Usage | undefined {
  if (!isRecord(raw)) return undefined
  const prompt = countOf(raw['prompt_tokens'])
  const total = countOf(raw['total_tokens'])
  const reported = countOf(raw['completion_tokens'])
  if (prompt === undefined) return undefined
  const completion = reported ?? (total === undefined ? undefined : Math.max(total - prompt, 0))
  if (completion === undefined) return undefined
  const details = recordOf(raw['prompt_tokens_details'])
  const cache_read_tokens = Math.min(countOf(details['cached_tokens']) ?? 0, prompt)
  const rest = prompt - cache_read_tokens
  const cache_write_5m_tokens = Math.min(countOf(details['cache_write_tokens']) ?? 0, rest)
  const thought = countOf(recordOf(raw['completion_tokens_details'])['reasoning_tokens']) ?? 0
  return {
    input_tokens: rest - cache_write_5m_tokens,
    cache_read_tokens,
    cache_write_5m_tokens,
    cache_write_1h_tokens: 0,
    output_tokens: completion,
    reasoning_tokens: Math.min(thought, completion),
  }
}

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

/**
 * Zeros are left out. Thoughts stand beside the candidates, except where the total shows that they
 * are counted among them; and a total above the sum of its parts hides output that was not itemised.
 */
export function googleUsage(raw: unknown): Usage | undefined {
  if (!isRecord(raw)) return undefined
  const reported = ['promptTokenCount', 'candidatesTokenCount', 'totalTokenCount']
  if (reported.every((name) => countOf(raw[name]) === undefined)) return undefined
  const prompt = countOf(raw['promptTokenCount']) ?? 0
  const tool_prompt = countOf(raw['toolUsePromptTokenCount']) ?? 0
  const candidates = countOf(raw['candidatesTokenCount']) ?? 0
  const thoughts = countOf(raw['thoughtsTokenCount']) ?? 0
  const total = countOf(raw['totalTokenCount'])
  const includes_thoughts = total === prompt + tool_prompt + candidates
  const itemised = includes_thoughts ? candidates : candidates + thoughts
  const output_tokens = Math.max(itemised, (total ?? 0) - prompt - tool_prompt)
  const cache_read_tokens = Math.min(countOf(raw['cachedContentTokenCount']) ?? 0, prompt)
  return {
    input_tokens: prompt - cache_read_tokens + tool_prompt,
    cache_read_tokens,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens,
    reasoning_tokens: Math.min(thoughts, output_tokens),
  }
}

/** A count beyond any model's reach is no count: the caller estimates, as where there is none. */
function countOf(value: unknown): number | undefined {
  const number = numberOf(value)
  if (number === undefined || number > TOKENS_MAX) return undefined
  return Math.max(Math.ceil(number), 0)
}
