// A question in OpenAI's format, and its answers, whole and streamed, read by its documentation.

import assert from 'node:assert/strict'
import type { ReceivedEvent } from './event-stream.ts'
import type { Call, Question, Reply, Tokens, Turn } from './gateway-formats.ts'

const ENOUGH_TOKENS = 4_000

export function openaiQuestion(question: Question, stream: boolean): object {
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
export type OpenaiChunk = Omit<OpenaiCompletion, 'choices' | 'usage'> & {
  choices?: { index: number; delta: OpenaiMessage; finish_reason: string | null }[]
  usage: OpenaiUsage | null
}

export function openaiReply(body: OpenaiCompletion): Reply {
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
export function openaiStream(events: readonly ReceivedEvent[]): Reply {
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
