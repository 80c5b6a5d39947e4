// Events and bodies of the Responses API, read into neutral words.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../platform/errors.ts'
import type { ChatEvent } from '../../dialects/chat-types.ts'
import { readReasoning } from '../../dialects/openai-reasoning.ts'
import type { JsonRecord } from '../json-values.ts'
import { names } from '../test-body.ts'
import { createResponsesReader } from './frames.ts'

const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 30, cache_write_tokens: 20 },
  output_tokens: 40,
  output_tokens_details: { reasoning_tokens: 10 },
  total_tokens: 140,
}
const REASONING = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [
    { type: 'summary_text', text: 'First.' },
    { type: 'summary_text', text: 'Then.' },
  ],
  encrypted_content: 'gAAA',
}
const text = (words: string) => ({ type: 'output_text', text: words, annotations: [] })
const MESSAGE = { id: 'msg_1', type: 'message', role: 'assistant', content: [text('Hello there.')] }
const CALL = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_1',
  name: 'look',
  arguments: '{"a":1}',
}
const CUSTOM = {
  id: 'ctc_1',
  type: 'custom_tool_call',
  call_id: 'call_2',
  name: 'run',
  input: 'ls "x"',
}
const OUTPUT = [REASONING, MESSAGE, CALL, CUSTOM]
const RESPONSE = { id: 'resp_1', status: 'completed', error: null, output: OUTPUT, usage: USAGE }

const reader = () => createResponsesReader(names(), 'gpt-5.6-sol')
const whole = (body: JsonRecord) => reader().readWhole(body)

function stream(events: readonly JsonRecord[]): ChatEvent[] {
  const reading = reader()
  const read = events.flatMap((event) => reading.readChunk(event, JSON.stringify(event)))
  reading.checkEnd()
  return read
}

/** Pieces of one kind in a row are one. */
function merged(events: readonly ChatEvent[]): ChatEvent[] {
  const list: ChatEvent[] = []
  for (const event of events) {
    const last = list.at(-1)
    if (event.kind === 'text' && last?.kind === 'text') last.text += event.text
    else if (event.kind === 'thinking' && last?.kind === 'thinking') last.text += event.text
    else if (
      event.kind === 'tool_arguments' &&
      last?.kind === 'tool_arguments' &&
      last.index === event.index
    ) {
      last.fragment += event.fragment
    } else list.push({ ...event })
  }
  return list
}

const EXPECTED: ChatEvent[] = [
  { kind: 'start', id: 'resp_1' },
  { kind: 'thinking', text: 'First.\n\nThen.' },
  { kind: 'thinking_signature', signature: 'openai.reasoning:rs_1:gAAA:gpt-5.6-sol' },
  { kind: 'text', choice: 0, text: 'Hello there.' },
  { kind: 'tool_call', choice: 0, index: 0, id: 'call_1', name: 'look' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"a":1}' },
  { kind: 'tool_call', choice: 0, index: 1, id: 'call_2', name: 'run' },
  { kind: 'tool_arguments', choice: 0, index: 1, fragment: '{"input":"ls \\"x\\""}' },
  { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  {
    kind: 'usage',
    usage: {
      input_tokens: 50,
      cache_read_tokens: 30,
      cache_write_5m_tokens: 20,
      cache_write_1h_tokens: 0,
      output_tokens: 40,
      reasoning_tokens: 10,
    },
    raw: USAGE,
  },
]

const EVENTS: JsonRecord[] = [
  { type: 'response.created', response: { ...RESPONSE, status: 'in_progress', output: [] } },
  { type: 'response.in_progress', response: { ...RESPONSE, status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { ...REASONING, summary: [] } },
  {
    type: 'response.reasoning_summary_text.delta',
    output_index: 0,
    summary_index: 0,
    delta: 'First.',
  },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 1, delta: 'Th' },
  {
    type: 'response.reasoning_summary_text.delta',
    output_index: 0,
    summary_index: 1,
    delta: 'en.',
  },
  { type: 'response.output_item.done', output_index: 0, item: REASONING },
  { type: 'response.output_item.added', output_index: 1, item: { ...MESSAGE, content: [] } },
  { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hello ' },
  { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'there.' },
  { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'Hello there.' },
  { type: 'response.output_item.done', output_index: 1, item: MESSAGE },
  { type: 'response.output_item.added', output_index: 2, item: { ...CALL, arguments: '' } },
  { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a"' },
  { type: 'response.function_call_arguments.delta', output_index: 2, delta: ':1}' },
  { type: 'response.output_item.done', output_index: 2, item: CALL },
  { type: 'response.output_item.added', output_index: 3, item: { ...CUSTOM, input: '' } },
  { type: 'response.custom_tool_call_input.delta', output_index: 3, delta: 'ls ' },
  { type: 'response.custom_tool_call_input.delta', output_index: 3, delta: '"x"' },
  { type: 'response.output_item.done', output_index: 3, item: CUSTOM },
  { type: 'response.something_new', output_index: 3 },
  { type: 'response.completed', response: RESPONSE },
]

test('a response says the same whole and in events, and whatever events are missing', () => {
  assert.deepEqual(merged(whole(RESPONSE)), EXPECTED)
  assert.deepEqual(merged(stream(EVENTS)), EXPECTED)
  const done = EVENTS.filter(({ type }) => !String(type).includes('delta'))
  assert.deepEqual(merged(stream(done)), EXPECTED)
  assert.deepEqual(merged(stream(EVENTS.slice(-1))), EXPECTED)
})

test('calls that are written at the same time do not mix', () => {
  const other = { ...CALL, call_id: 'call_9', name: 'find', arguments: '{"b":2}' }
  const events = stream([
    { type: 'response.output_item.added', output_index: 0, item: { ...CALL, arguments: '' } },
    { type: 'response.output_item.added', output_index: 1, item: { ...other, arguments: '' } },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"b"' },
    { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a"' },
    { type: 'response.function_call_arguments.delta', output_index: 1, delta: ':2}' },
    { type: 'response.function_call_arguments.delta', output_index: 0, delta: ':1}' },
    { type: 'response.completed', response: { ...RESPONSE, output: [CALL, other] } },
  ])
  const written = (index: number) =>
    events
      .flatMap((event) =>
        event.kind === 'tool_arguments' && event.index === index ? [event.fragment] : [],
      )
      .join('')
  assert.deepEqual([written(0), written(1)], ['{"a":1}', '{"b":2}'])
})

test('a call without arguments has an empty object of them', () => {
  const events = whole({ ...RESPONSE, output: [{ ...CALL, arguments: '' }] })
  assert.ok(events.some((event) => event.kind === 'tool_arguments' && event.fragment === '{}'))
})

test('each end has its reason', () => {
  const stopOf = (fields: JsonRecord) =>
    whole({ ...RESPONSE, output: [MESSAGE], ...fields }).find((event) => event.kind === 'stop')
  const incomplete = (reason: string) => ({ status: 'incomplete', incomplete_details: { reason } })
  assert.equal(stopOf({})?.reason, 'end')
  assert.equal(stopOf({ output: [CALL] })?.reason, 'tool_calls')
  assert.equal(stopOf(incomplete('max_output_tokens'))?.reason, 'length')
  assert.equal(stopOf(incomplete('content_filter'))?.reason, 'content_filter')
  const refusal = { ...MESSAGE, content: [{ type: 'refusal', refusal: 'No.' }] }
  const events = whole({ ...RESPONSE, output: [refusal] })
  assert.deepEqual(events[1], { kind: 'refusal', choice: 0, text: 'No.' })
})

test('a failure in mid-stream has our code, in each of the forms it comes in', () => {
  const failed = (error: unknown) => ({
    type: 'response.failed',
    response: { ...RESPONSE, status: 'failed', error },
  })
  const cases: [JsonRecord, string][] = [
    [failed({ code: 'server_error', message: 'm' }), 'provider_unavailable'],
    [failed({ code: 'rate_limit_exceeded', message: 'm' }), 'provider_rate_limited'],
    [failed({ code: 'invalid_prompt', message: 'm' }), 'content_filtered'],
    [failed({ code: 'bio_policy', message: 'm' }), 'content_filtered'],
    [failed({ code: 'invalid_image', message: 'm' }), 'bad_request'],
    [failed(null), 'provider_unavailable'],
    [{ type: 'error', code: 'server_error', message: 'm', param: null }, 'provider_unavailable'],
    [{ type: 'error', code: 'context_length_exceeded', message: 'm' }, 'bad_request'],
    [{ type: 'error', error: { type: 'insufficient_quota', code: 'x' } }, 'provider_misconfigured'],
    [{ no: 'type' }, 'upstream_error'],
    [{ type: 'response.completed', response: { status: 'completed' } }, 'upstream_error'],
    [{ type: 'response.completed', response: { ...RESPONSE, status: 'queued' } }, 'upstream_error'],
  ]
  for (const [event, code] of cases) {
    assert.throws(
      () => reader().readChunk(event, ''),
      (error) => error instanceof ApiError && error.code === code,
      JSON.stringify(event),
    )
  }
})

test('a stream without its last event was cut', () => {
  assert.throws(() => stream(EVENTS.slice(0, -1)), /not available/)
})

test('reasoning that could not be read back is not signed', () => {
  const events = whole({ ...RESPONSE, output: [{ ...REASONING, encrypted_content: 'a:b' }] })
  assert.equal(
    events.some((event) => event.kind === 'thinking_signature'),
    false,
  )
  assert.deepEqual(readReasoning('openai.reasoning:rs_1:gAAA:ft:gpt-5:x'), {
    id: 'rs_1',
    encrypted_content: 'gAAA',
    upstream_id: 'ft:gpt-5:x',
  })
})
