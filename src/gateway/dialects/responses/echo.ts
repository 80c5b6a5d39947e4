// What a response object repeats of its request, with OpenAI's defaults where the request says nothing.

import {
  type Fields,
  isAbsent,
  isObject,
  readObject,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'

const MAX_PAIRS = 16
const MAX_KEY_LENGTH = 64
const MAX_VALUE_LENGTH = 512

/** `fields` have been read and are sound, but for what stands here alone. `tools`: those that are offered. */
export function echoOf(fields: Fields, stores_items: boolean): Fields {
  const text = isObject(fields['text']) ? fields['text'] : {}
  const reasoning = isObject(fields['reasoning']) ? fields['reasoning'] : {}
  return {
    background: false,
    instructions: fields['instructions'] ?? null,
    max_output_tokens: fields['max_output_tokens'] ?? null,
    max_tool_calls: fields['max_tool_calls'] ?? null,
    metadata: readMetadata(fields['metadata']),
    parallel_tool_calls: fields['parallel_tool_calls'] ?? true,
    previous_response_id: null,
    prompt_cache_key: readOptionalText(fields['prompt_cache_key'], 'prompt_cache_key') ?? null,
    reasoning: {
      effort: reasoning['effort'] ?? null,
      summary: reasoning['summary'] ?? reasoning['generate_summary'] ?? null,
    },
    service_tier: 'default',
    store: stores_items,
    temperature: fields['temperature'] ?? 1,
    text: {
      format: text['format'] ?? { type: 'text' },
      ...(!isAbsent(text['verbosity']) && { verbosity: text['verbosity'] }),
    },
    tool_choice: fields['tool_choice'] ?? 'auto',
    tools: fields['tools'] ?? [],
    top_logprobs: 0,
    top_p: fields['top_p'] ?? 1,
    truncation: 'disabled',
    user: null,
  }
}

function readMetadata(value: unknown): Fields {
  if (isAbsent(value)) return {}
  const metadata = readObject(value, 'metadata')
  const pairs = Object.entries(metadata)
  if (pairs.length > MAX_PAIRS) refuse('metadata', `must have at most ${MAX_PAIRS} pairs`)
  for (const [key, entry] of pairs) {
    if (key.length > MAX_KEY_LENGTH) {
      refuse('metadata', `must have keys of at most ${MAX_KEY_LENGTH} characters`)
    }
    if (readText(entry, `metadata.${key}`).length > MAX_VALUE_LENGTH) {
      refuse(`metadata.${key}`, `must have at most ${MAX_VALUE_LENGTH} characters`)
    }
  }
  return metadata
}
