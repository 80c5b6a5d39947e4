// Every field of POST /v1/responses, and what becomes of it. No provider gets the client's own body: what it is sent is
// said anew, so a field that nobody here knows is ignored and named.

import { isObject } from '../body-fields.ts'
import { fieldTable } from '../field-rules.ts'

/** The way out wherever a client counts on a conversation that somebody else keeps. */
export const WHOLE_CONVERSATION =
  'Send the whole conversation in `input`: each answer with its items, then what follows.'
export const ONE_PRICE = 'Leave it out, or say `standard`: the mode changes the price.'
export const NO_LOGPROBS =
  'Leave it out, or use POST /v1/chat/completions with `logprobs` and an OpenAI model that does not reason.'

const OPENAI_CACHE = 'other providers cache by themselves'
const NO_REASONING_SAMPLING = 'OpenAI refuses it on models that reason'

const isZero = (value: unknown) => value === 0
const isOne = (value: unknown) => value === 1
const isFalse = (value: unknown) => value === false
const isTrue = (value: unknown) => value === true
const isEmpty = (value: unknown) =>
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

const openai_cache = { openai: 'relay', all: 'ignore', note: OPENAI_CACHE } as const
const sampling = {
  all: 'translate',
  families: { gpt_reasoning: 'ignore' },
  note: NO_REASONING_SAMPLING,
  isIdle: isOne,
} as const
const stateful = { all: 'refuse', hint: WHOLE_CONVERSATION } as const

export const RESPONSES_FIELDS = fieldTable(
  {
    model: { all: 'translate' },
    input: { all: 'translate', note: 'text or items; an `item_reference` is looked up here' },
    'input[].content[].detail': {
      openai: 'translate',
      all: 'ignore',
      note: '`original` becomes `high`',
      isIdle: (value) => value === 'auto',
    },
    'input[].content[].prompt_cache_breakpoint': { all: 'ignore' },
    instructions: { all: 'translate', note: 'before all instructions of `input`' },
    max_output_tokens: { all: 'translate' },
    temperature: sampling,
    top_p: sampling,
    text: { all: 'translate' },
    'text.format.strict': {
      all: 'translate',
      families: { claude: 'ignore' },
      note: 'Claude before 4.5 is asked for a tool call, which may miss the schema',
      isIdle: isFalse,
    },
    'text.verbosity': {
      openai: 'translate',
      all: 'ignore',
      families: { gpt: 'ignore' },
      isIdle: (value) => value === 'medium',
    },
    reasoning: { all: 'translate' },
    'reasoning.effort': { all: 'translate', note: 'as `reasoning_effort` of chat completions' },
    'reasoning.summary': {
      all: 'translate',
      note: 'asks Claude and Gemini for thoughts; says nothing to models that do not reason',
    },
    'reasoning.generate_summary': { all: 'translate', note: 'the old name of `summary`' },
    'reasoning.context': { all: 'ignore' },
    'reasoning.mode': { all: 'refuse', hint: ONE_PRICE, isIdle: (value) => value === 'standard' },
    tools: {
      all: 'translate',
      note: 'tools that run at OpenAI are left out beside others, named `tools.web_search`, and refused alone',
    },
    'tools[].strict': { openai: 'translate', all: 'ignore', isIdle: isFalse },
    'tools[].format': {
      all: 'ignore',
      families: { gpt_responses: 'translate' },
      note: 'other models are told the grammar, and not held to it',
      isIdle: (value) => isObject(value) && value['type'] === 'text',
    },
    'tools[].output_schema': { all: 'ignore' },
    'tools[].defer_loading': {
      all: 'ignore',
      note: 'every tool is there at once',
      isIdle: isFalse,
    },
    'tools[].async': { all: 'ignore', isIdle: isFalse },
    'tools[].allowed_callers': { all: 'ignore' },
    tool_choice: { all: 'translate' },
    parallel_tool_calls: {
      openai: 'translate',
      anthropic: 'translate',
      google: 'ignore',
      isIdle: isTrue,
    },
    max_tool_calls: { all: 'ignore', note: 'only tools of OpenAI count, and there are none' },
    include: {
      all: 'translate',
      note: '`reasoning.encrypted_content`; others are ignored, named as `include.…`, but for logprobs, which are refused',
    },
    top_logprobs: { all: 'refuse', hint: NO_LOGPROBS, isIdle: isZero },
    store: {
      all: 'translate',
      note: 'whether items can be referred to later; nothing is kept upstream',
    },
    stream: { all: 'translate' },
    stream_options: {
      all: 'ignore',
      note: 'no stream is padded',
      isIdle: (value) =>
        isEmpty(value) || (isObject(value) && value['include_obfuscation'] === false),
    },
    metadata: { all: 'translate', note: 'repeated in the reply, sent nowhere' },
    truncation: {
      all: 'ignore',
      note: 'no prompt is shortened',
      isIdle: (value) => value === 'disabled',
    },
    prompt_cache_key: openai_cache,
    prompt_cache_retention: openai_cache,
    prompt_cache_options: openai_cache,
    'prompt_cache_options.prewarm': {
      all: 'ignore',
      note: 'has a price of its own',
      isIdle: isFalse,
    },
    'prompt_cache_options.ttl': {
      all: 'ignore',
      note: '`12h` has a price of its own',
      isIdle: (value) => value === '30m',
    },
    'prompt_cache_options.comparison_response_id': { all: 'ignore' },
    service_tier: {
      all: 'ignore',
      note: 'every call runs in the default tier',
      isIdle: (value) => value === 'auto' || value === 'default',
    },
    user: { all: 'ignore', note: 'the provider is sent an opaque name of the end user' },
    safety_identifier: { all: 'ignore', note: 'as `user`' },
    client_metadata: { all: 'ignore' },
    access_programs: { all: 'ignore' },
    moderation: { all: 'ignore' },
    image: { all: 'ignore' },
    previous_response_id: stateful,
    conversation: stateful,
    background: { ...stateful, isIdle: isFalse },
    prompt: stateful,
    context_management: { ...stateful, isIdle: isEmpty },
  },
  {
    'tools[]': 'type name description parameters tools',
    text: 'format',
    'text.format': 'type name description schema',
    reasoning: 'effort',
    prompt_cache_options: 'mode',
  },
)
