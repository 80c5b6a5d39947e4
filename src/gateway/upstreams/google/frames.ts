// Responses of generateContent, whole or in a row, as neutral events. A stream has no end mark: the
// body just ends, and the finish reason says whether the answer did.

import { randomBytes } from 'node:crypto'
import type { ApiError } from '../../../platform/errors.ts'
import type { ChatEvent, StopReason } from '../../dialects/chat-types.ts'
import { endedEarly, filtered, senseless } from '../error-mapping.ts'
import type { FrameReader } from '../exchange.ts'
import { type JsonRecord, listOf, recordOf, textOf } from '../json-values.ts'
import type { ToolNames } from '../tool-names.ts'
import { googleUsage } from './usage.ts'

const FILTERS = [
  'SAFETY',
  'RECITATION',
  'LANGUAGE',
  'BLOCKLIST',
  'PROHIBITED_CONTENT',
  'SPII',
  'NO_IMAGE',
  'MODEL_ARMOR',
]
/** The model's own failures. */
const BROKEN = [
  'MALFORMED_FUNCTION_CALL',
  'MALFORMED_RESPONSE',
  'MISSING_THOUGHT_SIGNATURE',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
]

type State = {
  names: ToolNames
  started: boolean
  tool_calls: number
  produced: boolean
  stopped: boolean
  failure: ApiError | undefined
}

export function createGoogleReader(names: ToolNames): FrameReader {
  const state: State = {
    names,
    started: false,
    tool_calls: 0,
    produced: false,
    stopped: false,
    failure: undefined,
  }
  return {
    readChunk: (response) => readResponse(state, response),
    readWhole: (response) => readResponse(state, response),
    check() {
      if (state.failure !== undefined) throw state.failure
    },
    checkEnd() {
      if (!state.stopped) throw endedEarly('google')
    },
  }
}

function readResponse(state: State, response: JsonRecord): ChatEvent[] {
  const events: ChatEvent[] = []
  const known = ['candidates', 'promptFeedback', 'usageMetadata'].some((name) => name in response)
  if (!known) throw senseless('google', 'a response holds nothing known')
  if (!state.started) events.push({ kind: 'start', id: textOf(response['responseId']) })
  state.started = true
  const candidate = recordOf(listOf(response['candidates'])[0])
  for (const part of listOf(recordOf(candidate['content'])['parts'])) {
    events.push(...readPart(state, recordOf(part)))
  }
  const usage = googleUsage(response['usageMetadata'])
  if (usage !== undefined) events.push({ kind: 'usage', usage, raw: response['usageMetadata'] })
  const blocked = textOf(recordOf(response['promptFeedback'])['blockReason'])
  if (blocked !== '' && !state.produced) {
    state.failure = filtered('google', `the prompt was blocked: ${blocked}`, blocked)
  }
  events.push(...readFinish(state, textOf(candidate['finishReason'])))
  return events
}

function readPart(state: State, part: JsonRecord): ChatEvent[] {
  const signature = textOf(part['thoughtSignature'])
  const called = part['functionCall']
  if (called !== undefined) return readCall(state, recordOf(called), signature)
  const events: ChatEvent[] = []
  const text = textOf(part['text'])
  if (text !== '' && part['thought'] === true) events.push({ kind: 'thinking', text })
  else if (text !== '') {
    state.produced = true
    events.push({ kind: 'text', choice: 0, text })
  }
  // A stream often ends with a part that has nothing else.
  if (signature !== '') events.push({ kind: 'text_signature', choice: 0, signature })
  return events
}

/** Calls arrive whole. Most models give them no id, so they get one. */
function readCall(state: State, call: JsonRecord, signature: string): ChatEvent[] {
  const index = state.tool_calls
  state.tool_calls += 1
  state.produced = true
  const given_id = textOf(call['id'])
  const id = given_id === '' ? `call_${randomBytes(12).toString('hex')}` : given_id
  const name = state.names.toClient(textOf(call['name']))
  return [
    {
      kind: 'tool_call',
      choice: 0,
      index,
      id,
      name,
      ...(signature !== '' && { signature }),
    },
    {
      kind: 'tool_arguments',
      choice: 0,
      index,
      fragment: JSON.stringify(recordOf(call['args'])),
    },
  ]
}

function readFinish(state: State, finish: string): ChatEvent[] {
  if (finish === '' || finish === 'FINISH_REASON_UNSPECIFIED' || state.stopped) return []
  state.stopped = true
  if (!state.produced && BROKEN.includes(finish)) {
    state.failure = senseless('google', `nothing but ${finish}`)
    return []
  }
  const reason = stopReason(state, finish)
  if (!state.produced && reason === 'content_filter') {
    state.failure = filtered('google', `nothing but ${finish}`, finish)
    return []
  }
  return [{ kind: 'stop', choice: 0, reason, stop_sequence: null }]
}

/** STOP is said after function calls, too. Nobody should pay for an empty answer that ended for a reason unheard of. */
function stopReason({ tool_calls, produced }: State, finish: string): StopReason {
  if (finish === 'MAX_TOKENS') return 'length'
  if (FILTERS.includes(finish) || finish.startsWith('IMAGE_')) return 'content_filter'
  if (finish !== 'STOP' && !produced) return 'content_filter'
  return tool_calls > 0 ? 'tool_calls' : 'end'
}
