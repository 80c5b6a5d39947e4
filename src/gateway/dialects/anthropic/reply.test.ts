import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatEvent, StopReason } from '../chat-types.ts'
import type { SvcNumbers } from '../dialect.ts'
import { anthropicDialect } from './dialect.ts'

const created = new Date('2026-11-15T12:00:00.900Z')
const options = { call_id: 'call', model: 'gpt-5', created }
const svc: SvcNumbers = {
  credits_used: 10n,
  balance_before: 100n,
  balance_after: 90n,
  billing_mode: 'developer',
}
const usage = {
  input_tokens: 3,
  cache_read_tokens: 20,
  cache_write_5m_tokens: 300,
  cache_write_1h_tokens: 4000,
  output_tokens: 550,
  reasoning_tokens: 50,
}

const EVENTS: ChatEvent[] = [
  { kind: 'start', id: 'chatcmpl-1' },
  { kind: 'thinking', text: 'Two ' },
  { kind: 'thinking', text: 'tools.' },
  { kind: 'thinking_signature', signature: 'sig' },
  { kind: 'redacted_thinking', data: 'opaque' },
  { kind: 'text', choice: 0, text: 'Let me see.' },
  { kind: 'tool_call', choice: 0, index: 0, id: 'call_1', name: 'weather' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"city":' },
  { kind: 'tool_call', choice: 0, index: 1, id: 'call_2', name: 'now' },
  { kind: 'tool_arguments', choice: 0, index: 1, fragment: '{' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '"Rome"}' },
  { kind: 'tool_arguments', choice: 0, index: 1, fragment: '}' },
  { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  { kind: 'usage', usage, raw: {} },
]

test('a whole answer has the body Anthropic documents, and our numbers', () => {
  assert.equal(
    anthropicDialect.formatReply({ ...options, events: EVENTS, svc }),
    '{"id":"chatcmpl-1","type":"message","role":"assistant","model":"gpt-5","content":[{"type":"thinking","thinking":"Two tools.","signature":"sig"},{"type":"redacted_thinking","data":"opaque"},{"type":"text","text":"Let me see."},{"type":"tool_use","id":"call_1","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"call_2","name":"now","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"cache_creation_input_tokens":4300,"cache_read_input_tokens":20,"output_tokens":550,"output_tokens_details":{"thinking_tokens":50},"cache_creation":{"ephemeral_5m_input_tokens":300,"ephemeral_1h_input_tokens":4000}},"svc":{"credits_used":10,"balance_before":100,"balance_after":90,"billing_mode":"developer"}}',
  )
})

test('stop reasons are Anthropic’s words, and a refusal in words is a refusal', () => {
  const stop = (reason: StopReason, refused = false) => {
    const events: ChatEvent[] = [
      { kind: refused ? 'refusal' : 'text', choice: 0, text: 'x' },
      { kind: 'stop', choice: 0, reason, stop_sequence: reason === 'stop_sequence' ? 'END' : null },
    ]
    const whole = JSON.parse(anthropicDialect.formatReply({ ...options, events, svc }))
    const stream = anthropicDialect.openStream({ ...options, include_usage: true })
    const text = events.map((event) => stream.write(event)).join('') + stream.finish(svc)
    const told = JSON.stringify({
      stop_reason: whole.stop_reason,
      stop_sequence: whole.stop_sequence,
    })
    assert.ok(text.includes(`"delta":${told}`))
    return whole.stop_reason
  }
  assert.equal(stop('end'), 'end_turn')
  assert.equal(stop('length'), 'max_tokens')
  assert.equal(stop('stop_sequence'), 'stop_sequence')
  assert.equal(stop('tool_calls'), 'tool_use')
  assert.equal(stop('content_filter'), 'refusal')
  assert.equal(stop('end', true), 'refusal')
})

test('arguments that were cut off give an empty input, not a broken reply', () => {
  const events: ChatEvent[] = [
    { kind: 'tool_call', choice: 0, index: 0, id: 'a', name: 'f' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"a":' },
    { kind: 'stop', choice: 0, reason: 'length', stop_sequence: null },
  ]
  const reply = JSON.parse(anthropicDialect.formatReply({ ...options, events, svc }))
  assert.deepEqual(reply.content, [{ type: 'tool_use', id: 'a', name: 'f', input: {} }])
})

const event = (json: string) => {
  const name = /^\{"type":"([a-z_]+)"/.exec(json)?.[1]
  return `event: ${name}\ndata: ${json}\n\n`
}
const END = `event: message_stop\ndata: {"type":"message_stop"}\n\nevent: svc_usage\ndata: {"type":"ping","credits_used":10,"balance_before":100,"balance_after":90}\n\n`

test('a translated stream begins with the estimate of its prompt and ends with the true figure', () => {
  const stream = anthropicDialect.openStream({
    ...options,
    include_usage: true,
    estimatePrompt: () => 41,
  })
  const text = EVENTS.map((next) => stream.write(next)).join('') + stream.finish(svc)
  const told = [...text.matchAll(/"input_tokens":(\d+)/g)].map((match) => match[1])
  assert.deepEqual(told, ['41', '3'])
})

test('a translated stream is event for event what Anthropic documents', () => {
  const stream = anthropicDialect.openStream({ ...options, include_usage: true })
  const [first, ...rest] = EVENTS
  assert.ok(first)
  assert.equal(
    stream.write(first),
    event(
      '{"type":"message_start","message":{"id":"chatcmpl-1","type":"message","role":"assistant","model":"gpt-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}',
    ),
  )
  assert.equal(stream.keepAlive(), event('{"type":"ping"}'))
  const start = (index: number, block: string) =>
    event(`{"type":"content_block_start","index":${index},"content_block":${block}}`)
  const delta = (index: number, json: string) =>
    event(`{"type":"content_block_delta","index":${index},"delta":${json}}`)
  const stop = (index: number) => event(`{"type":"content_block_stop","index":${index}}`)
  assert.equal(
    rest.map((next) => stream.write(next)).join('') + stream.finish(svc),
    [
      start(0, '{"type":"thinking","thinking":"","signature":""}'),
      delta(0, '{"type":"thinking_delta","thinking":"Two "}'),
      delta(0, '{"type":"thinking_delta","thinking":"tools."}'),
      delta(0, '{"type":"signature_delta","signature":"sig"}'),
      stop(0),
      start(1, '{"type":"redacted_thinking","data":"opaque"}'),
      stop(1),
      start(2, '{"type":"text","text":""}'),
      delta(2, '{"type":"text_delta","text":"Let me see."}'),
      stop(2),
      start(3, '{"type":"tool_use","id":"call_1","name":"weather","input":{}}'),
      delta(3, '{"type":"input_json_delta","partial_json":"{\\"city\\":"}'),
      delta(3, '{"type":"input_json_delta","partial_json":"\\"Rome\\"}"}'),
      stop(3),
      start(4, '{"type":"tool_use","id":"call_2","name":"now","input":{}}'),
      delta(4, '{"type":"input_json_delta","partial_json":"{"}'),
      delta(4, '{"type":"input_json_delta","partial_json":"}"}'),
      stop(4),
      event(
        '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":3,"cache_creation_input_tokens":4300,"cache_read_input_tokens":20,"output_tokens":550,"output_tokens_details":{"thinking_tokens":50}}}',
      ),
      END,
    ].join(''),
  )
})

test('text after a whole tool call does not wait for the end', () => {
  const stream = anthropicDialect.openStream({ ...options, include_usage: true })
  stream.write({ kind: 'tool_call', choice: 0, index: 0, id: 'a', name: 'f' })
  stream.write({ kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"a":"}\\""}' })
  const text = stream.write({ kind: 'text', choice: 0, text: 'Now' })
  assert.match(text, /content_block_stop[^]*"index":1[^]*"text":"Now"/)
})

test('a relayed stream changes in nothing but the model name, and its end waits for settlement', () => {
  const stream = anthropicDialect.openStream({
    call_id: 'call',
    model: 'anthropic/x',
    created,
    include_usage: true,
  })
  const start = (model: string) =>
    `{"type":"message_start","message":{"id":"msg_1","x":{"model":"keep"},"model":"${model}","usage":{"input_tokens":25,"future":1.0}},"model":"keep"}`
  const relay = (data: string, name?: string) => stream.relay({ name, data })
  assert.equal(relay(start('claude-1'), 'message_start'), event(start('anthropic/x')))
  const untouched = [
    '{"type":"ping"}',
    '{"type":"content_block_start","index":0,"content_block":{"type":"future","model":"keep"}}',
    '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\"model\\":1"}}',
    '{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15}}',
  ]
  for (const data of untouched) {
    assert.equal(relay(data, /"type":"([a-z_]+)"/.exec(data)?.[1]), event(data))
    assert.equal(relay(data), event(data))
  }
  assert.equal(relay('{"type":"message_stop"}', 'message_stop'), '')
  assert.equal(relay('{"type":"message_stop"}'), '')
  assert.equal(stream.finish(svc), END)
})

test('a relayed answer gets the public name and our numbers, and an error is an event', () => {
  assert.equal(
    anthropicDialect.relayReply('{"id":"msg_1","model":"c","content":[],"new":null}', {
      ...options,
      events: [],
      model: 'a/c',
      svc,
    }),
    '{"id":"msg_1","model":"a/c","content":[],"new":null,"svc":{"credits_used":10,"balance_before":100,"balance_after":90,"billing_mode":"developer"}}',
  )
  const stream = anthropicDialect.openStream({ ...options, include_usage: true })
  assert.equal(stream.fail('{"type":"error"}'), 'event: error\ndata: {"type":"error"}\n\n')
})

test('a stream begins with our count of the prompt where the provider counts at the end', () => {
  const estimatePrompt = () => 77
  const stream = anthropicDialect.openStream({ ...options, include_usage: true, estimatePrompt })
  assert.match(stream.write({ kind: 'start', id: 'x' }), /"usage":\{"input_tokens":77,/)
  stream.write({ kind: 'usage', usage, raw: {} })
  assert.match(stream.finish(svc), /"usage":\{"input_tokens":3,/)
})

test('why Claude declined is told, whole and streamed', () => {
  const details = { type: 'refusal', category: 'cyber', explanation: null }
  const events: ChatEvent[] = [
    { kind: 'start', id: 'msg_1' },
    { kind: 'stop', choice: 0, reason: 'content_filter', stop_sequence: null, details },
  ]
  const whole = JSON.parse(anthropicDialect.formatReply({ ...options, events, svc }))
  assert.deepEqual([whole.stop_reason, whole.stop_details], ['refusal', details])
  const stream = anthropicDialect.openStream({ ...options, include_usage: true })
  const text = events.map((event) => stream.write(event)).join('') + stream.finish(svc)
  assert.ok(text.includes(JSON.stringify({ stop_details: details }).slice(1, -1)))
})
