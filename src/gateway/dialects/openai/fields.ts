// Every field of chat completions, and what becomes of it.

import { isObject } from '../body-fields.ts'
import { fieldTable } from '../field-rules.ts'

const OPENAI_ONLY = 'Leave it out, or use an OpenAI model.'
const SPEECH = 'Use POST /v1/audio/speech for spoken answers.'

const FROM_2_5 = 'Gemini from 2.5 on ignores it'

const isZero = (value: unknown) => value === 0
const isFalse = (value: unknown) => value === false
const isEmpty = (value: unknown) =>
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

export const OPENAI_FIELDS = fieldTable({
  model: { all: 'translate' },
  messages: { openai: 'relay', all: 'translate' },
  max_completion_tokens: { all: 'translate' },
  max_tokens: { all: 'translate', note: 'as `max_completion_tokens`' },
  temperature: { openai: 'relay', all: 'translate' },
  top_p: { openai: 'relay', all: 'translate' },
  frequency_penalty: {
    openai: 'relay',
    anthropic: 'ignore',
    google: 'translate',
    note: FROM_2_5,
    isIdle: isZero,
  },
  presence_penalty: {
    openai: 'relay',
    anthropic: 'ignore',
    google: 'translate',
    note: FROM_2_5,
    isIdle: isZero,
  },
  logit_bias: { openai: 'relay', all: 'ignore', isIdle: isEmpty },
  logprobs: { openai: 'relay', all: 'refuse', hint: OPENAI_ONLY, isIdle: isFalse },
  top_logprobs: { openai: 'relay', all: 'refuse', hint: OPENAI_ONLY, isIdle: isZero },
  n: { openai: 'relay', all: 'refuse', hint: OPENAI_ONLY, isIdle: (value) => value === 1 },
  stop: { openai: 'relay', all: 'translate' },
  seed: { openai: 'relay', anthropic: 'ignore', google: 'translate' },
  reasoning_effort: { openai: 'relay', all: 'translate' },
  verbosity: { openai: 'relay', all: 'ignore' },
  tools: { openai: 'relay', all: 'translate' },
  tool_choice: { openai: 'relay', all: 'translate' },
  parallel_tool_calls: { openai: 'relay', all: 'translate', note: 'Gemini ignores `false`' },
  response_format: { openai: 'relay', all: 'translate' },
  stream: { all: 'translate' },
  stream_options: { all: 'translate' },
  prediction: { openai: 'relay', all: 'ignore' },
  prompt_cache_key: { openai: 'relay', all: 'ignore' },
  prompt_cache_retention: { openai: 'relay', all: 'ignore' },
  prompt_cache_options: { openai: 'relay', all: 'ignore' },
  modalities: { all: 'translate', note: '`["text"]` only', hint: SPEECH },
  service_tier: { all: 'ignore', note: 'every call runs in the default tier' },
  store: { all: 'ignore', note: 'nothing is kept at the provider', isIdle: isFalse },
  metadata: { all: 'ignore', isIdle: isEmpty },
  user: { all: 'ignore', note: 'the provider is sent an opaque name of the end user' },
  safety_identifier: { all: 'ignore', note: 'as `user`' },
  audio: { all: 'refuse', hint: SPEECH },
  web_search_options: { all: 'refuse', hint: 'Search with a tool of your own.' },
  moderation: { all: 'refuse' },
  functions: { all: 'refuse', hint: 'Use `tools`.' },
  function_call: { all: 'refuse', hint: 'Use `tool_choice`.' },
})
