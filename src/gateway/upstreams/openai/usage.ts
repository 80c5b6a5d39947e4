// What OpenAI reports as used, in disjoint buckets whose sum is its own total.

import type { Usage } from '../../dialects/chat-types.ts'
import { isRecord, recordOf } from '../json-values.ts'
import { countOf } from '../token-counts.ts'

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
