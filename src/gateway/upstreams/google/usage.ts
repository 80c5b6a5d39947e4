// What Google reports as used, in disjoint buckets whose sum is its own total.

import type { Usage } from '../../dialects/chat-types.ts'
import { isRecord, listOf, recordOf } from '../json-values.ts'
import { countOf } from '../token-counts.ts'

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
  const input_tokens = prompt - cache_read_tokens + tool_prompt
  const audio = audioOf(raw['promptTokensDetails']) - audioOf(raw['cacheTokensDetails'])
  return {
    input_tokens,
    cache_read_tokens,
    cache_write_5m_tokens: 0,
    cache_write_1h_tokens: 0,
    output_tokens,
    reasoning_tokens: Math.min(thoughts, output_tokens),
    ...(audio > 0 && { audio_input_tokens: Math.min(audio, input_tokens) }),
  }
}

function audioOf(details: unknown): number {
  const heard = listOf(details)
    .map(recordOf)
    .filter(({ modality }) => modality === 'AUDIO')
  return heard.reduce((total, { tokenCount }) => total + (countOf(tokenCount) ?? 0), 0)
}
