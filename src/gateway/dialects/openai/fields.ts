// Every field of chat completions, and what becomes of it. Below OpenAI's own stand those that clients of OpenRouter
// and of other servers send.

import { isObject } from '../body-fields.ts'
import { fieldTable } from '../field-rules.ts'

const NOT_REASONING = 'Leave it out, or use an OpenAI model that does not reason.'
const SPEECH = 'Use POST /v1/audio/speech for spoken answers.'
const ONE_MODEL = 'the model that is asked for answers, or nobody does'
const SAY_EFFORT = 'say `reasoning_effort` or `reasoning`'
const REASONING_TEXT = 'no provider reads thoughts without a proof: send `reasoning_details`'
const LEAST = 'at least 16 on OpenAI models that reason, which take no less'
const NO_SAMPLING = 'OpenAI refuses it on models that reason'

const FROM_2_5 = 'Gemini from 2.5 on ignores it'
const isZero = (value: unknown) => value === 0
const isOne = (value: unknown) => value === 1
const isFalse = (value: unknown) => value === false
const isEmpty = (value: unknown) =>
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

/** Who asks for an older model does not know that its successor takes no such field. */
const sampling = { families: { gpt_5_6: 'ignore' }, note: NO_SAMPLING } as const
/** Chat completions are sent as they came; the Responses API has other words. */
const told = { openai: 'relay', families: { gpt_responses: 'translate' } } as const
const lost = { openai: 'relay', families: { gpt_responses: 'ignore' } } as const
const caching = { anthropic: 'translate', all: 'ignore' } as const

export const OPENAI_FIELDS = fieldTable(
  {
    model: { all: 'translate' },
    messages: { ...told, all: 'translate' },
    'messages[].role': {
      ...told,
      all: 'translate',
      note: 'instructions in mid-conversation keep their place, as marked words of a user turn',
    },
    'messages[].name': { ...lost, all: 'ignore' },
    'messages[].annotations': { ...lost, all: 'ignore', isIdle: isEmpty },
    'messages[].reasoning_content': { all: 'ignore', note: REASONING_TEXT },
    'messages[].reasoning': { all: 'ignore', note: REASONING_TEXT },
    'messages[].reasoning_details': {
      anthropic: 'translate',
      all: 'ignore',
      families: { gpt_responses: 'translate' },
      note: "the model's own thoughts, as answers here and OpenRouter's carry them",
      isIdle: isEmpty,
    },
    'messages[].cache_control': {
      ...caching,
      note: 'for the last part of the message; OpenAI and Google cache by themselves',
    },
    'messages[].content[].cache_control': {
      ...caching,
      note: 'a cache breakpoint of Claude, at its prices; OpenAI and Google cache by themselves',
    },
    'messages[].content[].prompt_cache_breakpoint': {
      families: { gpt_5_6: 'relay', gpt_responses: 'ignore' },
      all: 'ignore',
      note: 'only models from gpt-5.6 on know it',
    },
    'messages[].content[].image_url.detail': {
      ...told,
      all: 'ignore',
      isIdle: (value) => value === 'auto',
    },
    'messages[].extra_content': {
      google: 'translate',
      all: 'ignore',
      note: "Gemini's proof of its own thoughts",
    },
    'messages[].tool_calls[].extra_content': {
      google: 'translate',
      all: 'ignore',
      note: "Gemini's proof of its own thoughts",
    },
    max_completion_tokens: { all: 'translate', note: LEAST },
    max_tokens: { all: 'translate', note: 'as `max_completion_tokens`' },
    temperature: { openai: 'relay', all: 'translate', ...sampling, isIdle: isOne },
    top_p: { openai: 'relay', all: 'translate', ...sampling, isIdle: isOne },
    frequency_penalty: {
      openai: 'relay',
      anthropic: 'ignore',
      google: 'translate',
      ...sampling,
      note: FROM_2_5,
      isIdle: isZero,
    },
    presence_penalty: {
      openai: 'relay',
      anthropic: 'ignore',
      google: 'translate',
      ...sampling,
      note: FROM_2_5,
      isIdle: isZero,
    },
    logit_bias: {
      openai: 'relay',
      all: 'ignore',
      families: sampling.families,
      note: 'the numbers of tokens are those of one tokenizer',
      isIdle: isEmpty,
    },
    logprobs: {
      openai: 'relay',
      all: 'refuse',
      families: { gpt_5_6: 'refuse' },
      hint: NOT_REASONING,
      isIdle: isFalse,
    },
    top_logprobs: {
      openai: 'relay',
      all: 'refuse',
      families: { gpt_5_6: 'refuse' },
      hint: NOT_REASONING,
      isIdle: isZero,
    },
    n: {
      openai: 'relay',
      all: 'refuse',
      families: { gpt_responses: 'refuse' },
      hint: NOT_REASONING,
      isIdle: isOne,
    },
    stop: { openai: 'relay', all: 'translate', ...sampling, isIdle: isEmpty },
    seed: { ...lost, anthropic: 'ignore', google: 'translate' },
    reasoning_effort: {
      openai: 'relay',
      all: 'translate',
      families: { gpt_5_6: 'translate' },
      note: 'chat completions take no tools with it from gpt-5.6 on: then it is `none`, and named; `minimal` becomes `low` where the model has no such word',
    },
    verbosity: { ...told, all: 'ignore', isIdle: (value) => value === 'medium' },
    tools: {
      ...told,
      all: 'translate',
      note: 'a `custom` tool becomes a function of one text wherever the model has no such tools',
    },
    'tools[].cache_control': caching,
    'tools[].function.cache_control': caching,
    'tools[].function.strict': { ...told, all: 'ignore', isIdle: isFalse },
    'tools[].custom.format': {
      openai: 'relay',
      all: 'ignore',
      families: { gpt: 'ignore', gpt_responses: 'translate' },
      note: 'other models are told the grammar, and not held to it',
      isIdle: (value) => isObject(value) && value['type'] === 'text',
    },
    tool_choice: { ...told, all: 'translate' },
    parallel_tool_calls: {
      ...told,
      anthropic: 'translate',
      google: 'ignore',
      isIdle: (value) => value === true,
    },
    functions: { all: 'translate', note: 'as `tools`; the answer has the old form too' },
    function_call: { all: 'translate', note: 'as `tool_choice`' },
    response_format: { ...told, all: 'translate' },
    'response_format.json_schema.strict': {
      openai: 'relay',
      all: 'translate',
      families: { claude: 'ignore', gpt_responses: 'translate' },
      note: 'Claude before 4.5 is asked for a tool call, which may miss the schema',
      isIdle: isFalse,
    },
    stream: { all: 'translate' },
    stream_options: { all: 'translate' },
    'stream_options.include_obfuscation': { all: 'ignore', isIdle: isFalse },
    prediction: {
      openai: 'relay',
      all: 'ignore',
      families: sampling.families,
      note: 'only makes an answer faster',
    },
    prompt_cache_key: { openai: 'relay', all: 'ignore' },
    prompt_cache_retention: { openai: 'relay', all: 'ignore' },
    prompt_cache_options: { openai: 'relay', all: 'ignore' },
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
    modalities: { all: 'translate', note: '`["text"]` only', hint: SPEECH },
    service_tier: {
      all: 'ignore',
      note: 'every call runs in the default tier',
      isIdle: (value) => value === 'auto' || value === 'default',
    },
    store: { all: 'ignore', note: 'nothing is kept at the provider', isIdle: isFalse },
    metadata: { all: 'ignore', isIdle: isEmpty },
    user: { all: 'ignore', note: 'the provider is sent an opaque name of the end user' },
    safety_identifier: { all: 'ignore', note: 'as `user`' },
    audio: { all: 'refuse', hint: SPEECH },
    web_search_options: { all: 'refuse', hint: 'Search with a tool of your own.' },
    moderation: { all: 'refuse' },

    reasoning: {
      all: 'translate',
      note: "OpenRouter's: `effort`, `max_tokens`, `enabled`; `exclude` hides the thoughts",
    },
    include_reasoning: { all: 'translate', note: '`false`: as `reasoning.exclude`' },
    usage: { all: 'translate', note: '`include`: as `stream_options.include_usage`' },
    cache_control: { ...caching, note: 'a breakpoint at the end of the prompt' },
    top_k: { openai: 'ignore', all: 'translate', isIdle: isZero },
    min_p: { all: 'ignore', isIdle: isZero },
    top_a: { all: 'ignore', isIdle: isZero },
    repetition_penalty: { all: 'ignore', isIdle: isOne },
    provider: { all: 'ignore', note: 'each model has one provider' },
    models: { all: 'ignore', note: ONE_MODEL, isIdle: isEmpty },
    route: { all: 'ignore', note: ONE_MODEL },
    transforms: { all: 'ignore', note: 'no prompt is shortened', isIdle: isEmpty },
    plugins: { all: 'refuse', hint: 'Search and read files yourself.', isIdle: isEmpty },
    thinking: { all: 'ignore', note: SAY_EFFORT },
    enable_thinking: { all: 'ignore', note: SAY_EFFORT },
    thinking_budget: { all: 'ignore', note: SAY_EFFORT },
    max_thinking_tokens: { all: 'ignore', note: SAY_EFFORT },
    chat_template_kwargs: { all: 'ignore', note: SAY_EFFORT, isIdle: isEmpty },
    extra_body: { all: 'ignore', note: 'its fields belong into the body itself', isIdle: isEmpty },
    session_id: { all: 'ignore' },
  },
  {
    'messages[]': 'content tool_calls tool_call_id refusal audio',
    'messages[].content[]': 'type text image_url input_audio file refusal',
    'messages[].content[].image_url': 'url',
    'messages[].tool_calls[]': 'id type function custom',
    'messages[].tool_calls[].function': 'name arguments',
    'tools[]': 'type function custom',
    'tools[].function': 'name description parameters',
    'tools[].custom': 'name description',
    response_format: 'type json_schema',
    'response_format.json_schema': 'name description schema',
    stream_options: 'include_usage',
    reasoning: 'effort max_tokens enabled exclude',
    usage: 'include',
  },
)
