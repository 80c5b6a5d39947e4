// Reads the body of POST /v1/messages. What becomes of each field at each provider stands in fields.ts.

import { ApiError } from '../../../platform/errors.ts'
import {
  type Fields,
  isAbsent,
  readArray,
  readBody,
  readChoice,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalChoice,
  readOptionalInteger,
  readOptionalNumber,
  readText,
  refuse,
} from '../body-fields.ts'
import type { ChatMessage, ChatRequest, Reasoning, ResponseFormat } from '../chat-types.ts'
import { addInstructions, type Conversation } from '../conversation.ts'
import type { RequestHeaders } from '../dialect.ts'
import { readBlocks, readCacheHint, readSystem } from './blocks.ts'
import { withoutForeignThoughts } from './signatures.ts'
import { clearedTurns } from './system-turns.ts'
import { parseToolChoice, parseTools } from './tools.ts'

const MAX_MESSAGES = 10_000
const MAX_STOPS = 256
const MAX_BETAS = 50
const MIN_THINKING_TOKENS = 1024

export function parseAnthropicRequest(body: unknown, headers: RequestHeaders): ChatRequest {
  const request = parseTokenCount(body, headers)
  if (request.max_output_tokens === undefined) {
    refuse('max_tokens', 'is missing', 'Say how many tokens the answer may have.')
  }
  return request
}

/** POST /v1/messages/count_tokens: the same body, but `max_tokens` may be absent. */
export function parseTokenCount(body: unknown, headers: RequestHeaders = {}): ChatRequest {
  const fields = readBody(body)
  if (fields['thread'] !== undefined) throw refuseThread()
  const betas = readBetas(headers)
  const model = readName(fields['model'], 'model')
  const max_output_tokens = readOptionalInteger(fields['max_tokens'], {
    path: 'max_tokens',
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
  })
  const { system, messages } = readMessages(fields)
  addAutomaticCache(fields['cache_control'], messages)
  const tools = parseTools(fields['tools'])
  return {
    model,
    system,
    messages,
    tools,
    ...parseToolChoice(fields['tool_choice'], tools),
    max_output_tokens,
    ...readSampling(fields),
    stop: readStops(fields['stop_sequences']),
    ...readOutput(fields, { max_tokens: max_output_tokens, betas }),
    n: 1,
    stream: readOptionalBoolean(fields['stream'], 'stream') ?? false,
    include_usage: true,
    ...(betas.length > 0 && { betas }),
    original: { dialect: 'anthropic', body: withoutForeignThoughts(fields) },
  }
}

/**
 * A thread holds the conversation at the provider, so that later calls send only what is new: answered without it,
 * they would be answered without their history. By these details Anthropic's own client falls back to whole
 * conversations.
 */
function refuseThread(): ApiError {
  return new ApiError('bad_request', {
    message: 'thread is not supported.',
    hint: 'Send the whole conversation with each call, without `thread`.',
    param: 'thread',
    details: { error_code: 'thread_unsupported_request' },
  })
}

function readMessages(fields: Fields): Conversation {
  const system = isAbsent(fields['system']) ? [] : readSystem(fields['system'], 'system')
  const messages: ChatMessage[] = []
  const call_ids = new Set<string>()
  const list = readArray(fields['messages'], 'messages', MAX_MESSAGES)
  const isCleared = clearedTurns(list)
  for (const [index, entry] of list.entries()) {
    const path = `messages[${index}]`
    const message = readObject(entry, path)
    const role = readChoice(message['role'], ['user', 'assistant', 'system'], `${path}.role`)
    if (role === 'system') {
      const said = readSystem(message['content'], `${path}.content`)
      if (!isCleared(index)) addInstructions({ system, messages }, said)
      continue
    }
    const read = readBlocks({
      role,
      content: message['content'],
      path: `${path}.content`,
      call_ids,
    })
    if (read.content.length > 0) messages.push(read)
  }
  if (messages.length === 0) refuse('messages', 'must hold a message with content')
  return { system, messages }
}

/** `cache_control` of the whole request marks the last block. */
function addAutomaticCache(value: unknown, messages: ChatMessage[]): void {
  const cache = readCacheHint(value, 'cache_control')
  const part = messages.at(-1)?.content.at(-1)
  if (cache === undefined || part === undefined) return
  if (part.kind === 'text' || part.kind === 'tool_call' || part.kind === 'tool_result') {
    part.cache ??= cache
  }
  if (part.kind === 'image' || part.kind === 'file') part.cache ??= cache
}

type Sampling = Pick<
  ChatRequest,
  'temperature' | 'top_p' | 'top_k' | 'seed' | 'frequency_penalty' | 'presence_penalty'
>

function readSampling(fields: Fields): Sampling {
  return {
    temperature: readOptionalNumber(fields['temperature'], { path: 'temperature', min: 0, max: 1 }),
    top_p: readOptionalNumber(fields['top_p'], { path: 'top_p', min: 0, max: 1 }),
    top_k: readOptionalInteger(fields['top_k'], {
      path: 'top_k',
      min: 0,
      max: Number.MAX_SAFE_INTEGER,
    }),
    seed: undefined,
    frequency_penalty: undefined,
    presence_penalty: undefined,
  }
}

function readStops(value: unknown): string[] {
  if (value === undefined) return []
  return readArray(value, 'stop_sequences', MAX_STOPS).map((entry, index) => {
    const stop = readText(entry, `stop_sequences[${index}]`)
    if (stop.trim() === '') refuse(`stop_sequences[${index}]`, 'must not be blank')
    return stop
  })
}

type Output = Pick<ChatRequest, 'reasoning' | 'verbosity' | 'response_format'>
type Limits = { max_tokens: number | undefined; betas: readonly string[] }

function readOutput(fields: Fields, limits: Limits): Output {
  const config = fields['output_config'] === undefined ? {} : fields['output_config']
  const output = readObject(config, 'output_config')
  const efforts = ['low', 'medium', 'high', 'xhigh', 'max'] as const
  const effort = readOptionalChoice(output['effort'], efforts, 'output_config.effort')
  const wanted: Reasoning | undefined = effort && {
    kind: 'effort',
    effort: effort === 'xhigh' || effort === 'max' ? 'high' : effort,
  }
  return {
    reasoning: readThinking(fields['thinking'], limits) ?? wanted,
    verbosity: undefined,
    response_format: isAbsent(output['format'])
      ? readFormat(fields['output_format'], 'output_format')
      : readFormat(output['format'], 'output_config.format'),
  }
}

/** Adaptive thinking is the model's own choice: no wish of the client. */
function readThinking(value: unknown, { max_tokens, betas }: Limits): Reasoning | undefined {
  if (value === undefined) return undefined
  const thinking = readObject(value, 'thinking')
  const types = ['enabled', 'disabled', 'adaptive'] as const
  const type = readChoice(thinking['type'], types, 'thinking.type')
  if (type === 'adaptive') return undefined
  if (type === 'disabled') return { kind: 'effort', effort: 'none' }
  const path = 'thinking.budget_tokens'
  const range = { path, min: MIN_THINKING_TOKENS, max: Number.MAX_SAFE_INTEGER }
  const tokens = readOptionalInteger(thinking['budget_tokens'], range)
  if (tokens === undefined) refuse(path, 'is missing')
  // Thoughts between calls of tools have one budget for the whole turn, which is more than one answer.
  const is_interleaved = betas.some((beta) => beta.startsWith('interleaved-thinking-'))
  if (max_tokens !== undefined && tokens >= max_tokens && !is_interleaved) {
    refuse(path, 'must be less than max_tokens', 'Raise `max_tokens`: it covers thinking too.')
  }
  return { kind: 'budget', tokens }
}

function readFormat(value: unknown, path: string): ResponseFormat | undefined {
  if (isAbsent(value)) return undefined
  const format = readObject(value, path)
  readChoice(format['type'], ['json_schema'], `${path}.type`)
  const schema = readObject(format['schema'], `${path}.schema`)
  // Anthropic's schemas have no name and are always strict.
  return { kind: 'json_schema', name: 'output', schema, strict: true }
}

/** A client may send the header more than once, and several names in one. */
function readBetas(headers: RequestHeaders): readonly string[] {
  const sent = headers['anthropic-beta']
  if (sent === undefined) return []
  const listed = (Array.isArray(sent) ? sent.join(',') : sent).split(',')
  const names = new Set(listed.map((name) => name.trim()).filter((name) => name !== ''))
  if (names.size > MAX_BETAS) refuse('anthropic-beta', `must have at most ${MAX_BETAS} names`)
  return [...names]
}
