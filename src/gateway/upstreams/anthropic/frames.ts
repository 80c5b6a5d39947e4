// Messages, whole or as events, as neutral events. Structured output that travelled as a tool call
// comes out as text. Usage begins with the message and is overwritten at its end.

import type { ChatEvent, StopReason } from '../../dialects/chat-types.ts'
import { endedEarly, senseless } from '../error-mapping.ts'
import type { FrameReader } from '../exchange.ts'
import { isRecord, type JsonRecord, listOf, recordOf, textOf } from '../json-values.ts'
import { TextTemplate } from '../text-template.ts'
import type { ToolNames } from '../tool-names.ts'
import { anthropicUsage, mergeAnthropicUsage } from './usage.ts'

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  pause_turn: 'end',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  stop_sequence: 'stop_sequence',
  tool_use: 'tool_calls',
  // Paid for as reported, even where nothing was said before it.
  refusal: 'content_filter',
}

const MESSAGE_STOP = /^\s*\{\s*"type"\s*:\s*"message_stop"/

export type AnthropicReaderOptions = { names: ToolNames; json_tool: string | undefined }

/** The tool block that is open: `index` is undefined where its input is the answer itself. */
type OpenTool = { index: number | undefined; input: JsonRecord; has_input: boolean }
type State = AnthropicReaderOptions & {
  open_tool: OpenTool | undefined
  tool_calls: number
  stopped: boolean
  usage: JsonRecord
}

export function createAnthropicReader(options: AnthropicReaderOptions): FrameReader {
  const state: State = {
    ...options,
    open_tool: undefined,
    tool_calls: 0,
    stopped: false,
    usage: {},
  }
  const plain = new TextTemplate(textDelta)
  return {
    readChunk(event, data) {
      const events = readEvent(state, event)
      const text = textDelta(event)
      if (typeof text === 'string' && text !== '') plain.learn(data, text)
      return events
    },
    recognise(data) {
      const text = plain.match(data)
      return text === undefined ? undefined : textEvent(text)
    },
    readWhole: (message) => readWhole(state, message),
    isEnd: (data) => MESSAGE_STOP.test(data),
    checkEnd() {
      if (!state.stopped) throw endedEarly('anthropic')
    },
  }
}

function textDelta(event: unknown): unknown {
  const { type, delta } = recordOf(event)
  const { type: kind, text } = recordOf(delta)
  return type === 'content_block_delta' && kind === 'text_delta' ? text : undefined
}

/** Unknown events are passed on and mean nothing to us. */
function readEvent(state: State, event: JsonRecord): ChatEvent[] {
  switch (event['type']) {
    case 'message_start': {
      const message = recordOf(event['message'])
      return [{ kind: 'start', id: textOf(message['id']) }, ...readUsage(state, message['usage'])]
    }
    case 'content_block_start':
      return openBlock(state, recordOf(event['content_block']))
    case 'content_block_delta':
      return readDelta(state, recordOf(event['delta']))
    case 'content_block_stop':
      return closeBlock(state)
    case 'message_delta':
      return [...readUsage(state, event['usage']), ...readStop(state, recordOf(event['delta']))]
    default:
      if (typeof event['type'] !== 'string') throw senseless('anthropic', 'an event has no type')
      return []
  }
}

function readWhole(state: State, message: JsonRecord): ChatEvent[] {
  if (!Array.isArray(message['content'])) {
    throw senseless('anthropic', 'the answer has no content')
  }
  const events: ChatEvent[] = [{ kind: 'start', id: textOf(message['id']) }]
  for (const item of listOf(message['content'])) {
    events.push(...openBlock(state, recordOf(item)), ...closeBlock(state))
  }
  events.push(...readUsage(state, message['usage']), ...readStop(state, message))
  return events
}

/** In a stream blocks begin empty; in a whole message they hold everything. */
function openBlock(state: State, block: JsonRecord): ChatEvent[] {
  switch (block['type']) {
    case 'text':
      return textEvent(textOf(block['text']))
    case 'thinking':
      return [
        ...thinkingEvent(textOf(block['thinking'])),
        ...signatureEvent(textOf(block['signature'])),
      ]
    case 'redacted_thinking':
      return [{ kind: 'redacted_thinking', data: textOf(block['data']) }]
    case 'tool_use':
      return openTool(state, block)
    default:
      return []
  }
}

function openTool(state: State, block: JsonRecord): ChatEvent[] {
  const name = textOf(block['name'])
  const input = recordOf(block['input'])
  if (name === state.json_tool) {
    state.open_tool = { index: undefined, input, has_input: false }
    return []
  }
  const index = state.tool_calls
  state.tool_calls += 1
  state.open_tool = { index, input, has_input: false }
  const id = textOf(block['id'])
  return [{ kind: 'tool_call', choice: 0, index, id, name: state.names.toClient(name) }]
}

function readDelta(state: State, delta: JsonRecord): ChatEvent[] {
  switch (delta['type']) {
    case 'text_delta':
      return textEvent(textOf(delta['text']))
    case 'thinking_delta':
      return thinkingEvent(textOf(delta['thinking']))
    case 'signature_delta':
      return signatureEvent(textOf(delta['signature']))
    case 'input_json_delta':
      return readInput(state, textOf(delta['partial_json']))
    default:
      return []
  }
}

function readInput(state: State, fragment: string): ChatEvent[] {
  const tool = state.open_tool
  if (tool === undefined || fragment === '') return []
  tool.has_input = true
  return inputEvent(tool, fragment)
}

/** What came without fragments came at once with the block; nothing at all is an empty object. */
function closeBlock(state: State): ChatEvent[] {
  const tool = state.open_tool
  state.open_tool = undefined
  return tool === undefined || tool.has_input ? [] : inputEvent(tool, JSON.stringify(tool.input))
}

function inputEvent({ index }: OpenTool, fragment: string): ChatEvent[] {
  if (index === undefined) return textEvent(fragment)
  return [{ kind: 'tool_arguments', choice: 0, index, fragment }]
}

function textEvent(text: string): ChatEvent[] {
  return text === '' ? [] : [{ kind: 'text', choice: 0, text }]
}

function thinkingEvent(text: string): ChatEvent[] {
  return text === '' ? [] : [{ kind: 'thinking', text }]
}

function signatureEvent(signature: string): ChatEvent[] {
  return signature === '' ? [] : [{ kind: 'thinking_signature', signature }]
}

function readStop(state: State, record: JsonRecord): ChatEvent[] {
  const said = textOf(record['stop_reason'])
  if (said === '' || state.stopped) return []
  state.stopped = true
  const unwrapped = said === 'tool_use' && state.json_tool !== undefined && state.tool_calls === 0
  const reason = unwrapped ? 'end' : (STOP_REASONS[said] ?? 'end')
  const sequence = record['stop_sequence']
  const stop_sequence = typeof sequence === 'string' ? sequence : null
  const details = isRecord(record['stop_details']) ? { details: record['stop_details'] } : {}
  return [{ kind: 'stop', choice: 0, reason, stop_sequence, ...details }]
}

function readUsage(state: State, reported: unknown): ChatEvent[] {
  state.usage = mergeAnthropicUsage(state.usage, reported)
  const usage = anthropicUsage(state.usage)
  return usage === undefined ? [] : [{ kind: 'usage', usage, raw: state.usage }]
}
