// One question in both client formats, and both formats' answers in one shape. Written from the providers'
// documentation; what they promise about order and completeness is asserted while reading.

import assert from 'node:assert/strict'
import { readEventStream } from './event-stream.ts'
import {
  type AnthropicEvent,
  anthropicQuestion,
  anthropicReply,
  anthropicStream,
} from './gateway-anthropic.ts'
import { type OpenaiChunk, openaiQuestion, openaiReply, openaiStream } from './gateway-openai.ts'

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
