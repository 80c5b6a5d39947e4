// Writes whole chat completions: translated from neutral events, or the provider's own with our numbers.

import { type AnswerBlock, type Choice, collectAnswer, stopReasonOf } from '../answer.ts'
import type { StopReason, Usage } from '../chat-types.ts'
import { presentNumbers, type WholeAnswer } from '../dialect.ts'

export const FINISH_REASONS = {
  end: 'stop',
  stop_sequence: 'stop',
  length: 'length',
  tool_calls: 'tool_calls',
  content_filter: 'content_filter',
} as const satisfies Record<StopReason, string>

export function formatOpenAiReply({ model, created, events, svc }: WholeAnswer): string {
  const answer = collectAnswer(events)
  return JSON.stringify({
    id: answer.id || fallbackId(created),
    object: 'chat.completion',
    created: toSeconds(created),
    model,
    choices: answer.choices.map((choice) => ({
      index: choice.index,
      message: toMessage(choice),
      logprobs: null,
      finish_reason: FINISH_REASONS[stopReasonOf(choice)],
    })),
    usage: toOpenAiUsage(answer.usage),
    svc: presentNumbers(svc),
  })
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

function toMessage({ blocks }: Choice) {
  const text = joinText(blocks, 'text')
  const refusal = joinText(blocks, 'refusal')
  const thought = joinText(blocks, 'thinking')
  const tool_calls = blocks.filter((block) => block.kind === 'tool_call').map(toToolCall)
  const silent = text === '' && (refusal !== '' || tool_calls.length > 0)
  return {
    role: 'assistant',
    content: silent ? null : text,
    refusal: refusal === '' ? null : refusal,
    ...(thought !== '' && { reasoning_content: thought }),
    ...(tool_calls.length > 0 && { tool_calls }),
    ...extraContent(blocks.findLast((block) => block.kind === 'text_signature')?.signature),
  }
}

function joinText(blocks: readonly AnswerBlock[], kind: 'text' | 'refusal' | 'thinking'): string {
  let joined = ''
  for (const block of blocks) if (block.kind === kind) joined += block.text
  return joined
}

function toToolCall(call: Extract<AnswerBlock, { kind: 'tool_call' }>) {
  return {
    id: call.id,
    type: 'function',
    // A call without input has arguments all the same: clients parse them.
    function: { name: call.name, arguments: call.arguments === '' ? '{}' : call.arguments },
    ...extraContent(call.signature),
  }
}
