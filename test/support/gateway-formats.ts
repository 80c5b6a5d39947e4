// One question in both client formats, and both formats' answers in one shape. Written from the providers'
// documentation; what they promise about order and completeness is asserted while reading.

import assert from 'node:assert/strict'
import { type ReceivedEvent, readEventStream } from './event-stream.ts'

export const FORMATS = ['openai', 'anthropic'] as const
export type Format = (typeof FORMATS)[number]

export type Tool = { name: string; description?: string; parameters: object }
export type Call = { id: string; name: string; input: unknown }
export type Turn =
  | { role: 'user'; text: string }
  | { role: 'assistant'; text?: string; calls?: readonly Call[] }
  | { role: 'results'; results: readonly { id: string; output: string }[] }

export type Question = {
  model: string
  /** The last turn; absent when the conversation ends with results of tools. */
  text?: string
  before?: readonly Turn[]
  system?: string
  image?: { media_type: string; data: string }
  tools?: readonly Tool[]
  tool_choice?: 'auto' | 'none' | 'required' | { name: string }
  parallel_tools?: false
  schema?: object
  stop?: readonly string[]
  max_tokens?: number
  thinking?: 'low' | 'high'
}

export type Tokens = {
  input: number
  cache_read: number
  cache_write_5m: number
  cache_write_1h: number
  output: number
  reasoning: number
}

export type Svc = { credits_used: number; balance_before: number; balance_after: number }

export type Reply = {
  id: string
  model: string
  text: string
  refusal: string | null
  thinking: string
  calls: Call[]
  stop: string
  stop_sequence: string | null
  tokens: Tokens
  svc: Svc & { billing_mode?: string }
}

export type StreamFailure = { code: string; message: string; body: Record<string, unknown> }

/** What arrived before a stream broke, and how it said so. */
export type BrokenStream = { text: string; failure: StreamFailure }

const ENOUGH_TOKENS = 4_000
const THINKING_BUDGETS = { low: 1_024, high: 4_096 }

export function questionBody(format: Format, question: Question, stream: boolean): object {
  return format === 'openai'
    ? openaiQuestion(question, stream)
    : anthropicQuestion(question, stream)
}

export function readReply(format: Format, body: string): Reply {
  return format === 'openai' ? openaiReply(JSON.parse(body)) : anthropicReply(JSON.parse(body))
}

export function readStream(format: Format, body: string): Reply {
  const events = readEventStream(body)
  return format === 'openai' ? openaiStream(events) : anthropicStream(events)
}

export function readBrokenStream(format: Format, body: string): BrokenStream {
  const events = readEventStream(body)
  const last = events.at(-1)
  assert.ok(last, 'a stream that breaks still says something')
  const failure = JSON.parse(last.data) as Record<string, unknown>
  const error = failure['error'] as { code: string; message: string } | undefined
  assert.ok(error, `the last record is the error, not ${last.data.slice(0, 200)}`)
  if (format === 'anthropic') assert.equal(last.name, 'error')
  for (const event of events) {
    assert.notEqual(event.data, '[DONE]', 'a broken stream never says that it is whole')
    assert.notEqual(event.name, 'message_stop', 'a broken stream never says that it is whole')
  }
  const shown = events.slice(0, -1).map(({ data }) => textOfChunk(format, JSON.parse(data)))
  return { text: shown.join(''), failure: { ...error, body: failure } }
}

function textOfChunk(format: Format, chunk: OpenaiChunk & AnthropicEvent): string {
  return format === 'openai'
    ? (chunk.choices?.[0]?.delta.content ?? '')
    : chunk.delta?.type === 'text_delta'
      ? (chunk.delta.text ?? '')
      : ''
}

function openaiQuestion(question: Question, stream: boolean): object {
  const { model, before = [], text, system, tools, tool_choice, schema, stop } = question
  const last = text === undefined ? [] : [{ role: 'user', content: openaiContent(question, text) }]
  return {
    model,
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...before.flatMap(openaiTurn),
      ...last,
    ],
    max_completion_tokens: question.max_tokens ?? ENOUGH_TOKENS,
    ...(tools && { tools: tools.map((tool) => ({ type: 'function', function: tool })) }),
    ...(tool_choice && {
      tool_choice:
        typeof tool_choice === 'string' ? tool_choice : { type: 'function', function: tool_choice },
    }),
    ...(question.parallel_tools === false && { parallel_tool_calls: false }),
    ...(schema && {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', schema, strict: true },
      },
    }),
    ...(stop && { stop }),
    ...(question.thinking && { reasoning_effort: question.thinking }),
    ...(stream && { stream, stream_options: { include_usage: true } }),
  }
}

function openaiContent({ image }: Question, text: string): unknown {
  if (!image) return text
  const url = `data:${image.media_type};base64,${image.data}`
  return [
    { type: 'text', text },
    { type: 'image_url', image_url: { url } },
  ]
}

function openaiTurn(turn: Turn): object[] {
  switch (turn.role) {
    case 'user':
      return [{ role: 'user', content: turn.text }]
    case 'assistant': {
      const tool_calls = turn.calls?.map(({ id, name, input }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(input) },
      }))
      return [{ role: 'assistant', content: turn.text ?? null, ...(tool_calls && { tool_calls }) }]
    }
    case 'results':
      return turn.results.map(({ id, output }) => ({
        role: 'tool',
        tool_call_id: id,
        content: output,
      }))
  }
}

function anthropicQuestion(question: Question, stream: boolean): object {
  const { model, before = [], text, system, tools, schema, stop, thinking } = question
  const last =
    text === undefined ? [] : [{ role: 'user', content: anthropicContent(question, text) }]
  const max_tokens = question.max_tokens ?? ENOUGH_TOKENS
  const tool_choice = anthropicChoice(question)
  return {
    model,
    max_tokens: max_tokens + (thinking ? THINKING_BUDGETS[thinking] : 0),
    ...(system !== undefined && { system }),
    messages: [...before.map(anthropicTurn), ...last],
    ...(tools && {
      tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
    }),
    ...(tool_choice && { tool_choice }),
    ...(schema && { output_config: { format: { type: 'json_schema', schema } } }),
    ...(stop && { stop_sequences: stop }),
    ...(thinking && { thinking: { type: 'enabled', budget_tokens: THINKING_BUDGETS[thinking] } }),
    ...(stream && { stream }),
  }
}

function anthropicChoice({ tool_choice, parallel_tools }: Question): object | undefined {
  const single = parallel_tools === false && { disable_parallel_tool_use: true }
  if (tool_choice === undefined) return single ? { type: 'auto', ...single } : undefined
  if (typeof tool_choice === 'object') return { type: 'tool', ...tool_choice, ...single }
  return { type: tool_choice === 'required' ? 'any' : tool_choice, ...single }
}

function anthropicContent({ image }: Question, text: string): unknown {
  if (!image) return text
  return [
    { type: 'text', text },
    { type: 'image', source: { type: 'base64', ...image } },
  ]
}

function anthropicTurn(turn: Turn): object {
  switch (turn.role) {
    case 'user':
      return { role: 'user', content: turn.text }
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...(turn.text === undefined ? [] : [{ type: 'text', text: turn.text }]),
          ...(turn.calls ?? []).map((call) => ({ type: 'tool_use', ...call })),
        ],
      }
    case 'results':
      return {
        role: 'user',
        content: turn.results.map(({ id, output }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: output,
        })),
      }
  }
}

type OpenaiCall = {
  index?: number
  id?: string
  type?: string
  function: { name?: string; arguments: string }
}
type OpenaiMessage = {
  role?: string
  content?: string | null
  refusal?: string | null
  reasoning_content?: string
  tool_calls?: OpenaiCall[]
}
type OpenaiUsage = {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  prompt_tokens_details?: { cached_tokens?: number; cache_write_tokens?: number }
  completion_tokens_details?: { reasoning_tokens?: number }
}
type OpenaiCompletion = {
  id: string
  object: string
  created: number
  model: string
  choices: { index: number; message: OpenaiMessage; finish_reason: string }[]
  usage: OpenaiUsage
  svc: Reply['svc']
}
type OpenaiChunk = Omit<OpenaiCompletion, 'choices' | 'usage'> & {
  choices?: { index: number; delta: OpenaiMessage; finish_reason: string | null }[]
  usage: OpenaiUsage | null
}

function openaiReply(body: OpenaiCompletion): Reply {
  assert.equal(body.object, 'chat.completion')
  assert.ok(Number.isInteger(body.created))
  assert.equal(body.choices.length, 1)
  const [choice] = body.choices
  assert.ok(choice)
  const { message, finish_reason } = choice
  assert.equal(message.role, 'assistant')
  return {
    id: body.id,
    model: body.model,
    text: message.content ?? '',
    refusal: message.refusal ?? null,
    thinking: message.reasoning_content ?? '',
    calls: (message.tool_calls ?? []).map(toCall),
    stop: finish_reason,
    stop_sequence: null,
    tokens: openaiTokens(body.usage),
    svc: body.svc,
  }
}

function toCall(call: OpenaiCall): Call {
  assert.equal(call.type, 'function')
  return {
    id: call.id ?? '',
    name: call.function.name ?? '',
    input: JSON.parse(call.function.arguments),
  }
}

function openaiTokens(usage: OpenaiUsage): Tokens {
  const cache_read = usage.prompt_tokens_details?.cached_tokens ?? 0
  const cache_write_5m = usage.prompt_tokens_details?.cache_write_tokens ?? 0
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
  return {
    input: usage.prompt_tokens - cache_read - cache_write_5m,
    cache_read,
    cache_write_5m,
    cache_write_1h: 0,
    output: usage.completion_tokens,
    reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
  }
}

/** Chunks, the finish, the usage, [DONE], and after it our numbers with an empty list of choices. */
function openaiStream(events: readonly ReceivedEvent[]): Reply {
  assert.ok(events.every((event) => event.name === undefined))
  assert.equal(events.at(-2)?.data, '[DONE]', 'one record follows [DONE], and it is the last')
  const trailer = JSON.parse(events.at(-1)?.data ?? '') as OpenaiChunk
  assert.deepEqual(trailer.choices, [])
  const chunks = events.slice(0, -2).map(({ data }) => JSON.parse(data) as OpenaiChunk)
  const counted = chunks.pop()
  assert.ok(counted?.usage, 'the last chunk has the usage that was asked for')
  assert.deepEqual(counted.choices, [])
  const [first] = chunks
  assert.ok(first)
  assert.equal(first.choices?.[0]?.delta.role, 'assistant')
  const message: Required<Pick<OpenaiMessage, 'content' | 'reasoning_content' | 'tool_calls'>> & {
    refusal: string | null
  } = { content: '', refusal: null, reasoning_content: '', tool_calls: [] }
  let stop: string | null = null
  for (const chunk of chunks) {
    assert.equal(chunk.object, 'chat.completion.chunk')
    assert.deepEqual([chunk.id, chunk.model, chunk.usage], [first.id, first.model, null])
    assert.equal(stop, null, 'the finish is the last chunk of a choice')
    const [choice] = chunk.choices ?? []
    assert.ok(choice)
    message.content += choice.delta.content ?? ''
    message.reasoning_content += choice.delta.reasoning_content ?? ''
    if (choice.delta.refusal) message.refusal = (message.refusal ?? '') + choice.delta.refusal
    for (const call of choice.delta.tool_calls ?? []) addCallPiece(message.tool_calls, call)
    stop = choice.finish_reason
  }
  assert.ok(stop, 'a whole stream says why it ended')
  return {
    id: first.id,
    model: first.model,
    text: message.content ?? '',
    refusal: message.refusal,
    thinking: message.reasoning_content,
    calls: message.tool_calls.map(toCall),
    stop,
    stop_sequence: null,
    tokens: openaiTokens(counted.usage),
    svc: trailer.svc,
  }
}

/** The first piece of a call has its id and name, the others more of its arguments. */
function addCallPiece(calls: OpenaiCall[], piece: OpenaiCall): void {
  assert.ok(piece.index !== undefined)
  const call = calls[piece.index]
  if (call) {
    assert.equal(piece.id, undefined)
    call.function.arguments += piece.function.arguments
    return
  }
  assert.equal(piece.index, calls.length, 'calls are counted from 0 without gaps')
  calls.push(piece)
}

type AnthropicUsage = {
  input_tokens: number | null
  cache_creation_input_tokens: number | null
  cache_read_input_tokens: number | null
  cache_creation?: { ephemeral_5m_input_tokens: number; ephemeral_1h_input_tokens: number } | null
  output_tokens: number
  output_tokens_details?: { thinking_tokens?: number } | null
}
type AnthropicBlock = {
  type: string
  text?: string
  thinking?: string
  id?: string
  name?: string
  input?: unknown
}
type AnthropicMessage = {
  id: string
  type: string
  role: string
  model: string
  content: AnthropicBlock[]
  stop_reason: string | null
  stop_sequence: string | null
  usage: AnthropicUsage
  svc: Reply['svc']
}
type AnthropicEvent = {
  type: string
  message?: AnthropicMessage
  index?: number
  content_block?: AnthropicBlock
  delta?: AnthropicBlock & {
    partial_json?: string
    stop_reason?: string
    stop_sequence?: string | null
  }
  usage?: AnthropicUsage
}

function anthropicReply(body: AnthropicMessage): Reply {
  assert.deepEqual([body.type, body.role], ['message', 'assistant'])
  assert.ok(body.stop_reason)
  const join = (read: (block: AnthropicBlock) => string | undefined) =>
    body.content.map((block) => read(block) ?? '').join('')
  const text = join((block) => (block.type === 'text' ? block.text : ''))
  return {
    id: body.id,
    model: body.model,
    text,
    refusal: body.stop_reason === 'refusal' ? text : null,
    thinking: join((block) => block.thinking),
    calls: body.content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id = '', name = '', input }) => ({ id, name, input })),
    stop: body.stop_reason,
    stop_sequence: body.stop_sequence,
    tokens: anthropicTokens(body.usage),
    svc: body.svc,
  }
}

function anthropicTokens(usage: AnthropicUsage): Tokens {
  const written = usage.cache_creation_input_tokens ?? 0
  const cache_write_1h = usage.cache_creation?.ephemeral_1h_input_tokens ?? 0
  return {
    input: usage.input_tokens ?? 0,
    cache_read: usage.cache_read_input_tokens ?? 0,
    cache_write_5m: written - cache_write_1h,
    cache_write_1h,
    output: usage.output_tokens,
    reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
  }
}

/** message_start, whole blocks one after another, message_delta, message_stop, and then our numbers. */
function anthropicStream(all: readonly ReceivedEvent[]): Reply {
  const trailer = all.at(-1)
  assert.equal(trailer?.name, 'svc_usage')
  const { type, ...svc } = JSON.parse(trailer.data) as Svc & { type: string }
  assert.equal(type, 'ping', 'the only type that every client lets pass')
  const events = all.slice(0, -1).map(({ name, data }) => {
    const event = JSON.parse(data) as AnthropicEvent
    assert.equal(event.type, name)
    return event
  })
  const steps = events.filter((event) => event.type !== 'ping')
  const [start, delta, stop] = [steps.shift(), steps.splice(-2, 1)[0], steps.pop()]
  assert.equal(start?.type, 'message_start')
  assert.equal(delta?.type, 'message_delta')
  assert.equal(stop?.type, 'message_stop')
  assert.ok(start.message && delta.delta && delta.usage)
  const { message } = start
  assert.deepEqual([message.content, message.stop_reason, message.stop_sequence], [[], null, null])
  const usage = { ...message.usage, ...withoutNulls(delta.usage) }
  return anthropicReply({
    ...message,
    content: readBlocks(steps),
    stop_reason: delta.delta.stop_reason ?? null,
    stop_sequence: delta.delta.stop_sequence ?? null,
    usage,
    svc,
  })
}

function withoutNulls(usage: AnthropicUsage): Partial<AnthropicUsage> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}

function readBlocks(steps: readonly AnthropicEvent[]): AnthropicBlock[] {
  const blocks: AnthropicBlock[] = []
  let open: (AnthropicBlock & { json: string }) | undefined
  for (const { type, index, content_block, delta } of steps) {
    assert.equal(index, blocks.length, 'blocks follow each other and are counted from 0')
    if (type === 'content_block_start') {
      assert.ok(content_block && !open)
      open = { ...content_block, json: '' }
    } else if (type === 'content_block_delta') {
      assert.ok(open && delta)
      if (delta.type === 'text_delta') open.text = (open.text ?? '') + delta.text
      if (delta.type === 'thinking_delta') open.thinking = (open.thinking ?? '') + delta.thinking
      if (delta.type === 'input_json_delta') open.json += delta.partial_json
    } else {
      assert.equal(type, 'content_block_stop')
      assert.ok(open)
      const { json, ...block } = open
      blocks.push(block.type === 'tool_use' ? { ...block, input: JSON.parse(json || '{}') } : block)
      open = undefined
    }
  }
  assert.equal(open, undefined, 'every block is closed')
  return blocks
}
