// Every field of messages, and what becomes of it.

import { isObject } from '../body-fields.ts'
import { fieldTable } from '../field-rules.ts'

const CLAUDE_ONLY = 'Claude models only'
const NO_LATER = 'not on Claude models after 4.6, which refuse it'

const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0
const isEmptyObject = (value: unknown) => isObject(value) && Object.keys(value).length === 0
const isOne = (value: unknown) => value === 1
const isFalse = (value: unknown) => value === false
const isDisabled = (value: unknown) => !isObject(value) || value['enabled'] !== true

const claude_only = { anthropic: 'relay', all: 'ignore', note: CLAUDE_ONLY } as const
const CACHING = `${CLAUDE_ONLY}; others cache by themselves`
const caching = { ...claude_only, note: CACHING } as const

export const ANTHROPIC_FIELDS = fieldTable({
  model: { all: 'translate' },
  messages: {
    anthropic: 'relay',
    all: 'translate',
    note: 'a `system` turn keeps its place: as it is from Claude 4.8 on and on OpenAI, marked on others',
  },
  'messages[].output_config': { ...claude_only, note: 'Claude from 4.8 on' },
  'messages[].content[].cache_control': caching,
  'messages[].content[].content[].cache_control': caching,
  'messages[].content[].citations': { ...claude_only, isIdle: isDisabled },
  'messages[].content[].content[].citations': { ...claude_only, isIdle: isDisabled },
  max_tokens: {
    all: 'translate',
    note: 'at least 16 on OpenAI models that reason, which take no less',
  },
  system: { anthropic: 'relay', all: 'translate' },
  'system[].cache_control': caching,
  stop_sequences: {
    anthropic: 'relay',
    all: 'translate',
    families: { gpt_reasoning: 'ignore' },
    note: 'at most 4 on OpenAI, 5 on Gemini',
    isIdle: isEmpty,
  },
  stream: { all: 'translate' },
  temperature: {
    anthropic: 'relay',
    all: 'translate',
    families: { gpt_reasoning: 'ignore' },
    note: NO_LATER,
    isIdle: isOne,
  },
  top_p: {
    anthropic: 'relay',
    all: 'translate',
    families: { gpt_reasoning: 'ignore' },
    note: `${NO_LATER}; from 4.1 on only without \`temperature\``,
    isIdle: isOne,
  },
  top_k: { anthropic: 'relay', openai: 'ignore', google: 'translate', note: NO_LATER },
  thinking: {
    anthropic: 'relay',
    all: 'translate',
    note: 'a budget is an effort on OpenAI, on Gemini from 3 on and on Claude after 4.6',
  },
  'thinking.display': { ...claude_only, isIdle: (value) => value === 'summarized' },
  tools: {
    anthropic: 'relay',
    all: 'translate',
    note: '`bash`, `text_editor`, `computer` and `memory` on Claude models only; tools that run at the provider are refused',
  },
  'tools[].cache_control': caching,
  'tools[].strict': {
    anthropic: 'relay',
    openai: 'translate',
    google: 'ignore',
    isIdle: isFalse,
  },
  'tools[].input_examples': { ...claude_only, isIdle: isEmpty },
  'tools[].defer_loading': { ...claude_only, isIdle: isFalse },
  'tools[].allowed_callers': claude_only,
  'tools[].eager_input_streaming': { ...claude_only, isIdle: isFalse },
  tool_choice: { anthropic: 'relay', all: 'translate' },
  'tool_choice.disable_parallel_tool_use': {
    anthropic: 'relay',
    openai: 'translate',
    google: 'ignore',
    isIdle: isFalse,
  },
  output_config: {
    anthropic: 'relay',
    all: 'translate',
    note: '`format` is a forced tool on Claude up to 4.1',
  },
  'output_config.task_budget': claude_only,
  output_format: { all: 'translate', note: 'as `output_config.format`' },
  cache_control: caching,
  context_management: {
    anthropic: 'relay',
    all: 'ignore',
    note: `${CLAUDE_ONLY}; edits that clear, not those that summarise`,
    isIdle: isEmptyObject,
  },
  metadata: {
    all: 'ignore',
    note: 'the provider is sent an opaque name of the end user',
    isIdle: isEmptyObject,
  },
  service_tier: {
    all: 'ignore',
    note: 'every call runs in the standard tier',
    isIdle: (value) => value === 'standard_only',
  },
  speed: {
    all: 'ignore',
    note: 'other speeds have other prices',
    isIdle: (value) => value === 'standard',
  },
  inference_geo: { all: 'ignore', note: 'other places have other prices' },
  diagnostics: { all: 'ignore', note: 'compares calls of one account, which all users share' },
  fallbacks: { all: 'ignore', note: 'the model that was asked for answers, or declines' },
  user_profile_id: { all: 'ignore', note: "of the operator's account" },
  workspace_id: { all: 'ignore', note: "of the operator's account" },
  container: { all: 'ignore', note: 'nothing runs at the provider' },
  compaction: {
    all: 'refuse',
    note: 'it asks for a summary, not for an answer',
    hint: 'Ask for a summary in your own words.',
  },
  fallback_credit_token: {
    all: 'refuse',
    note: 'it changes the price',
    hint: 'Send the call without it.',
  },
  thread: {
    all: 'refuse',
    note: 'nothing is kept at the provider; the official client falls back by itself',
    hint: 'Send the whole conversation with each call.',
  },
  mcp_servers: {
    all: 'refuse',
    hint: 'Call the servers yourself and offer their tools.',
    isIdle: isEmpty,
  },
})
