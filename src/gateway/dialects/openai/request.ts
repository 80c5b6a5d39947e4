// Reads the body of POST /v1/chat/completions. Every field of OpenAI's API has a line in FIELDS: kept, dropped
// because it would change the price or leave content at the provider, or refused because we cannot bill it or
// cannot answer in its form. What OpenAI does not know is refused as OpenAI does.

import {
  type Fields,
  limitDepth,
  readArray,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalChoice,
  readOptionalInteger,
  readOptionalNumber,
  readText,
  refuse,
} from '../body-fields.ts'
import type { ChatRequest, Reasoning } from '../chat-types.ts'
import { parseMessages, withoutGatewayFields } from './messages.ts'
import { parseResponseFormat, parseToolChoice, parseTools } from './tools.ts'

const MAX_ANSWERS = 128
const MAX_STOPS = 4

const TOOL_FIELDS = ['tools', 'tool_choice', 'parallel_tool_calls']
const TOOLS_HINT = 'Use `tools`, `tool_choice` and messages of role `tool`.'

const FIELDS = new Map<string, 'kept' | 'dropped' | { hint: string }>([
  ['model', 'kept'],
  ['messages', 'kept'],
  ['max_completion_tokens', 'kept'],
  ['max_tokens', 'kept'],
  ['temperature', 'kept'],
  ['top_p', 'kept'],
  ['frequency_penalty', 'kept'],
  ['presence_penalty', 'kept'],
  ['logit_bias', 'kept'],
  ['logprobs', 'kept'],
  ['top_logprobs', 'kept'],
  ['n', 'kept'],
  ['stop', 'kept'],
  ['seed', 'kept'],
  ['reasoning_effort', 'kept'],
  ['verbosity', 'kept'],
  ['tools', 'kept'],
  ['tool_choice', 'kept'],
  ['parallel_tool_calls', 'kept'],
  ['response_format', 'kept'],
  ['stream', 'kept'],
  ['stream_options', 'kept'],
  ['prediction', 'kept'],
  ['prompt_cache_key', 'kept'],
  ['prompt_cache_retention', 'kept'],
  ['prompt_cache_options', 'kept'],
  ['modalities', 'kept'],
  // Changes the provider's price: every call runs in the default tier.
  ['service_tier', 'dropped'],
  // Would keep the user's content at the provider; metadata only means something with it.
  ['store', 'dropped'],
  ['metadata', 'dropped'],
  // The gateway sends its own opaque name of the end user.
  ['user', 'dropped'],
  ['safety_identifier', 'dropped'],
  ['audio', { hint: 'Use POST /v1/audio/speech for spoken answers.' }],
  ['web_search_options', { hint: 'Search with a tool of your own.' }],
  ['moderation', { hint: 'Leave it out.' }],
  ['functions', { hint: TOOLS_HINT }],
  ['function_call', { hint: TOOLS_HINT }],
])

export function parseOpenAiRequest(body: unknown): ChatRequest {
  const all = readObject(body, 'The body')
  limitDepth(all, 'The body')
  const fields = keepFields(all)
  const model = readName(fields['model'], 'model')
  const { system, messages } = parseMessages(fields['messages'])
  const definitions = parseTools(fields['tools'])
  const choice = parseToolChoice(fields['tool_choice'], definitions)
  checkOpenAiOnly(fields)
  const stream = readOptionalBoolean(fields['stream'], 'stream') ?? false
  return {
    model,
    system,
    messages,
    tools: choice.tools,
    tool_choice: choice.tool_choice,
    ...readLimits(fields),
    ...readSampling(fields),
    parallel_tool_calls: readOptionalBoolean(fields['parallel_tool_calls'], 'parallel_tool_calls'),
    reasoning: readReasoning(fields['reasoning_effort']),
    verbosity: readOptionalChoice(fields['verbosity'], ['low', 'medium', 'high'], 'verbosity'),
    response_format: parseResponseFormat(fields['response_format']),
    stream,
    include_usage: stream && readIncludeUsage(fields['stream_options']),
    original: { dialect: 'openai', body: cleanBody(fields, definitions.length > 0) },
  }
}

function keepFields(all: Fields): Fields {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(all)) {
    if (value === null) continue
    const rule = FIELDS.get(key)
    if (rule === 'kept') kept[key] = value
    else if (rule === undefined) {
      refuse(`\`${key.slice(0, 64)}\``, 'is not a field of chat completions', 'Leave it out.')
    } else if (rule !== 'dropped') refuse(key, 'is not supported', rule.hint)
  }
  return kept
}

/** What an OpenAI upstream starts from: without what only we understand and what OpenAI finds contradictory. */
function cleanBody(fields: Fields, has_tools: boolean): Fields {
  const body: Record<string, unknown> = {}
  for (const key of Object.keys(fields)) {
    const contradicts =
      key === 'modalities' ||
      (TOOL_FIELDS.includes(key) && !has_tools) ||
      (key === 'stream_options' && fields['stream'] !== true)
    if (!contradicts) body[key] = fields[key]
  }
  body['messages'] = withoutGatewayFields(fields['messages'])
  return body
}

function readLimits(fields: Fields): Pick<ChatRequest, 'max_output_tokens' | 'n' | 'stop'> {
  const limit = { min: 1, max: Number.MAX_SAFE_INTEGER }
  const completion = readOptionalInteger(fields['max_completion_tokens'], {
    path: 'max_completion_tokens',
    ...limit,
  })
  const old = readOptionalInteger(fields['max_tokens'], { path: 'max_tokens', ...limit })
  return {
    max_output_tokens: completion ?? old,
    n: readOptionalInteger(fields['n'], { path: 'n', min: 1, max: MAX_ANSWERS }) ?? 1,
    stop: readStop(fields['stop']),
  }
}

type Sampling = Pick<
  ChatRequest,
  'temperature' | 'top_p' | 'top_k' | 'seed' | 'frequency_penalty' | 'presence_penalty'
>

function readSampling(fields: Fields): Sampling {
  const number = (path: string, min: number, max: number) =>
    readOptionalNumber(fields[path], { path, min, max })
  return {
    temperature: number('temperature', 0, 2),
    top_p: number('top_p', 0, 1),
    top_k: undefined,
    seed: readOptionalInteger(fields['seed'], {
      path: 'seed',
      min: Number.MIN_SAFE_INTEGER,
      max: Number.MAX_SAFE_INTEGER,
    }),
    frequency_penalty: number('frequency_penalty', -2, 2),
    presence_penalty: number('presence_penalty', -2, 2),
  }
}

function readStop(value: unknown): string[] {
  if (value === undefined) return []
  if (typeof value === 'string') return [value]
  return readArray(value, 'stop', MAX_STOPS).map((entry, index) =>
    readText(entry, `stop[${index}]`),
  )
}

/** xhigh and max exist on newer OpenAI models only, which see the client's own word. */
function readReasoning(value: unknown): Reasoning | undefined {
  const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
  const effort = readOptionalChoice(value, efforts, 'reasoning_effort')
  if (effort === undefined) return undefined
  return { kind: 'effort', effort: effort === 'xhigh' || effort === 'max' ? 'high' : effort }
}

function readIncludeUsage(value: unknown): boolean {
  if (value === undefined) return false
  const options = readObject(value, 'stream_options')
  return readOptionalBoolean(options['include_usage'], 'stream_options.include_usage') ?? false
}

/** Fields that have no neutral form and travel in the original body alone. */
function checkOpenAiOnly(fields: Fields): void {
  if (fields['modalities'] !== undefined) checkModalities(fields['modalities'])
  if (fields['logit_bias'] !== undefined) readObject(fields['logit_bias'], 'logit_bias')
  if (fields['prediction'] !== undefined) readObject(fields['prediction'], 'prediction')
  readOptionalBoolean(fields['logprobs'], 'logprobs')
  readOptionalInteger(fields['top_logprobs'], { path: 'top_logprobs', min: 0, max: 20 })
}

function checkModalities(value: unknown): void {
  for (const modality of readArray(value, 'modalities', 8)) {
    if (modality !== 'text') {
      refuse('modalities', 'must be ["text"]', 'Use POST /v1/audio/speech for spoken answers.')
    }
  }
}
