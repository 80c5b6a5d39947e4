// What the Responses API reports as used: the counts of chat completions under other names.

import type { Usage } from '../../dialects/chat-types.ts'
import { isRecord } from '../json-values.ts'
import { openaiUsage } from '../openai/usage.ts'

export function responsesUsage(raw: unknown): Usage | undefined {
  if (!isRecord(raw)) return undefined
  return openaiUsage({
    prompt_tokens: raw['input_tokens'],
    prompt_tokens_details: raw['input_tokens_details'],
    completion_tokens: raw['output_tokens'],
    completion_tokens_details: raw['output_tokens_details'],
    total_tokens: raw['total_tokens'],
  })
}
