// Reads the body of POST /v1/chat/completions. What becomes of each field at each provider stands in fields.ts.

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
import type { ChatRequest, Reasoning } from '../chat-types.ts'
import { parseMessages, withoutGatewayFields } from './messages.ts'
import { parseResponseFormat, parseToolChoice, parseTools } from './tools.ts'

const MAX_ANSWERS = 128
const MAX_STOPS = 4

const TOOL_FIELDS = ['tools', 'tool_choice', 'parallel_tool_calls']
export function parseOpenAiRequest(body: unknown): ChatRequest {
  const fields = readBody(body)
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
    ignored: [],
    original: { dialect: 'openai', body: cleanBody(fields, definitions.length > 0) },
  }
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
