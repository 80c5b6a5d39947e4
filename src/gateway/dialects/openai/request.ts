// Reads the body of POST /v1/chat/completions. What becomes of each field at each provider stands in fields.ts.

import { readCacheHint } from '../anthropic/blocks.ts'
import {
  type Fields,
  readArray,
  readBody,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalChoice,
  readOptionalInteger,
  readOptionalNumber,
  readText,
  refuse,
} from '../body-fields.ts'
import type { ChatRequest, Reasoning, ReplyStyle, ToolDefinition } from '../chat-types.ts'
import { parseMessages } from './messages.ts'
import { modernise } from './old-functions.ts'
import { markLast } from './parts.ts'
import { parseResponseFormat, parseToolChoice, parseTools } from './tools.ts'

const MAX_ANSWERS = 128
const MAX_STOPS = 4

const TOOL_FIELDS = ['tools', 'tool_choice', 'parallel_tool_calls']
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export function parseOpenAiRequest(body: unknown): ChatRequest {
  const { fields, is_old } = modernise(readBody(body))
  const model = readName(fields['model'], 'model')
  const { system, messages } = parseMessages(fields['messages'])
  const cache = readCacheHint(fields['cache_control'], 'cache_control')
  if (cache) markLast(messages.at(-1)?.content ?? [], cache)
  const definitions = parseTools(fields['tools'])
  const choice = parseToolChoice(fields['tool_choice'], definitions)
  checkOpenAiOnly(fields)
  const stream = readOptionalBoolean(fields['stream'], 'stream') ?? false
  const parallel = readOptionalBoolean(fields['parallel_tool_calls'], 'parallel_tool_calls')
  return {
    model,
    system,
    messages,
    tools: choice.tools,
    tool_choice: choice.tool_choice,
    ...readLimits(fields),
    ...readSampling(fields),
    // The old form has room for one call.
    parallel_tool_calls: is_old ? false : parallel,
    reasoning: readReasoning(fields),
    verbosity: readOptionalChoice(fields['verbosity'], ['low', 'medium', 'high'], 'verbosity'),
    response_format: parseResponseFormat(fields['response_format']),
    stream,
    include_usage: stream && readIncludeUsage(fields),
    ...styleOf(fields, { is_old, definitions }),
    original: { dialect: 'openai', body: definitions.length > 0 ? fields : withoutTools(fields) },
  }
}

/** Only where the answer is not written as usual. */
function styleOf(
  fields: Fields,
  { is_old, definitions }: { is_old: boolean; definitions: readonly ToolDefinition[] },
): { style?: ReplyStyle } {
  const free_text_tools = definitions.filter((tool) => tool.free_text).map((tool) => tool.name)
  const hides_thinking =
    readOptionalBoolean(readRouterReasoning(fields)['exclude'], 'reasoning.exclude') === true ||
    readOptionalBoolean(fields['include_reasoning'], 'include_reasoning') === false
  if (!is_old && !hides_thinking && free_text_tools.length === 0) return {}
  return { style: { function_call: is_old, free_text_tools, hides_thinking } }
}

/** OpenAI finds a choice of tools contradictory where there are none, and an empty list of them too. */
function withoutTools(fields: Fields): Fields {
  const body = Object.entries(fields).filter(([field]) => !TOOL_FIELDS.includes(field))
  return Object.fromEntries(body)
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
    top_k: readTopK(fields['top_k']),
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

/** 0 stands for all tokens, which is the same as nothing. */
function readTopK(value: unknown): number | undefined {
  const range = { path: 'top_k', min: 0, max: Number.MAX_SAFE_INTEGER }
  return readOptionalInteger(value, range) || undefined
}

/** OpenAI's own word, or OpenRouter's object. */
function readReasoning(fields: Fields): Reasoning | undefined {
  const own = readEffort(fields['reasoning_effort'], 'reasoning_effort')
  const router = readRouterReasoning(fields)
  const effort = own ?? readEffort(router['effort'], 'reasoning.effort')
  const range = { path: 'reasoning.max_tokens', min: 0, max: Number.MAX_SAFE_INTEGER }
  const tokens = readOptionalInteger(router['max_tokens'], range)
  const enabled = readOptionalBoolean(router['enabled'], 'reasoning.enabled')
  if (effort !== undefined) return { kind: 'effort', effort }
  if (enabled === false || tokens === 0) return { kind: 'effort', effort: 'none' }
  if (tokens !== undefined) return { kind: 'budget', tokens }
  return enabled === true ? { kind: 'effort', effort: 'medium' } : undefined
}

/** xhigh and max exist on newer OpenAI models only, which see the client's own word. */
function readEffort(value: unknown, path: string) {
  const effort = readOptionalChoice(value, EFFORTS, path)
  return effort === 'xhigh' || effort === 'max' ? 'high' : effort
}

function readRouterReasoning(fields: Fields): Fields {
  return fields['reasoning'] === undefined ? {} : readObject(fields['reasoning'], 'reasoning')
}

function readIncludeUsage(fields: Fields): boolean {
  const asked = (field: string, name: string) => {
    if (fields[field] === undefined) return false
    const options = readObject(fields[field], field)
    return readOptionalBoolean(options[name], `${field}.${name}`) ?? false
  }
  return asked('stream_options', 'include_usage') || asked('usage', 'include')
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
