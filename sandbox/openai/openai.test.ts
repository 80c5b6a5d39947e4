import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listOf, objectOf, textOf, wordList } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import {
  dig,
  digNumber,
  digText,
  get,
  keysOf,
  LONG_TEXT,
  post,
  readEvents,
} from '../test-client.ts'

const KEY = { authorization: 'Bearer sk-test' }
const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a place',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1, maximum: 7 } },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
}
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function chat(body: object, headers: Record<string, string> = KEY) {
  return await post(`${sandbox.urls.openai}/chat/completions`, headers, body)
}

function ask(content: unknown, more: object = {}) {
  return { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more }
}

async function stream(content: unknown, more: object = {}) {
  const answer = await chat(ask(content, { stream: true, ...more }))
  return { ...answer, events: readEvents(answer.text) }
}

function joinDeltas(events: { body: unknown }[], path: string): string {
  return events.map(({ body }) => textOf(dig(body, path))).join('')
}

test('a completion has the documented shape and usage that adds up', async () => {
  const { status, headers, body } = await chat(ask('Hello there'))
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'application/json')
  assert.match(headers.get('x-request-id') ?? '', /^req_[a-z0-9]{32}$/)
  assert.equal(headers.get('x-ratelimit-limit-requests'), '10000')
  assert.deepEqual(
    keysOf(body),
    wordList('id object created model choices usage service_tier system_fingerprint'),
  )
  assert.match(digText(body, 'id'), /^chatcmpl-\w{29}$/)
  assert.equal(dig(body, 'object'), 'chat.completion')
  assert.equal(dig(body, 'model'), 'gpt-4o-2024-08-06')
  assert.deepEqual(keysOf(dig(body, 'choices.0')), [
    'index',
    'message',
    'logprobs',
    'finish_reason',
  ])
  assert.equal(dig(body, 'choices.0.finish_reason'), 'stop')
  assert.equal(dig(body, 'choices.0.message.role'), 'assistant')
  assert.equal(dig(body, 'choices.0.message.refusal'), null)
  assert.match(digText(body, 'choices.0.message.content'), /You said: "Hello there"/)
  const prompt_tokens = Math.ceil('user\nHello there\n\n'.length / 4)
  const completion_tokens = Math.ceil(digText(body, 'choices.0.message.content').length / 4)
  assert.deepEqual(dig(body, 'usage'), {
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: 0,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  })
})

test('the same request gets the same words under another id', async () => {
  const [first, second] = [await chat(ask('Same?')), await chat(ask('Same?'))]
  assert.equal(
    digText(first.body, 'choices.0.message.content'),
    digText(second.body, 'choices.0.message.content'),
  )
  assert.notEqual(dig(first.body, 'id'), dig(second.body, 'id'))
})

test('a stream says role, text, finish and done, and no usage unless asked', async () => {
  const whole = await chat(ask('Tell me'))
  const { headers, events, text } = await stream('Tell me')
  assert.match(headers.get('content-type') ?? '', /^text\/event-stream/)
  assert.ok(text.endsWith('data: [DONE]\n\n'))
  assert.equal(events.at(-1)?.data, '[DONE]')
  const chunks = events.slice(0, -1)
  assert.deepEqual(dig(chunks[0]?.body, 'choices.0.delta'), {
    role: 'assistant',
    content: '',
    refusal: null,
  })
  assert.ok(chunks.length > 5)
  assert.equal(
    joinDeltas(chunks, 'choices.0.delta.content'),
    dig(whole.body, 'choices.0.message.content'),
  )
  assert.deepEqual(dig(chunks.at(-1)?.body, 'choices.0.delta'), {})
  assert.equal(dig(chunks.at(-1)?.body, 'choices.0.finish_reason'), 'stop')
  for (const { body } of chunks) {
    assert.equal(dig(body, 'object'), 'chat.completion.chunk')
    assert.equal(dig(body, 'id'), dig(chunks[0]?.body, 'id'))
    assert.equal(dig(body, 'usage'), undefined)
    assert.equal(typeof dig(body, 'obfuscation'), 'string')
  }
})

test('usage comes in a chunk of its own, last, and is announced by null before', async () => {
  const { events } = await stream('Tell me', {
    stream_options: { include_usage: true, include_obfuscation: false },
  })
  const chunks = events.slice(0, -1)
  const last = chunks.at(-1)?.body
  assert.deepEqual(dig(last, 'choices'), [])
  const whole = await chat(ask('Tell me'))
  assert.deepEqual(dig(last, 'usage'), dig(whole.body, 'usage'))
  for (const { body } of chunks.slice(0, -1)) {
    assert.equal(dig(body, 'usage'), null)
    assert.ok(!keysOf(body).includes('obfuscation'))
  }
})

test('several choices differ, are all paid for, and share a stream', async () => {
  const { body } = await chat(ask('Vary [[sandbox:tokens=20]]', { n: 3 }))
  const texts = listOf(dig(body, 'choices')).map((choice) => digText(choice, 'message.content'))
  assert.equal(new Set(texts).size, 3)
  assert.equal(dig(body, 'usage.completion_tokens'), 60)
  const { events } = await stream('Vary [[sandbox:tokens=20]]', { n: 3 })
  const second = events.filter((event) => dig(event.body, 'choices.0.index') === 1)
  assert.equal(joinDeltas(second, 'choices.0.delta.content'), texts[1])
})

test('the output limit is honoured and named', async () => {
  for (const field of ['max_tokens', 'max_completion_tokens']) {
    const { body } = await chat(ask('Go on [[sandbox:tokens=500]]', { [field]: 30 }))
    assert.equal(dig(body, 'choices.0.finish_reason'), 'length')
    assert.equal(dig(body, 'usage.completion_tokens'), 30)
  }
  const { body } = await chat(ask('Go on [[sandbox:tokens=500]]'))
  assert.equal(dig(body, 'usage.completion_tokens'), 500)
  assert.equal(digText(body, 'choices.0.message.content').length, 2000)
})

test('stop sequences cut the answer before themselves', async () => {
  const { body } = await chat(
    ask('one two three four [[sandbox:echo]]', { stop: ['four', ' three'] }),
  )
  assert.equal(dig(body, 'choices.0.message.content'), 'one two')
  assert.equal(dig(body, 'choices.0.finish_reason'), 'stop')
})

test('reasoning models bill hidden tokens and may use up the whole limit on them', async () => {
  const { body } = await chat(ask('Think [[sandbox:tokens=40]]', { model: 'gpt-5' }))
  assert.equal(dig(body, 'model'), 'gpt-5-2025-08-07')
  assert.equal(dig(body, 'usage.completion_tokens_details.reasoning_tokens'), 128)
  assert.equal(dig(body, 'usage.completion_tokens'), 168)
  const set = await chat(
    ask('Think [[sandbox:tokens=40]] [[sandbox:reasoning=1000]]', { model: 'gpt-5' }),
  )
  assert.equal(dig(set.body, 'usage.completion_tokens'), 1040)
  const tight = await chat(ask('Think', { model: 'gpt-5', max_completion_tokens: 100 }))
  assert.equal(dig(tight.body, 'choices.0.message.content'), '')
  assert.equal(dig(tight.body, 'choices.0.finish_reason'), 'length')
  assert.equal(dig(tight.body, 'usage.completion_tokens'), 100)
  const minimal = await chat(ask('Think', { model: 'gpt-5', reasoning_effort: 'minimal' }))
  assert.equal(dig(minimal.body, 'usage.completion_tokens_details.reasoning_tokens'), 0)
})

test('a long prompt that was sent before is partly cached, for models that cache', async () => {
  const first = await chat(ask(`${LONG_TEXT} first`))
  assert.equal(dig(first.body, 'usage.prompt_tokens_details.cached_tokens'), 0)
  const second = await chat(ask(`${LONG_TEXT} second`))
  const cached = digNumber(second.body, 'usage.prompt_tokens_details.cached_tokens')
  assert.ok(cached >= 1024 && cached % 128 === 0)
  assert.ok(cached < digNumber(second.body, 'usage.prompt_tokens'))
  const stranger = await chat(ask(`${LONG_TEXT} second`), { authorization: 'Bearer sk-other' })
  assert.equal(dig(stranger.body, 'usage.prompt_tokens_details.cached_tokens'), 0)
  const newer = await chat(ask(LONG_TEXT, { model: 'gpt-5.6-sol' }))
  assert.ok(digNumber(newer.body, 'usage.prompt_tokens_details.cache_write_tokens') >= 1024)
})

test('a tool is called with arguments that fit, and its result continues the conversation', async () => {
  const asked = { role: 'user', content: 'Weather? [[sandbox:tool]]' }
  const tools = { model: 'gpt-4o', tools: [WEATHER] }
  const { body } = await chat({ ...tools, messages: [asked] })
  const message = dig(body, 'choices.0.message')
  assert.equal(dig(body, 'choices.0.finish_reason'), 'tool_calls')
  assert.equal(dig(message, 'content'), null)
  const call = objectOf(dig(message, 'tool_calls.0'))
  assert.match(digText(call, 'id'), /^call_\w{24}$/)
  assert.equal(call['type'], 'function')
  const input: unknown = JSON.parse(digText(call, 'function.arguments'))
  assert.equal(typeof dig(input, 'city'), 'string')
  assert.ok(digNumber(input, 'days') >= 1 && digNumber(input, 'days') <= 7)
  const result = { role: 'tool', tool_call_id: call['id'], content: 'Sunny' }
  const next = await chat({ ...tools, messages: [asked, message, result] })
  assert.equal(next.status, 200, next.text)
  assert.match(digText(next.body, 'choices.0.message.content'), /The tool answered: "Sunny"/)
})

test('parallel calls arrive in fragments told apart by their index', async () => {
  const { events } = await stream('Both [[sandbox:tool=2]]', { tools: [WEATHER] })
  const pieces = events.flatMap(({ body }) => listOf(dig(body, 'choices.0.delta.tool_calls')))
  for (const index of [0, 1]) {
    const own = pieces.filter((piece) => dig(piece, 'index') === index)
    assert.equal(dig(own[0], 'function.name'), 'get_weather')
    assert.equal(dig(own[0], 'function.arguments'), '')
    assert.ok(own.slice(1).every((piece) => dig(piece, 'id') === undefined))
    const json = own.map((piece) => digText(piece, 'function.arguments')).join('')
    assert.equal(typeof dig(JSON.parse(json), 'city'), 'string')
  }
  const single = await chat(
    ask('Both [[sandbox:tool=2]]', { tools: [WEATHER], parallel_tool_calls: false }),
  )
  assert.equal(listOf(dig(single.body, 'choices.0.message.tool_calls')).length, 1)
})

test('tool_choice forces and forbids', async () => {
  const forced = await chat(ask('Hi', { tools: [WEATHER], tool_choice: 'required' }))
  assert.equal(dig(forced.body, 'choices.0.finish_reason'), 'tool_calls')
  const none = await chat(ask('Hi [[sandbox:tool]]', { tools: [WEATHER], tool_choice: 'none' }))
  assert.equal(dig(none.body, 'choices.0.finish_reason'), 'stop')
})

test('structured output fits the schema', async () => {
  const schema = {
    type: 'object',
    properties: { colour: { type: 'string', enum: ['red', 'blue'] }, count: { type: 'integer' } },
    required: ['colour', 'count'],
    additionalProperties: false,
  }
  const format = { type: 'json_schema', json_schema: { name: 'thing', strict: true, schema } }
  const { body } = await chat(ask('Give', { response_format: format }))
  const value: unknown = JSON.parse(digText(body, 'choices.0.message.content'))
  assert.deepEqual(keysOf(value), ['colour', 'count'])
  const loose = {
    ...format,
    json_schema: { ...format.json_schema, schema: { ...schema, required: [] } },
  }
  const refused = await chat(ask('Give', { response_format: loose }))
  assert.equal(refused.status, 400)
  const object = await chat(ask('Give JSON', { response_format: { type: 'json_object' } }))
  assert.equal(typeof JSON.parse(digText(object.body, 'choices.0.message.content')), 'object')
})

test('images, sounds and files are accepted where the model can and counted', async () => {
  const url = `data:image/png;base64,${'A'.repeat(400)}`
  const image = { type: 'image_url', image_url: { url } }
  const text = { type: 'text', text: 'Look' }
  const plain = await chat(ask([text]))
  const seen = await chat(ask([text, image]))
  const more =
    digNumber(seen.body, 'usage.prompt_tokens') - digNumber(plain.body, 'usage.prompt_tokens')
  assert.ok(more >= 765 && more <= 766)
  const file = {
    type: 'file',
    file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
  }
  assert.equal((await chat(ask([text, file]))).status, 200)
  const blind = await chat(ask([text, image], { model: 'gpt-4' }))
  assert.match(digText(blind.body, 'error.message'), /only supported by certain models/)
})

test('logprobs cover every token of the text', async () => {
  const { body } = await chat(
    ask('Count [[sandbox:tokens=12]]', { logprobs: true, top_logprobs: 1 }),
  )
  const tokens = listOf(dig(body, 'choices.0.logprobs.content')).map((entry) =>
    digText(entry, 'token'),
  )
  assert.equal(tokens.length, 12)
  assert.equal(tokens.join(''), dig(body, 'choices.0.message.content'))
})

test('filtered and refused answers are answers, not errors', async () => {
  const filtered = await chat(ask('Bad [[sandbox:content_filter]] [[sandbox:tokens=40]]'))
  assert.equal(dig(filtered.body, 'choices.0.finish_reason'), 'content_filter')
  assert.equal(dig(filtered.body, 'usage.completion_tokens'), 20)
  const refused = await chat(ask('Bad [[sandbox:refusal]]'))
  assert.equal(dig(refused.body, 'choices.0.finish_reason'), 'stop')
  assert.equal(dig(refused.body, 'choices.0.message.content'), null)
  const { events } = await stream('Bad [[sandbox:refusal]]')
  assert.equal(
    joinDeltas(events, 'choices.0.delta.refusal'),
    dig(refused.body, 'choices.0.message.refusal'),
  )
})

test('usage can be kept back', async () => {
  const whole = await chat(ask('Hi [[sandbox:no_usage]]'))
  assert.ok(!keysOf(whole.body).includes('usage'))
  const { events } = await stream('Hi [[sandbox:no_usage]]', {
    stream_options: { include_usage: true },
  })
  assert.ok(events.every(({ body }) => (dig(body, 'usage') ?? null) === null))
})

test('the model list names the models', async () => {
  const { body } = await get(`${sandbox.urls.openai}/models`, KEY)
  assert.equal(dig(body, 'object'), 'list')
  const ids = listOf(dig(body, 'data')).map((model) => dig(model, 'id'))
  for (const id of [
    'gpt-4o',
    'gpt-4o-mini',
    'gpt-4-turbo',
    'gpt-4',
    'gpt-3.5-turbo',
    'gpt-5',
    'gpt-5-mini',
  ]) {
    assert.ok(ids.includes(id), id)
  }
  const one = await get(`${sandbox.urls.openai}/models/gpt-5`, KEY)
  assert.equal(dig(one.body, 'object'), 'model')
  assert.equal((await get(`${sandbox.urls.openai}/models/nope`, KEY)).status, 404)
})

const USER = { role: 'user', content: 'Hi' }
const CALLER = {
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
}
const REFUSALS: readonly [
  name: string,
  body: object,
  status: number,
  code: string | null,
  param: string | null,
][] = [
  ['no model', { messages: [USER] }, 400, null, null],
  ['no messages', { model: 'gpt-4o' }, 400, 'missing_required_parameter', 'messages'],
  ['no message', { model: 'gpt-4o', messages: [] }, 400, 'empty_array', 'messages'],
  ['an unknown model', ask('Hi', { model: 'gpt-9' }), 404, 'model_not_found', null],
  ['an unknown field', ask('Hi', { top_k: 5 }), 400, 'unknown_parameter', 'top_k'],
  ['a wrong type', ask('Hi', { temperature: 'hot' }), 400, 'invalid_type', 'temperature'],
  [
    'a high temperature',
    ask('Hi', { temperature: 3 }),
    400,
    'decimal_above_max_value',
    'temperature',
  ],
  ['a zero limit', ask('Hi', { max_tokens: 0 }), 400, 'integer_below_min_value', 'max_tokens'],
  ['a high limit', ask('Hi', { max_tokens: 99_999 }), 400, 'invalid_value', 'max_tokens'],
  [
    'both limits',
    ask('Hi', { max_tokens: 5, max_completion_tokens: 5 }),
    400,
    'invalid_parameter_combination',
    'max_tokens',
  ],
  [
    'max_tokens for gpt-5',
    ask('Hi', { model: 'gpt-5', max_tokens: 5 }),
    400,
    'unsupported_parameter',
    'max_tokens',
  ],
  [
    'temperature for gpt-5',
    ask('Hi', { model: 'gpt-5', temperature: 0.2 }),
    400,
    'unsupported_value',
    'temperature',
  ],
  [
    'stop for gpt-5',
    ask('Hi', { model: 'gpt-5', stop: 'x' }),
    400,
    'unsupported_parameter',
    'stop',
  ],
  [
    'no effort for gpt-5',
    ask('Hi', { model: 'gpt-5', reasoning_effort: 'none' }),
    400,
    'unsupported_value',
    'reasoning_effort',
  ],
  [
    'effort for gpt-4o',
    ask('Hi', { reasoning_effort: 'low' }),
    400,
    'unsupported_parameter',
    'reasoning_effort',
  ],
  [
    'five stops',
    ask('Hi', { stop: ['a', 'b', 'c', 'd', 'e'] }),
    400,
    'array_above_max_length',
    'stop',
  ],
  [
    'stream options without a stream',
    ask('Hi', { stream_options: {} }),
    400,
    null,
    'stream_options',
  ],
  ['tool choice without tools', ask('Hi', { tool_choice: 'auto' }), 400, null, 'tool_choice'],
  [
    'an unknown role',
    { model: 'gpt-4o', messages: [{ role: 'bot', content: 'x' }] },
    400,
    'invalid_value',
    'messages[0].role',
  ],
  [
    'an unknown part',
    ask([{ type: 'picture' }]),
    400,
    'invalid_value',
    'messages[0].content[0].type',
  ],
  [
    'a stray tool result',
    { model: 'gpt-4o', messages: [USER, { role: 'tool', tool_call_id: 'x', content: '' }] },
    400,
    null,
    'messages.[1].role',
  ],
  [
    'an unanswered call',
    { model: 'gpt-4o', messages: [USER, CALLER, USER] },
    400,
    null,
    'messages.[2].role',
  ],
  [
    'a schema for gpt-4',
    ask('Hi', { model: 'gpt-4', response_format: { type: 'json_object' } }),
    400,
    null,
    'response_format',
  ],
  [
    'JSON mode without the word',
    ask('Hi', { response_format: { type: 'json_object' } }),
    400,
    null,
    'messages',
  ],
  ['a misspelt test prompt', ask('[[sandbox:oops]]'), 400, 'invalid_value', 'messages'],
  [
    'too long a prompt',
    ask('word '.repeat(8_000), { model: 'gpt-4' }),
    400,
    'context_length_exceeded',
    'messages',
  ],
]

for (const [name, body, status, code, param] of REFUSALS) {
  test(`${name} is refused with the error of OpenAI`, async () => {
    const answer = await chat(body)
    assert.equal(answer.status, status, answer.text)
    assert.deepEqual(keysOf(answer.body), ['error'])
    assert.deepEqual(keysOf(dig(answer.body, 'error')), ['message', 'type', 'param', 'code'])
    assert.equal(dig(answer.body, 'error.type'), 'invalid_request_error')
    assert.equal(dig(answer.body, 'error.code'), code)
    assert.equal(dig(answer.body, 'error.param'), param)
  })
}

test('a missing and a wrong key are both 401, with different bodies', async () => {
  const missing = await chat(ask('Hi'), {})
  assert.equal(missing.status, 401)
  assert.equal(dig(missing.body, 'error.code'), null)
  const wrong = await chat(ask('Hi'), { authorization: 'Bearer sk-invalid-0000' })
  assert.equal(wrong.status, 401)
  assert.equal(dig(wrong.body, 'error.code'), 'invalid_api_key')
  assert.match(
    digText(wrong.body, 'error.message'),
    /^Incorrect API key provided: sk-inval\*+0000\./,
  )
})

test('bad JSON, other paths and other methods are refused as OpenAI does', async () => {
  const broken = await post(`${sandbox.urls.openai}/chat/completions`, KEY, '{"model": ')
  assert.equal(broken.status, 400)
  const lost = await post(`${sandbox.urls.openai}/nowhere`, KEY, {})
  assert.equal(lost.status, 404)
  assert.match(digText(lost.body, 'error.message'), /^Invalid URL \(POST \/v1\/nowhere\)/)
  assert.equal((await get(`${sandbox.urls.openai}/chat/completions`, KEY)).status, 405)
})

const FAULTS: readonly [prompt: string, status: number, type: string, code: string | null][] = [
  ['401', 401, 'invalid_request_error', 'invalid_api_key'],
  ['404', 404, 'invalid_request_error', 'model_not_found'],
  ['429', 429, 'tokens', 'rate_limit_exceeded'],
  ['500', 500, 'server_error', null],
  ['overloaded', 503, 'service_unavailable_error', 'server_is_overloaded'],
  ['quota', 429, 'insufficient_quota', 'insufficient_quota'],
  ['blocked', 400, 'invalid_request_error', 'invalid_prompt'],
  ['too_long', 400, 'invalid_request_error', 'context_length_exceeded'],
  ['unverified', 400, 'invalid_request_error', 'unsupported_value'],
]

for (const [prompt, status, type, code] of FAULTS) {
  test(`[[sandbox:${prompt}]] gives the ${status} of OpenAI`, async () => {
    const answer = await chat(ask(`Go [[sandbox:${prompt}]]`, { stream: true }))
    assert.equal(answer.status, status)
    assert.equal(dig(answer.body, 'error.type'), type)
    assert.equal(dig(answer.body, 'error.code'), code)
  })
}

test('a rate limit says when to come back', async () => {
  const { headers } = await chat(ask('Go [[sandbox:429=30]]'))
  assert.equal(headers.get('retry-after'), '30')
  assert.equal(headers.get('retry-after-ms'), '30000')
  assert.equal(headers.get('x-ratelimit-reset-tokens'), '30s')
})
