// Chat completions, whole or in chunks, as neutral events.

import type { ChatEvent, StopReason } from '../../dialects/chat-types.ts'
import { endedEarly, senseless } from '../error-mapping.ts'
import type { FrameReader } from '../exchange.ts'
import { type JsonRecord, listOf, numberOf, recordOf, textOf } from '../json-values.ts'
import { TextTemplate } from '../text-template.ts'
import type { ToolNames } from '../tool-names.ts'
import { openaiUsage } from './usage.ts'

const STOP_REASONS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  content_filter: 'content_filter',
}

/** Custom tools take text instead of JSON. In neutral words it is the one member of their arguments. */
export const TEXT_OPENS = '{"input":"'
export const TEXT_ENDS = '"}'

type ToolState = { index: number; has_arguments: boolean; is_text: boolean }
type State = {
  names: ToolNames
  started: boolean
  /** Tool calls of each choice, by the provider's index. */
  tools: Map<number, Map<number, ToolState>>
  stopped: Set<number>
  opened: Set<number>
}

export function createOpenaiReader(names: ToolNames): FrameReader {
  const state: State = {
    names,
    started: false,
    tools: new Map(),
    stopped: new Set(),
    opened: new Set(),
  }
  const plain = new TextTemplate((chunk) => firstDelta(chunk)['content'])
  return {
    readChunk(chunk, data) {
      const events = readChunk(state, chunk)
      const [only] = events
      if (events.length === 1 && only?.kind === 'text' && only.choice === 0) {
        plain.learn(data, only.text)
      }
      return events
    },
    recognise(data) {
      const text = plain.match(data)
      if (text === undefined) return undefined
      return text === '' ? [] : [{ kind: 'text', choice: 0, text }]
    },
    readWhole: (body) => readWhole(state, body),
    isEnd: (data) => data === '[DONE]',
    checkEnd() {
      const open = [...state.opened].some((choice) => !state.stopped.has(choice))
      if (open || state.stopped.size === 0) throw endedEarly('openai')
    },
  }
}

function firstDelta(chunk: unknown): JsonRecord {
  return recordOf(recordOf(listOf(recordOf(chunk)['choices'])[0])['delta'])
}

function readChunk(state: State, chunk: JsonRecord): ChatEvent[] {
  const events: ChatEvent[] = []
  if (!Array.isArray(chunk['choices'])) throw senseless('openai', 'a chunk has no choices')
  readStart(state, chunk, events)
  for (const item of listOf(chunk['choices'])) {
    const part = recordOf(item)
    const choice = numberOf(part['index']) ?? 0
    state.opened.add(choice)
    const delta = recordOf(part['delta'])
    readMessage(state, choice, { message: delta, events })
    readFinish(state, choice, { finish: part['finish_reason'], events })
  }
  readUsage(chunk, events)
  return events
}

/** A whole message is a delta that says everything at once. */
function readWhole(state: State, body: JsonRecord): ChatEvent[] {
  const events: ChatEvent[] = []
  const choices = listOf(body['choices'])
  if (choices.length === 0) throw senseless('openai', 'the answer has no choices')
  readStart(state, body, events)
  for (const [at, item] of choices.entries()) {
    const part = recordOf(item)
    const choice = numberOf(part['index']) ?? at
    state.opened.add(choice)
    readMessage(state, choice, { message: recordOf(part['message']), events })
    readFinish(state, choice, { finish: part['finish_reason'] ?? 'stop', events })
  }
  readUsage(body, events)
  return events
}

function readStart(state: State, record: JsonRecord, events: ChatEvent[]): void {
  if (state.started) return
  state.started = true
  events.push({ kind: 'start', id: textOf(record['id']) })
}

function readMessage(
  state: State,
  choice: number,
  { message, events }: { message: JsonRecord; events: ChatEvent[] },
): void {
  const text = textOf(message['content'])
  if (text !== '') events.push({ kind: 'text', choice, text })
  const refusal = textOf(message['refusal'])
  if (refusal !== '') events.push({ kind: 'refusal', choice, text: refusal })
  if (!Array.isArray(message['tool_calls'])) return
  for (const [at, item] of listOf(message['tool_calls']).entries()) {
    readToolCall(state, choice, { call: recordOf(item), at, events })
  }
}

function readToolCall(
  state: State,
  choice: number,
  { call, at, events }: { call: JsonRecord; at: number; events: ChatEvent[] },
): void {
  const known = state.tools.get(choice) ?? new Map<number, ToolState>()
  state.tools.set(choice, known)
  const place = numberOf(call['index']) ?? at
  const is_text = call['custom'] !== undefined
  const target = recordOf(call['function'] ?? call['custom'])
  const tool = known.get(place) ?? { index: known.size, has_arguments: is_text, is_text }
  const { index } = tool
  if (!known.has(place)) {
    known.set(place, tool)
    const name = state.names.toClient(textOf(target['name']))
    events.push({ kind: 'tool_call', choice, index, id: textOf(call['id']), name })
    if (is_text) events.push({ kind: 'tool_arguments', choice, index, fragment: TEXT_OPENS })
  }
  const written = textOf(target['arguments'] ?? target['input'])
  if (written === '') return
  tool.has_arguments = true
  const fragment = tool.is_text ? JSON.stringify(written).slice(1, -1) : written
  events.push({ kind: 'tool_arguments', choice, index, fragment })
}

function readFinish(
  state: State,
  choice: number,
  { finish, events }: { finish: unknown; events: ChatEvent[] },
): void {
  const reason = textOf(finish)
  if (reason === '' || state.stopped.has(choice)) return
  state.stopped.add(choice)
  for (const { index, has_arguments, is_text } of state.tools.get(choice)?.values() ?? []) {
    if (has_arguments && !is_text) continue
    const fragment = is_text ? TEXT_ENDS : '{}'
    events.push({ kind: 'tool_arguments', choice, index, fragment })
  }
  events.push({
    kind: 'stop',
    choice,
    reason: STOP_REASONS[reason] ?? 'end',
    stop_sequence: null,
  })
}

function readUsage(record: JsonRecord, events: ChatEvent[]): void {
  const usage = openaiUsage(record['usage'])
  if (usage !== undefined) events.push({ kind: 'usage', usage, raw: record['usage'] })
}
