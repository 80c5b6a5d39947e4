// Messages on the wire: the whole object, and the same as the full sequence of events.

import type { Answer } from '../answer.ts'
import { objectOf, parseJson } from '../json.ts'
import { writeSentences } from '../prose.ts'
import { makeLetters } from '../random.ts'
import type { Frame } from '../reply.ts'
import { splitChunks } from '../tokens.ts'
import { signThinking } from './blocks.ts'
import type { Citation } from './citations.ts'
import type { InputUsage } from './prompt.ts'
import type { ThinkingDisplay } from './thinking.ts'

// Before anything is written, a stream reports a first token or so; the end has the real figure.
const OPENING_OUTPUT_TOKENS = 1

export type Message = {
  id: string
  model: string
  answer: Answer
  input: InputUsage
  usage: boolean
  /** Whether thinking is shown, in short, or only its signature. */
  thinking: ThinkingDisplay
  citations: readonly Citation[]
  /** Whether it was the model's window that cut the answer, not the limit of the request. */
  window_full: boolean
  stop_details: StopDetails | null
  /** Present when the request managed its context: what was done about it. */
  applied_edits?: readonly object[]
}

export type StopDetails = { type: 'refusal'; category: string | null; explanation: string | null }

type Block =
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'text'; text: string; citations?: readonly Citation[] }
  | { type: 'tool_use'; id: string; name: string; input: object }

export function messageBody(message: Message) {
  const { answer, stop_details } = message
  return {
    ...messageHead(message),
    content: contentOf(message),
    stop_reason: stopReason(message),
    stop_sequence: answer.stop_sequence,
    stop_details,
    ...contextReport(message),
    ...(message.usage && {
      usage: { ...inputUsage(message.input), ...outputUsage(answer), service_tier: 'standard' },
    }),
  }
}

export function messageFrames(message: Message): Frame[] {
  const opening_usage = { ...inputUsage(message.input), output_tokens: OPENING_OUTPUT_TOKENS }
  const opening = {
    ...messageHead(message),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    ...(message.usage && { usage: { ...opening_usage, service_tier: 'standard' } }),
  }
  const { stop_details } = message
  const { stop_sequence } = message.answer
  const delta = { stop_reason: stopReason(message), stop_sequence, stop_details }
  const usage = { ...inputCounts(message.input), ...outputUsage(message.answer) }
  return [
    frame('message_start', { message: opening }),
    ...contentOf(message).flatMap(blockFrames),
    frame('message_delta', {
      delta,
      ...(message.usage && { usage }),
      ...contextReport(message),
    }),
    frame('message_stop', {}),
  ]
}

function contextReport({ applied_edits }: Message) {
  return applied_edits === undefined ? {} : { context_management: { applied_edits } }
}

function messageHead({ id, model }: Message) {
  return { id, type: 'message', role: 'assistant', model }
}

/** The thinking that is shown is a summary: shorter than what was thought and is billed. */
function contentOf({ answer, thinking, citations }: Message): Block[] {
  const summary = writeSentences(2, { seed: `${answer.seed}/thinking`, unicode: false })
  const shown = thinking === 'omitted' ? '' : summary
  const thought: Block = { type: 'thinking', thinking: shown, signature: signThinking(shown) }
  const thinks = thinking !== 'none' && answer.reasoning_tokens > 0
  return [
    ...(thinks ? [thought] : []),
    ...textBlocks(answer.text, citations),
    ...answer.calls.map((call, index): Block => {
      const id = `toolu_01${makeLetters(`${answer.seed}/call/${index}`, 22)}`
      return { type: 'tool_use', id, name: call.name, input: objectOf(parseJson(call.arguments)) }
    }),
  ]
}

/** What is backed by a source is a block of its own, after what is not. */
function textBlocks(text: string, citations: readonly Citation[]): Block[] {
  if (text === '') return []
  const end = text.indexOf(' ') + 1
  if (citations.length === 0 || end === 0) return [{ type: 'text', text }]
  return [
    { type: 'text', text: text.slice(0, end) },
    { type: 'text', text: text.slice(end), citations },
  ]
}

function stopReason({ answer, window_full }: Message): string {
  switch (answer.end) {
    case 'stop':
      return 'end_turn'
    case 'stop_sequence':
      return 'stop_sequence'
    case 'length':
      return window_full ? 'model_context_window_exceeded' : 'max_tokens'
    case 'tools':
      return 'tool_use'
    case 'content_filter':
    case 'refusal':
      return 'refusal'
    case 'odd':
      return answer.odd_reason ?? 'unheard_of'
  }
}

function inputCounts(input: InputUsage) {
  return {
    input_tokens: input.input_tokens,
    cache_creation_input_tokens: input.cache_creation_5m + input.cache_creation_1h,
    cache_read_input_tokens: input.cache_read_input_tokens,
  }
}

function inputUsage(input: InputUsage) {
  return {
    ...inputCounts(input),
    cache_creation: {
      ephemeral_5m_input_tokens: input.cache_creation_5m,
      ephemeral_1h_input_tokens: input.cache_creation_1h,
    },
  }
}

function outputUsage({ reasoning_tokens, visible_tokens }: Answer) {
  return {
    output_tokens: reasoning_tokens + visible_tokens,
    ...(reasoning_tokens > 0 && { output_tokens_details: { thinking_tokens: reasoning_tokens } }),
  }
}

function blockFrames(block: Block, index: number): Frame[] {
  const deltas = blockDeltas(block).map((delta) => frame('content_block_delta', { index, delta }))
  return [
    frame('content_block_start', { index, content_block: emptyBlock(block) }),
    ...(index === 0 ? [frame('ping', {})] : []),
    ...deltas,
    frame('content_block_stop', { index }),
  ]
}

function emptyBlock(block: Block): Block {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' }
    case 'text':
      return { ...block, text: '', ...(block.citations !== undefined && { citations: [] }) }
    case 'tool_use':
      return { ...block, input: {} }
  }
}

function blockDeltas(block: Block): object[] {
  switch (block.type) {
    case 'thinking': {
      const { signature } = block
      const parts = splitChunks(block.thinking)
      return [
        ...parts.map((thinking) => ({ type: 'thinking_delta', thinking })),
        { type: 'signature_delta', signature },
      ]
    }
    case 'text':
      return [
        ...splitChunks(block.text).map((text) => ({ type: 'text_delta', text })),
        ...(block.citations ?? []).map((citation) => ({ type: 'citations_delta', citation })),
      ]
    case 'tool_use': {
      // The first fragment is empty, and input without fields is never more than that.
      const json = JSON.stringify(block.input)
      const parts = json === '{}' ? [''] : ['', ...splitChunks(json)]
      return parts.map((partial_json) => ({ type: 'input_json_delta', partial_json }))
    }
  }
}

function frame(type: string, fields: object): Frame {
  return { kind: type, event: type, data: JSON.stringify({ type, ...fields }) }
}
