import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../platform/errors.ts'
import type { ChatEvent } from '../chat-types.ts'
import type { SvcNumbers } from '../dialect.ts'
import { openAiDialect } from './dialect.ts'

const created = new Date('2026-11-15T12:00:00.900Z')
const options = { call_id: 'call', model: 'claude-sonnet-4', created }
const svc: SvcNumbers = {
  credits_used: 54_399n,
  balance_before: 9_007_199_254_740_991n,
  balance_after: 9_007_199_254_686_592n,
  billing_mode: 'user',
}
const usage = {
  input_tokens: 3,
  cache_read_tokens: 20,
  cache_write_5m_tokens: 300,
  cache_write_1h_tokens: 4000,
  output_tokens: 550,
  reasoning_tokens: 50,
}
const USAGE =
  '{"prompt_tokens":4323,"completion_tokens":550,"total_tokens":4873,"prompt_tokens_details":{"cached_tokens":20,"cache_write_tokens":4300},"completion_tokens_details":{"reasoning_tokens":50}}'

const EVENTS: ChatEvent[] = [
  { kind: 'start', id: 'msg_1' },
  { kind: 'usage', usage: { ...usage, output_tokens: 1 }, raw: {} },
  { kind: 'thinking', text: 'Two tools.' },
  { kind: 'thinking_signature', signature: 'sig' },
  { kind: 'redacted_thinking', data: 'opaque' },
  { kind: 'text', choice: 0, text: 'Let me ' },
  { kind: 'text', choice: 0, text: 'see "it".' },
  { kind: 'tool_call', choice: 0, index: 0, id: 'toolu_1', name: 'weather', signature: 'c2ln' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"city":' },
  { kind: 'tool_call', choice: 0, index: 1, id: 'toolu_2', name: 'now' },
  { kind: 'tool_arguments', choice: 0, index: 0, fragment: '"Rome"}' },
  { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  { kind: 'usage', usage, raw: {} },
]

test('a whole answer has the body OpenAI documents, and our numbers', () => {
  const reply = openAiDialect.formatReply({ ...options, events: EVENTS, svc })
  assert.equal(
    reply,
    `{"id":"msg_1","object":"chat.completion","created":1794744000,"model":"claude-sonnet-4","choices":[{"index":0,"message":{"role":"assistant","content":"Let me see \\"it\\".","refusal":null,"reasoning_content":"Two tools.","reasoning_details":[{"type":"reasoning.text","text":"Two tools.","signature":"sig","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"opaque","format":"anthropic-claude-v1","index":1}],"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"weather","arguments":"{\\"city\\":\\"Rome\\"}"},"extra_content":{"google":{"thought_signature":"c2ln"}}},{"id":"toolu_2","type":"function","function":{"name":"now","arguments":"{}"}}]},"logprobs":null,"finish_reason":"tool_calls"}],"usage":${USAGE},"svc":{"credits_used":54399,"balance_before":9007199254740991,"balance_after":9007199254686592,"billing_mode":"user"}}`,
  )
})

test('content is null where only tools or a refusal speak, and empty where nothing does', () => {
  const messageOf = (...events: ChatEvent[]) =>
    JSON.parse(openAiDialect.formatReply({ ...options, events, svc })).choices[0].message
  const call: ChatEvent = { kind: 'tool_call', choice: 0, index: 0, id: 'a', name: 'f' }
  assert.equal(messageOf(call).content, null)
  assert.deepEqual(messageOf({ kind: 'refusal', choice: 0, text: 'No.' }), {
    role: 'assistant',
    content: null,
    refusal: 'No.',
  })
  assert.deepEqual(messageOf(), { role: 'assistant', content: '', refusal: null })
})

const OLD = { function_call: true, free_text_tools: [], hides_thinking: true }

test('a client that offered functions is answered in their form, with one call and no thought', () => {
  const reply = openAiDialect.formatReply({ ...options, events: EVENTS, style: OLD, svc })
  const [choice] = JSON.parse(reply).choices
  assert.equal(choice.finish_reason, 'function_call')
  assert.deepEqual(choice.message, {
    role: 'assistant',
    content: 'Let me see "it".',
    refusal: null,
    function_call: { name: 'weather', arguments: '{"city":"Rome"}' },
  })
  const stream = openAiDialect.openStream({ ...options, include_usage: false, style: OLD })
  const deltas = deltasOf(EVENTS.map((event) => stream.write(event)).join('') + stream.finish(svc))
  assert.deepEqual(deltas, [
    { role: 'assistant', content: '', refusal: null },
    { content: 'Let me ' },
    { content: 'see "it".' },
    { function_call: { name: 'weather', arguments: '' } },
    { function_call: { arguments: '{"city":' } },
    { function_call: { arguments: '"Rome"}' } },
    {},
    'function_call',
  ])
})

test('a tool of free text is given text, also where the model wrote JSON', () => {
  const style = { function_call: false, free_text_tools: ['run'], hides_thinking: false }
  const events: ChatEvent[] = [
    { kind: 'start', id: 'msg_1' },
    { kind: 'tool_call', choice: 0, index: 0, id: 'c', name: 'run' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: '{"input":"ls' },
    { kind: 'tool_arguments', choice: 0, index: 0, fragment: ' \\"a\\""}' },
    { kind: 'stop', choice: 0, reason: 'tool_calls', stop_sequence: null },
  ]
  const [choice] = JSON.parse(openAiDialect.formatReply({ ...options, events, style, svc })).choices
  const call = { id: 'c', type: 'custom', custom: { name: 'run', input: 'ls "a"' } }
  assert.deepEqual(choice.message.tool_calls, [call])
  const stream = openAiDialect.openStream({ ...options, include_usage: false, style })
  const deltas = deltasOf(events.map((event) => stream.write(event)).join('') + stream.finish(svc))
  assert.deepEqual(deltas.slice(1), [
    { tool_calls: [{ ...call, index: 0, custom: { name: 'run', input: '' } }] },
    { tool_calls: [{ index: 0, custom: { input: 'ls "a"' } }] },
    {},
    'tool_calls',
  ])
})

/** Every delta, and how the first choice ended. */
function deltasOf(text: string): unknown[] {
  const choices = text
    .split('\n\n')
    .filter((record) => record.startsWith('data: {'))
    .flatMap((record) => JSON.parse(record.slice(6)).choices)
  return [...choices.map(({ delta }) => delta), choices.at(-1)?.finish_reason]
}

test('stop reasons are OpenAI’s words', () => {
  const finish = (reason: Extract<ChatEvent, { kind: 'stop' }>['reason']) => {
    const events: ChatEvent[] = [{ kind: 'stop', choice: 0, reason, stop_sequence: null }]
    return JSON.parse(openAiDialect.formatReply({ ...options, events, svc })).choices[0]
      .finish_reason
  }
  assert.equal(finish('end'), 'stop')
  assert.equal(finish('stop_sequence'), 'stop')
  assert.equal(finish('length'), 'length')
  assert.equal(finish('tool_calls'), 'tool_calls')
  assert.equal(finish('content_filter'), 'content_filter')
})

const HEAD =
  'data: {"id":"msg_1","object":"chat.completion.chunk","created":1794744000,"model":"claude-sonnet-4","choices":['
const TRAILER =
  'data: [DONE]\n\ndata: {"choices":[],"svc":{"credits_used":54399,"balance_before":9007199254740991,"balance_after":9007199254686592}}\n\n'

function transcript(include_usage: boolean): string {
  const stream = openAiDialect.openStream({ ...options, include_usage })
  return EVENTS.map((event) => stream.write(event)).join('') + stream.finish(svc)
}

function chunks(tail: string): string {
  const delta = (json: string, finish = 'null') =>
    `${HEAD}{"index":0,"delta":${json},"logprobs":null,"finish_reason":${finish}}]${tail}}\n\n`
  return [
    delta('{"role":"assistant","content":"","refusal":null}'),
    delta('{"reasoning_content":"Two tools."}'),
    delta(
      '{"reasoning_details":[{"type":"reasoning.text","text":"Two tools.","signature":"sig","format":"anthropic-claude-v1","index":0}]}',
    ),
    delta(
      '{"reasoning_details":[{"type":"reasoning.encrypted","data":"opaque","format":"anthropic-claude-v1","index":1}]}',
    ),
    delta('{"content":"Let me "}'),
    delta('{"content":"see \\"it\\"."}'),
    delta(
      '{"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"weather","arguments":""},"extra_content":{"google":{"thought_signature":"c2ln"}}}]}',
    ),
    delta('{"tool_calls":[{"index":0,"function":{"arguments":"{\\"city\\":"}}]}'),
    delta(
      '{"tool_calls":[{"index":1,"id":"toolu_2","type":"function","function":{"name":"now","arguments":""}}]}',
    ),
    delta('{"tool_calls":[{"index":0,"function":{"arguments":"\\"Rome\\"}"}}]}'),
    delta('{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}'),
    delta('{}', '"tool_calls"'),
  ].join('')
}

test('a translated stream is chunk for chunk what OpenAI documents', () => {
  assert.equal(transcript(false), chunks('') + TRAILER)
  assert.equal(
    transcript(true),
    `${chunks(',"usage":null')}${HEAD}],"usage":${USAGE}}\n\n${TRAILER}`,
  )
})

test('an error after the first byte is one record, and waiting is a comment', () => {
  const stream = openAiDialect.openStream({ ...options, include_usage: false })
  assert.equal(stream.fail('{"error":{"code":"x"}}'), 'data: {"error":{"code":"x"}}\n\n')
  assert.equal(stream.keepAlive(), ': keep-alive\n\n')
})

const chunk = (rest: string) =>
  `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"gpt-4o-2024-08-06","service_tier":"default","system_fingerprint":"fp",${rest}}`
const delta = (content: string) =>
  `"choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}},"logprobs":null,"finish_reason":null}]`
const renamed = (json: string) =>
  `data: ${json.replace('"gpt-4o-2024-08-06"', '"openai/gpt-4o"')}\n\n`

const HARD_WORDS = [
  'Hi',
  '"model":"x"',
  '\\","usage":null}',
  '"choices":[],"usage":{}',
  'é\n\u2028',
]

test('relayed chunks change in nothing but the model name when usage was asked for', () => {
  const stream = openAiDialect.openStream({
    call_id: 'call',
    model: 'openai/gpt-4o',
    created,
    include_usage: true,
  })
  for (const text of HARD_WORDS) {
    const data = chunk(`${delta(text)},"usage":null`)
    assert.equal(stream.relay({ name: undefined, data }), renamed(data))
  }
  const last = chunk(`"choices":[],"usage":{"prompt_tokens":1,"future":1.0e2}`)
  assert.equal(stream.relay({ name: undefined, data: last }), renamed(last))
  assert.equal(stream.relay({ name: undefined, data: '[DONE]' }), '')
  assert.equal(stream.finish(svc), TRAILER)
})

test('relayed chunks lose usage when it was not asked for, and the chunk that is nothing but usage', () => {
  const stream = openAiDialect.openStream({
    call_id: 'call',
    model: 'openai/gpt-4o',
    created,
    include_usage: false,
  })
  const relay = (data: string) => stream.relay({ name: undefined, data })
  for (const text of HARD_WORDS) {
    const without = renamed(chunk(delta(text)))
    assert.equal(relay(chunk(`${delta(text)},"usage":null`)), without)
    assert.equal(relay(chunk(`"usage":null,${delta(text)}`)), without)
    assert.equal(relay(chunk(`${delta(text)} , "usage": {"a":[{}]}`)).replace(' }', '}'), without)
    assert.equal(relay(chunk(delta(text))), without)
  }
  assert.equal(relay(chunk('"choices":[],"usage":{"prompt_tokens":1}')), '')
  assert.equal(relay(chunk('"choices": [ ],\n"usage": {"prompt_tokens":1}')), '')
  const filter = chunk('"choices":[],"prompt_filter_results":[]')
  assert.equal(relay(filter), renamed(filter))
  assert.equal(stream.finish(svc), TRAILER)
})

test('a relayed answer keeps unknown fields byte for byte', () => {
  const body =
    '{\n  "id": "chatcmpl-1", "nested": {"model": "keep"},\n  "model": "gpt-4o-2024-08-06", "big": 12345678901234567890, "x": 1.0,\n  "choices": [{"message": {"content": "\\"model\\":\\"y\\" }"}}]\n}\n'
  assert.equal(
    openAiDialect.relayReply(body, { ...options, events: [], model: 'openai/gpt-4o', svc }),
    body
      .replace('"gpt-4o-2024-08-06"', '"openai/gpt-4o"')
      .replace(
        '}]\n}\n',
        '}],"svc":{"credits_used":54399,"balance_before":9007199254740991,"balance_after":9007199254686592,"billing_mode":"user"}}\n',
      ),
  )
  assert.throws(() => openAiDialect.relayReply('oops', { ...options, events: [], svc }), ApiError)
})
