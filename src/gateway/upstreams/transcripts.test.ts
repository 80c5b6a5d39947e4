// Golden transcripts, written by hand from the providers' documentation: their records on the left,
// our events on the right.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent } from '../dialects/chat-types.ts'
import { createAnthropicReader } from './anthropic/frames.ts'
import type { FrameReader } from './exchange.ts'
import { createGoogleReader } from './google/frames.ts'
import { createOpenaiReader } from './openai/frames.ts'
import { createToolNames } from './tool-names.ts'

const names = createToolNames({ pattern: /./, max_length: 64 })
const NONE = {
  input_tokens: 0,
  cache_read_tokens: 0,
  cache_write_5m_tokens: 0,
  cache_write_1h_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
}

function replay(reader: FrameReader, records: readonly object[]): ChatEvent[] {
  const events = records.flatMap((record) => {
    const data = JSON.stringify(record)
    const found = reader.recognise?.(data) ?? reader.readChunk({ ...record }, data)
    reader.check?.()
    return found
  })
  reader.checkEnd()
  return events
}

const chunk = (choices: readonly object[], more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-4o-2024-08-06',
  choices,
  usage: null,
  ...more,
})
const delta = (change: object, finish_reason: string | null = null, index = 0) =>
  chunk([{ index, delta: change, logprobs: null, finish_reason }])

test('OpenAI: text, two interleaved tool calls, finish, usage', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 30,
    total_tokens: 130,
    prompt_tokens_details: { cached_tokens: 64 },
    completion_tokens_details: { reasoning_tokens: 10 },
  }
  const call = (index: number, id: string) => ({
    tool_calls: [{ index, id, type: 'function', function: { name: 'look', arguments: '' } }],
  })
  const more = (index: number, text: string) => ({
    tool_calls: [{ index, function: { arguments: text } }],
  })
  const records = [
    delta({ role: 'assistant', content: '', refusal: null }),
    delta({ content: 'Let' }),
    delta({ content: ' me' }),
    delta(call(0, 'call_a')),
    delta(more(0, '{"a"')),
    delta(call(1, 'call_b')),
    delta(more(0, ':1}')),
    delta({}, 'tool_calls'),
    chunk([], { usage }),
  ]
  const call_event = { kind: 'tool_call', choice: 0, name: 'look' } as const
  assert.deepEqual(replay(createOpenaiReader(names), records), [
    { kind: 'start', id: 'chatcmpl-1' },
    { kind: 'text', choice: 0, text: 'Let' },
    { kind: 'text', choice: 0, text: ' me' },
    { ...call_event, index: 0, id: 'call_a' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"a"' },
    { ...call_event, index: 1, id: 'call_b' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: ':1}' },
    { kind: 'tool_arguments', choice: 0, index: 1, fragment: '{}' },
    { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
    {
      kind: 'usage',
      raw: usage,
      usage: {
        ...NONE,
        input_tokens: 36,
        cache_read_tokens: 64,
        output_tokens: 30,
        reasoning_tokens: 10,
      },
    },
  ])
})

test('OpenAI: several answers each have their own finish, and one that lacks it is cut off', () => {
  const records = [delta({ content: 'a' }), delta({ content: 'b' }, null, 1), delta({}, 'length')]
  assert.throws(() => replay(createOpenaiReader(names), records), { code: 'provider_unavailable' })
  const whole = [...records, delta({}, 'content_filter', 1)]
  const stops = replay(createOpenaiReader(names), whole).filter((event) => event.kind === 'stop')
  assert.deepEqual(
    stops.map(({ choice, reason }) => [choice, reason]),
    [
      [0, 'length'],
      [1, 'content_filter'],
    ],
  )
})

test('OpenAI: an answer that is not streamed has the same events', () => {
  const body = {
    id: 'chatcmpl-2',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: null,
          refusal: 'No.',
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'look', arguments: '' } },
            { id: 'd', type: 'custom', custom: { name: 'run', input: 'ls' } },
          ],
        },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
  }
  const events = createOpenaiReader(names).readWhole(body)
  assert.deepEqual(
    events.map((event) => event.kind),
    [
      'start',
      'refusal',
      'tool_call',
      'tool_call',
      'tool_arguments',
      'tool_arguments',
      'tool_arguments',
      'tool_arguments',
      'stop',
      'usage',
    ],
  )
})

test('OpenAI: what a tool of free text is given is one member of JSON, however it comes', () => {
  const input = 'say "hi" \\ 😀\n'
  const head = { index: 0, id: 'c', type: 'custom', custom: { name: 'run', input: '' } }
  const pieces = [...Array(input.length).keys()].map((at) => input.slice(at, at + 1))
  const calls = [head, ...pieces.map((piece) => ({ index: 0, custom: { input: piece } }))]
  const reader = createOpenaiReader(names)
  const events = calls.flatMap((call) => {
    const chunk = { id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] }
    return reader.readChunk(chunk, JSON.stringify(chunk))
  })
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }
  events.push(...reader.readChunk(end, JSON.stringify(end)))
  const json = events.map((event) => (event.kind === 'tool_arguments' ? event.fragment : ''))
  assert.deepEqual(JSON.parse(json.join('')), { input })
})

const message_start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [],
    usage: {
      input_tokens: 3,
      cache_creation_input_tokens: 12_304,
      cache_read_input_tokens: 0,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 12_004 },
      output_tokens: 1,
    },
  },
}
const start = (index: number, content_block: object) => ({
  type: 'content_block_start',
  index,
  content_block,
})
const change = (index: number, update: object) => ({
  type: 'content_block_delta',
  index,
  delta: update,
})
const stop = (index: number) => ({ type: 'content_block_stop', index })
const end = (stop_reason: string, usage: object = { output_tokens: 550 }) => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
  { type: 'message_stop' },
]

test('Anthropic: thinking, text and tools; usage from the start is overwritten at the end', () => {
  const tool = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
  const records = [
    message_start,
    start(0, { type: 'thinking', thinking: '', signature: '' }),
    change(0, { type: 'thinking_delta', thinking: 'Hm.' }),
    change(0, { type: 'signature_delta', signature: 'c2ln' }),
    stop(0),
    { type: 'ping' },
    start(1, { type: 'redacted_thinking', data: 'xxx' }),
    stop(1),
    start(2, { type: 'text', text: '' }),
    change(2, { type: 'text_delta', text: 'Let me see.' }),
    stop(2),
    start(3, tool('toolu_a')),
    change(3, { type: 'input_json_delta', partial_json: '' }),
    stop(3),
    start(4, tool('toolu_b')),
    change(4, { type: 'input_json_delta', partial_json: '{"a":' }),
    change(4, { type: 'input_json_delta', partial_json: '1}' }),
    stop(4),
    { type: 'an_event_of_the_future' },
    ...end('tool_use', { output_tokens: 550, cache_read_input_tokens: null }),
  ]
  const input = {
    ...NONE,
    input_tokens: 3,
    cache_write_5m_tokens: 300,
    cache_write_1h_tokens: 12_004,
  }
  const events = replay(createAnthropicReader({ names, json_tool: undefined }), records)
  const plain = events.map((event) => (event.kind === 'usage' ? event.usage : event))
  assert.deepEqual(plain, [
    { kind: 'start', id: 'msg_1' },
    { ...input, output_tokens: 1 },
    { kind: 'thinking', text: 'Hm.' },
    { kind: 'thinking_signature', signature: 'c2ln' },
    { kind: 'redacted_thinking', data: 'xxx' },
    { kind: 'text', choice: 0, text: 'Let me see.' },
    { kind: 'tool_call', choice: 0, index: 0, id: 'toolu_a', name: 'look' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{}' },
    { kind: 'tool_call', choice: 0, index: 1, id: 'toolu_b', name: 'look' },
    { kind: 'tool_arguments', choice: 0, index: 1, fragment: '{"a":' },
    { kind: 'tool_arguments', choice: 0, index: 1, fragment: '1}' },
    { ...input, output_tokens: 550 },
    { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  ])
})

test('Anthropic: the tool that holds the answer is unwrapped, beside real ones too', () => {
  const json = [
    start(0, { type: 'tool_use', id: 'toolu_j', name: 'city', input: {} }),
    change(0, { type: 'input_json_delta', partial_json: '{"a":1}' }),
    stop(0),
  ]
  const real = [start(1, { type: 'tool_use', id: 'toolu_r', name: 'look', input: {} }), stop(1)]
  const read = (records: readonly object[]) =>
    replay(createAnthropicReader({ names, json_tool: 'city' }), [
      message_start,
      ...records,
      ...end('tool_use'),
    ]).filter((event) => event.kind !== 'usage' && event.kind !== 'start')
  const text = { kind: 'text', choice: 0, text: '{"a":1}' }
  const stopped = { kind: 'stop', choice: 0, stop_sequence: null }
  assert.deepEqual(read(json), [text, { ...stopped, reason: 'end' }])
  assert.deepEqual(read([...json, ...real]), [
    text,
    { kind: 'tool_call', choice: 0, index: 0, id: 'toolu_r', name: 'look' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{}' },
    { ...stopped, reason: 'tool_calls' },
  ])
})

test('Anthropic: each stop reason, and none at all', () => {
  const reasons = {
    end_turn: 'end',
    pause_turn: 'end',
    stop_sequence: 'stop_sequence',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    refusal: 'content_filter',
  }
  const content = [start(0, { type: 'text', text: 'x' }), stop(0)]
  for (const [said, reason] of Object.entries(reasons)) {
    const reader = createAnthropicReader({ names, json_tool: undefined })
    const events = replay(reader, [message_start, ...content, ...end(said)])
    assert.equal(events.findLast((event) => event.kind === 'stop')?.reason, reason)
  }
  const reader = () => createAnthropicReader({ names, json_tool: undefined })
  assert.throws(() => replay(reader(), [message_start, ...content]), {
    code: 'provider_unavailable',
  })
  const stop_details = { type: 'refusal', category: 'bio', explanation: null }
  const declined = { content: [], stop_reason: 'refusal', stop_details }
  const whole = reader().readWhole({ id: 'msg_1', ...declined })
  assert.deepEqual(whole.at(-1), {
    kind: 'stop',
    choice: 0,
    reason: 'content_filter',
    stop_sequence: null,
    details: stop_details,
  })
  const refused = replay(reader(), [message_start, ...end('refusal')])
  assert.equal(refused.findLast((event) => event.kind === 'stop')?.reason, 'content_filter')
  assert.ok(refused.some((event) => event.kind === 'usage'))
})

test('Google: thoughts, text, a call without an id; the last usage wins', () => {
  const response = (parts: readonly object[], usageMetadata: object, more: object = {}) => ({
    candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
    usageMetadata,
    modelVersion: 'gemini-2.5-pro',
    responseId: 'resp_1',
  })
  const prompt = { promptTokenCount: 100, cachedContentTokenCount: 40 }
  const records = [
    response([{ text: 'Hm.', thought: true }], { ...prompt, totalTokenCount: 120 }),
    response([{ text: 'Let' }, { text: ' me' }], { ...prompt, candidatesTokenCount: 2 }),
    response(
      [{ functionCall: { name: 'look', args: { a: 1 } }, thoughtSignature: 'sig' }],
      {
        ...prompt,
        candidatesTokenCount: 9,
        thoughtsTokenCount: 20,
        totalTokenCount: 129,
      },
      { finishReason: 'STOP' },
    ),
  ]
  const events = replay(createGoogleReader(names), records)
  const call = events.find((event) => event.kind === 'tool_call')
  assert.match(call?.id ?? '', /^call_[0-9a-f]{24}$/)
  assert.equal(call?.signature, 'sig')
  assert.deepEqual(events.findLast((event) => event.kind === 'usage')?.usage, {
    ...NONE,
    input_tokens: 60,
    cache_read_tokens: 40,
    output_tokens: 29,
    reasoning_tokens: 20,
  })
  assert.deepEqual(
    events.filter((event) => event.kind !== 'usage').map((event) => event.kind),
    ['start', 'thinking', 'text', 'text', 'tool_call', 'tool_arguments', 'stop'],
  )
  assert.equal(events.findLast((event) => event.kind === 'stop')?.reason, 'tool_calls')
})

test('Google: each finish reason, with something produced and with nothing', () => {
  const cases: readonly [string, string, string][] = [
    ['STOP', 'end', 'end'],
    ['MAX_TOKENS', 'length', 'length'],
    ['SAFETY', 'content_filter', 'content_filtered'],
    ['RECITATION', 'content_filter', 'content_filtered'],
    ['IMAGE_SAFETY', 'content_filter', 'content_filtered'],
    ['OTHER', 'end', 'content_filtered'],
    ['MALFORMED_FUNCTION_CALL', 'end', 'upstream_error'],
    ['MISSING_THOUGHT_SIGNATURE', 'end', 'upstream_error'],
    ['MODEL_ARMOR', 'content_filter', 'content_filtered'],
    ['A_REASON_OF_THE_FUTURE', 'end', 'content_filtered'],
  ]
  const read = (parts: readonly object[], finishReason: string) =>
    replay(createGoogleReader(names), [{ candidates: [{ content: { parts }, finishReason }] }])
  const reasonOf = (events: readonly ChatEvent[]) =>
    events.findLast((event) => event.kind === 'stop')?.reason
  for (const [finish, full, empty] of cases) {
    assert.equal(reasonOf(read([{ text: 'x' }], finish)), full)
    if (empty === 'content_filtered') {
      assert.throws(() => read([], finish), { code: empty, provider_code: finish })
    } else if (empty.includes('_')) assert.throws(() => read([], finish), { code: empty })
    else assert.equal(reasonOf(read([], finish)), empty)
  }
})

test('Google: a blocked prompt is content_filtered, and its usage is told first', () => {
  const reader = createGoogleReader(names)
  const blocked = {
    promptFeedback: { blockReason: 'SAFETY' },
    usageMetadata: { promptTokenCount: 8, totalTokenCount: 8 },
  }
  const events = reader.readChunk(blocked, JSON.stringify(blocked))
  assert.equal(events.find((event) => event.kind === 'usage')?.usage.input_tokens, 8)
  assert.throws(() => reader.check?.(), { code: 'content_filtered', provider_code: 'SAFETY' })
})
