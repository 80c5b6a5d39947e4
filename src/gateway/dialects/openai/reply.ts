// Writes whole chat completions: translated from neutral events, or the provider's own with our numbers.

import {
  type AnswerBlock,
  type Choice,
  collectAnswer,
  stopReasonOf,
  type ToolCall,
} from '../answer.ts'
import { isObject } from '../body-fields.ts'
import type { ReplyStyle, StopReason, Usage } from '../chat-types.ts'
import { presentNumbers, type WholeAnswer } from '../dialect.ts'
import { presentThought, type Thought } from './thoughts.ts'

const FINISH_REASONS = {
  end: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
} as const satisfies Record<StopReason, string>

export const PLAIN_STYLE: ReplyStyle = {
  function_call: false,
  free_text_tools: [],
  hides_thinking: false,
}

export function formatOpenAiReply({ model, created, events, style, svc }: WholeAnswer): string {
  const answer = collectAnswer(events)
  return JSON.stringify({
    id: answer.id || fallbackId(created),
    object: 'chat.completion',
    created: toSeconds(created),
    model,
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      message: toMessage(choice, style ?? PLAIN_STYLE),
      logprobs: null,
      finish_reason: finishReason(stopReasonOf(choice), style),
    })),
    usage: toOpenAiUsage(answer.usage),
    svc: presentNumbers(svc),
  })
}

export function finishReason(reason: StopReason, style: ReplyStyle | undefined): string {
  return reason === 'tool_calls' && style?.function_call ? 'function_call' : FINISH_REASONS[reason]
}

/** What a tool that takes free text is given: the one member of its arguments. */
export function freeTextOf(json: string): string {
  try {
    const value: unknown = JSON.parse(json)
    const input = isObject(value) ? value['input'] : undefined
    return typeof input === 'string' ? input : json
  } catch {
    // It broke off, or the model did not keep to the schema.
    return json
  }
}

export function toOpenAiUsage(usage: Usage) {
  const cache_write_tokens = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  const prompt_tokens = usage.input_tokens + usage.cache_read_tokens + cache_write_tokens
  return {
    prompt_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: prompt_tokens + usage.output_tokens,
    prompt_tokens_details: {
      cached_tokens: usage.cache_read_tokens,
      cache_write_tokens,
      ...(usage.audio_input_tokens !== undefined && { audio_tokens: usage.audio_input_tokens }),
    },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
  }
}

export function toSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}

/** For providers that give their answers no id. */
export function fallbackId(created: Date): string {
  return `chatcmpl-${created.getTime()}`
}

/** Where Google's own OpenAI-compatible endpoint puts the proof of its reasoning. */
export function extraContent(signature: string | undefined) {
  return signature === undefined
    ? undefined
    : { extra_content: { google: { thought_signature: signature } } }
}

function toMessage({ blocks }: Choice, style: ReplyStyle) {
  const text = joinText(blocks, 'text')
  const refusal = joinText(blocks, 'refusal')
  const thought = style.hides_thinking ? '' : joinText(blocks, 'thinking')
  const calls = blocks.filter((block) => block.kind === 'tool_call')
  const silent = text === '' && (refusal !== '' || calls.length > 0)
  return {
    role: 'assistant',
    content: silent ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(thought !== '' && { reasoning_content: thought }),
    ...(!style.hides_thinking && presentThoughts(blocks)),
    ...presentCalls(calls, style),
    ...extraContent(blocks.findLast((block) => block.kind === 'text_signature')?.signature),
  }
}

/** Only those with a proof: nobody asks for the others again. */
function presentThoughts(blocks: readonly AnswerBlock[]) {
  const thoughts = blocks.flatMap((block): Thought[] => {
    if (block.kind === 'redacted_thinking') return [block]
    if (block.kind !== 'thinking' || block.signature === undefined) return []
    return [{ ...block, signature: block.signature }]
  })
  return thoughts.length > 0 && { reasoning_details: thoughts.map(presentThought) }
}

function presentCalls(calls: readonly ToolCall[], style: ReplyStyle) {
  const [first] = calls
  if (first === undefined) return {}
  if (style.function_call) return { function_call: toFunction(first) }
  return { tool_calls: calls.map((call) => toToolCall(call, style)) }
}

function joinText(blocks: readonly AnswerBlock[], kind: 'text' | 'refusal' | 'thinking'): string {
  let joined = ''
  for (const block of blocks) if (block.kind === kind) joined += block.text
  return joined
}

function toToolCall(call: ToolCall, { free_text_tools }: ReplyStyle) {
  const { id, name } = call
  if (free_text_tools.includes(name)) {
    return { id, type: 'custom', custom: { name, input: freeTextOf(call.arguments) } }
  }
  return { id, type: 'function', function: toFunction(call), ...extraContent(call.signature) }
}

/** A call without input has arguments all the same: clients parse them. */
function toFunction(call: ToolCall) {
  return { name: call.name, arguments: call.arguments === '' ? '{}' : call.arguments }
}
