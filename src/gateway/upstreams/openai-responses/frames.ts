// Responses, whole or in events, as neutral events. Each piece of an item is told once: by its deltas where there were
// some, and otherwise by the whole item, or by the whole response at the end.

import type { ChatEvent, StopReason } from '../../dialects/chat-types.ts'
import { signReasoning } from '../../dialects/openai-reasoning.ts'
import { endedEarly, errorFromEvent, senseless } from '../error-mapping.ts'
import type { FrameReader } from '../exchange.ts'
import { isRecord, type JsonRecord, listOf, numberOf, recordOf, textOf } from '../json-values.ts'
import { OPENAI_ERRORS } from '../openai/errors.ts'
import { TEXT_ENDS, TEXT_OPENS } from '../openai/frames.ts'
import type { ToolNames } from '../tool-names.ts'
import { responsesUsage } from './usage.ts'

/** Between the parts of a summary, which are paragraphs with a title each. */
const BETWEEN_PARTS = '\n\n'
/** No header says when to try again, so the time does not matter. */
const ANY_TIME = new Date(0)

/** What was told of one item of `output`. */
type Item = {
  /** Which of its pieces had deltas, by their kind and number. */
  told: Set<string>
  call: { index: number; is_text: boolean; has_arguments: boolean } | undefined
  done: boolean
}
type State = {
  names: ToolNames
  upstream_id: string
  items: Map<number, Item>
  calls: number
  started: boolean
  stopped: boolean
}

export function createResponsesReader(names: ToolNames, upstream_id: string): FrameReader {
  const state: State = {
    names,
    upstream_id,
    items: new Map(),
    calls: 0,
    started: false,
    stopped: false,
  }
  return {
    readChunk: (chunk) => readEvent(state, chunk),
    readWhole: (body) => readResponse(state, body),
    hasEnded: () => state.stopped,
    checkEnd() {
      if (!state.stopped) throw endedEarly('openai')
    },
  }
}

function readEvent(state: State, event: JsonRecord): ChatEvent[] {
  const delta = textOf(event['delta'])
  switch (event['type']) {
    case 'response.created':
    case 'response.in_progress':
      return readStart(state, recordOf(event['response']))
    case 'response.output_item.added':
      return openCall(state, itemOf(state, event), recordOf(event['item']))
    case 'response.output_text.delta':
      return tell(state, event, { kind: 'text', choice: 0, text: delta })
    case 'response.refusal.delta':
      return tell(state, event, { kind: 'refusal', choice: 0, text: delta })
    case 'response.reasoning_summary_text.delta':
      return tell(state, event, { kind: 'thinking', text: delta })
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
      return tellArguments(itemOf(state, event), delta)
    case 'response.output_item.done':
      return finishItem(state, itemOf(state, event), recordOf(event['item']))
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
      return readResponse(state, recordOf(event['response']))
    case 'error':
      throw failureOf(isRecord(event['error']) ? event['error'] : withoutType(event))
    default:
      if (typeof event['type'] !== 'string') throw senseless('openai', 'an event has no type')
      return []
  }
}

/** The whole response: all that no event before has told, and how it ended. */
function readResponse(state: State, response: JsonRecord): ChatEvent[] {
  const { status, output } = response
  if (status === 'failed' || isRecord(response['error'])) throw failureOf(response['error'])
  if (!Array.isArray(output)) throw senseless('openai', 'the response has no output')
  if (status !== 'completed' && status !== 'incomplete') {
    throw senseless('openai', 'the response is not at its end')
  }
  const events = readStart(state, response)
  for (const [output_index, item] of output.entries()) {
    for (const event of finishItem(state, itemOf(state, { output_index }), recordOf(item))) {
      events.push(event)
    }
  }
  state.stopped = true
  events.push({ kind: 'stop', choice: 0, reason: stopOf(state, response), stop_sequence: null })
  const usage = responsesUsage(response['usage'])
  if (usage !== undefined) events.push({ kind: 'usage', usage, raw: response['usage'] })
  return events
}

function stopOf({ calls }: State, { status, incomplete_details }: JsonRecord): StopReason {
  if (status === 'incomplete') {
    const { reason } = recordOf(incomplete_details)
    return reason === 'content_filter' ? 'content_filter' : 'length'
  }
  return calls > 0 ? 'tool_calls' : 'end'
}

function readStart(state: State, response: JsonRecord): ChatEvent[] {
  if (state.started) return []
  state.started = true
  return [{ kind: 'start', id: textOf(response['id']) }]
}

function itemOf({ items }: State, event: JsonRecord): Item {
  const index = numberOf(event['output_index']) ?? 0
  const item = items.get(index) ?? { told: new Set(), call: undefined, done: false }
  items.set(index, item)
  return item
}

type Spoken = Extract<ChatEvent, { kind: 'text' | 'refusal' | 'thinking' }>

function tell(state: State, event: JsonRecord, spoken: Spoken): ChatEvent[] {
  const index = numberOf(event['content_index'] ?? event['summary_index']) ?? 0
  return tellPiece(itemOf(state, event), index, spoken)
}

function tellPiece({ told }: Item, index: number, spoken: Spoken): ChatEvent[] {
  const key = `${spoken.kind} ${index}`
  if (spoken.text === '') return []
  const parted = spoken.kind === 'thinking' && index > 0 && !told.has(key)
  told.add(key)
  return parted ? [{ kind: 'thinking', text: BETWEEN_PARTS }, spoken] : [spoken]
}

function openCall(state: State, item: Item, source: JsonRecord): ChatEvent[] {
  const { type, call_id, name } = source
  const is_text = type === 'custom_tool_call'
  if (item.call || (type !== 'function_call' && !is_text)) return []
  const index = state.calls
  state.calls += 1
  item.call = { index, is_text, has_arguments: false }
  const named = state.names.toClient(textOf(name))
  return [
    { kind: 'tool_call', choice: 0, index, id: textOf(call_id), name: named },
    ...(is_text ? [fragmentOf(index, TEXT_OPENS)] : []),
  ]
}

function tellArguments({ call }: Item, written: string): ChatEvent[] {
  if (!call || written === '') return []
  call.has_arguments = true
  const fragment = call.is_text ? JSON.stringify(written).slice(1, -1) : written
  return [fragmentOf(call.index, fragment)]
}

function fragmentOf(index: number, fragment: string): ChatEvent {
  return { kind: 'tool_arguments', choice: 0, index, fragment }
}

function finishItem(state: State, item: Item, source: JsonRecord): ChatEvent[] {
  if (item.done) return []
  item.done = true
  switch (source['type']) {
    case 'message':
      return listOf(source['content']).flatMap((part, index) =>
        finishPart(item, index, recordOf(part)),
      )
    case 'reasoning':
      return finishReasoning(state, item, source)
    case 'function_call':
    case 'custom_tool_call':
      return finishCall(state, item, source)
    default:
      return []
  }
}

function finishPart(item: Item, index: number, part: JsonRecord): ChatEvent[] {
  const kind = part['type'] === 'refusal' ? 'refusal' : 'text'
  if (item.told.has(`${kind} ${index}`)) return []
  return tellPiece(item, index, { kind, choice: 0, text: textOf(part[kind]) })
}

function finishReasoning(state: State, item: Item, source: JsonRecord): ChatEvent[] {
  const events = listOf(source['summary']).flatMap((part, index) => {
    if (item.told.has(`thinking ${index}`)) return []
    return tellPiece(item, index, { kind: 'thinking', text: textOf(recordOf(part)['text']) })
  })
  const encrypted_content = textOf(source['encrypted_content'])
  const { upstream_id } = state
  const signature = signReasoning({ id: textOf(source['id']), encrypted_content, upstream_id })
  if (signature !== undefined) events.push({ kind: 'thinking_signature', signature })
  return events
}

function finishCall(state: State, item: Item, source: JsonRecord): ChatEvent[] {
  const events = openCall(state, item, source)
  const { call } = item
  if (!call) return events
  if (!call.has_arguments) {
    events.push(...tellArguments(item, textOf(source[call.is_text ? 'input' : 'arguments'])))
  }
  if (call.is_text) events.push(fragmentOf(call.index, TEXT_ENDS))
  else if (!call.has_arguments) events.push(fragmentOf(call.index, '{}'))
  return events
}

/** `type` says only that it is an error. */
function withoutType({ type: _type, ...error }: JsonRecord): JsonRecord {
  return error
}

function failureOf(error: unknown): Error {
  return errorFromEvent(OPENAI_ERRORS, { error: recordOf(error) }, ANY_TIME)
}
