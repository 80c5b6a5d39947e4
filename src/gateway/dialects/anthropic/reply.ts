// Writes whole messages: translated from neutral events, or the provider's own with our numbers.

import { type AnswerBlock, type Choice, collectAnswer, stopReasonOf } from '../answer.ts'
import { isObject } from '../body-fields.ts'
import type { StopReason, Usage } from '../chat-types.ts'
import { presentNumbers, type WholeAnswer } from '../dialect.ts'
import { markSignature } from './signatures.ts'

const STOP_REASONS = {
  end: 'end_turn',
  stop_sequence: 'stop_sequence',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
} as const satisfies Record<StopReason, string>

export function formatAnthropicReply({ model, created, events, svc }: WholeAnswer): string {
  const answer = collectAnswer(events)
  const choice = answer.choices.find(({ index }) => index === 0)
  return JSON.stringify({
    id: answer.id || fallbackId(created),
    type: 'message',
    role: 'assistant',
    model,
    content: choice?.blocks.flatMap(toBlocks) ?? [],
    stop_reason: choice ? stopReason(choice) : 'end_turn',
    stop_sequence: choice?.stop?.stop_sequence ?? null,
    stop_details: choice?.stop?.details,
    usage: { ...toAnthropicUsage(answer.usage), ...cacheSplit(answer.usage) },
    svc: presentNumbers(svc),
  })
}

export function toAnthropicUsage(usage: Usage) {
  return {
    input_tokens: usage.input_tokens,
    cache_creation_input_tokens: usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    cache_read_input_tokens: usage.cache_read_tokens,
    output_tokens: usage.output_tokens,
    output_tokens_details: { thinking_tokens: usage.reasoning_tokens },
  }
}

/** OpenAI's models decline in words of their own kind and then end as usual; here that is a stop reason. */
export function toStopReason(reason: StopReason, refused: boolean): string {
  return reason === 'end' && refused ? 'refusal' : STOP_REASONS[reason]
}

/** For providers that give their answers no id. */
export function fallbackId(created: Date): string {
  return `msg_${created.getTime()}`
}

function stopReason(choice: Choice): string {
  const refused = choice.blocks.some((block) => block.kind === 'refusal')
  return toStopReason(stopReasonOf(choice), refused)
}

function cacheSplit(usage: Usage) {
  return {
    cache_creation: {
      ephemeral_5m_input_tokens: usage.cache_write_5m_tokens,
      ephemeral_1h_input_tokens: usage.cache_write_1h_tokens,
    },
  }
}

/** A call stands after its proof. */
function toBlocks(block: AnswerBlock) {
  if (block.kind !== 'tool_call' || block.signature === undefined) return [toBlock(block)]
  return [toProof(markSignature('call', block.signature)), toBlock(block)]
}

function toProof(signature: string) {
  return { type: 'thinking', thinking: '', signature }
}

function toBlock(block: AnswerBlock) {
  switch (block.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: block.text }
    case 'thinking':
      return { type: 'thinking', thinking: block.text, signature: block.signature ?? '' }
    case 'text_signature':
      return toProof(markSignature('text', block.signature))
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data }
    case 'tool_call':
      return { type: 'tool_use', id: block.id, name: block.name, input: toInput(block.arguments) }
  }
}

/** Arguments that were cut off are not JSON; the stop reason says why the input is empty. */
function toInput(text: string): unknown {
  try {
    const input: unknown = JSON.parse(text)
    return isObject(input) ? input : {}
  } catch {
    return {}
  }
}
