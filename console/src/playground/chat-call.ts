// One streamed call: what is sent, and the draft of the answer that grows as the stream comes in.

import { createParser } from 'eventsource-parser'
import { fetchAnswer } from '../api.ts'
import { type ApiProblem, asProblem, readProblem } from '../problem.ts'

export type Message = { role: 'system' | 'user' | 'assistant'; content: string }
export type ChatBody = {
  model: string
  messages: Message[]
  max_tokens?: number
  temperature?: number
  tools?: unknown
}
export type ToolCall = { id: string; name: string; arguments: string }
export type Charge = { credits_used: number; balance_before: number; balance_after: number }

/** The answer as far as it has come. */
export type Answer = {
  text: string
  tool_calls: ToolCall[]
  finish_reason: string | undefined
  first_token_ms: number | undefined
  generation_id: string | undefined
  charge: Charge | undefined
  problem: ApiProblem | undefined
  is_stopped: boolean
  is_done: boolean
}

export function emptyAnswer(): Answer {
  return {
    text: '',
    tool_calls: [],
    finish_reason: undefined,
    first_token_ms: undefined,
    generation_id: undefined,
    charge: undefined,
    problem: undefined,
    is_stopped: false,
    is_done: false,
  }
}

/** Writes into `answer` while the stream comes in. Never throws: what went wrong is a part of the answer. */
export async function streamAnswer(
  answer: Answer,
  body: ChatBody,
  signal: AbortSignal,
): Promise<void> {
  const began_at = performance.now()
  try {
    const response = await fetchAnswer('/account/playground/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...body, stream: true }),
      signal,
    })
    answer.generation_id = response.headers.get('x-svc-generation-id') ?? undefined
    await readEvents(response, (data) => {
      takeEvent(answer, data, response)
      if (answer.text !== '' || answer.tool_calls.length > 0) {
        answer.first_token_ms ??= Math.round(performance.now() - began_at)
      }
    })
  } catch (error) {
    if (signal.aborted) answer.is_stopped = true
    else answer.problem = asProblem(error)
  }
}

async function readEvents(response: Response, take: (data: string) => void): Promise<void> {
  if (!response.body) return
  const parser = createParser({ onEvent: ({ data }) => take(data) })
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    parser.feed(read.value)
  }
}

type Delta = {
  content?: string | null
  refusal?: string | null
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[]
}
type StreamEvent = {
  choices?: { delta?: Delta; finish_reason?: string | null }[]
  svc?: Charge
  error?: unknown
}

function takeEvent(answer: Answer, data: string, response: Response): void {
  if (data === '[DONE]') return
  const event: StreamEvent = JSON.parse(data)
  if (event.error !== undefined) answer.problem = readProblem(event, response)
  if (event.svc) answer.charge = event.svc
  const choice = event.choices?.[0]
  if (choice?.finish_reason) answer.finish_reason = choice.finish_reason
  if (choice?.delta) takeDelta(answer, choice.delta)
}

function takeDelta(answer: Answer, { content, refusal, tool_calls = [] }: Delta): void {
  answer.text += (content ?? '') + (refusal ?? '')
  for (const { index, id, function: called } of tool_calls) {
    const before = answer.tool_calls[index] ?? { id: '', name: '', arguments: '' }
    const after = {
      id: id ?? before.id,
      name: before.name + (called?.name ?? ''),
      arguments: before.arguments + (called?.arguments ?? ''),
    }
    answer.tool_calls = replaceAt(answer.tool_calls, index, after)
  }
}

function replaceAt(calls: readonly ToolCall[], index: number, call: ToolCall): ToolCall[] {
  const copy = [...calls]
  copy[Math.min(index, copy.length)] = call
  return copy
}
