import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { isObject, listOf, objectOf, textOf, textsOf } from '../json.ts'
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

const MODEL = 'claude-sonnet-4-20250514'
const HEADERS = { 'x-api-key': 'sk-ant-test', 'anthropic-version': '2023-06-01' }
const WEATHER = {
  name: 'get_weather',
  description: 'Weather of a place',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { enum: ['C', 'F'] } },
    required: ['city', 'unit'],
  },
}
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function send(body: object, headers: Record<string, string> = HEADERS) {
  return await post(`${sandbox.urls.anthropic}/v1/messages`, headers, body)
}

function ask(content: unknown, more: object = {}) {
  return { model: MODEL, max_tokens: 1_000, messages: [{ role: 'user', content }], ...more }
}

async function stream(content: unknown, more: object = {}) {
  const answer = await send(ask(content, { stream: true, ...more }))
  return { ...answer, events: readEvents(answer.text) }
}

test('a message has the documented shape and usage', async () => {
  const { status, headers, body } = await send(ask('Hello'))
  assert.equal(status, 200)
  assert.match(headers.get('request-id') ?? '', /^req_01\w{22}$/)
  assert.match(headers.get('anthropic-ratelimit-requests-reset') ?? '', /^\d{4}-\d\d-\d\dT[\d:]+Z$/)
  assert.match(digText(body, 'id'), /^msg_01\w{22}$/)
  assert.equal(dig(body, 'type'), 'message')
  assert.equal(dig(body, 'role'), 'assistant')
  assert.equal(dig(body, 'model'), MODEL)
  assert.equal(dig(body, 'stop_reason'), 'end_turn')
  assert.equal(dig(body, 'stop_sequence'), null)
  assert.deepEqual(keysOf(dig(body, 'content.0')), ['type', 'text'])
  const output_tokens = Math.ceil(digText(body, 'content.0.text').length / 4)
  assert.deepEqual(dig(body, 'usage'), {
    input_tokens: Math.ceil('user\nHello\n\n'.length / 4),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    output_tokens,
    service_tier: 'standard',
  })
})

test('a stream has the full sequence of events with cumulative usage', async () => {
  const whole = await send(ask('Tell me'))
  const { headers, events } = await stream('Tell me')
  assert.match(headers.get('content-type') ?? '', /^text\/event-stream/)
  for (const { event, body } of events) assert.equal(dig(body, 'type'), event)
  const names = events.map(({ event }) => event)
  assert.deepEqual(names.slice(0, 4), [
    'message_start',
    'content_block_start',
    'ping',
    'content_block_delta',
  ])
  assert.deepEqual(names.slice(-4), [
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ])
  const start = dig(events[0]?.body, 'message')
  assert.deepEqual(dig(start, 'content'), [])
  assert.equal(dig(start, 'stop_reason'), null)
  assert.equal(dig(start, 'usage.input_tokens'), dig(whole.body, 'usage.input_tokens'))
  assert.ok(digNumber(start, 'usage.output_tokens') <= 8)
  assert.deepEqual(dig(events[1]?.body, 'content_block'), { type: 'text', text: '' })
  const text = events.map(({ body }) => textOf(dig(body, 'delta.text'))).join('')
  assert.equal(text, dig(whole.body, 'content.0.text'))
  const end = events.at(-2)?.body
  assert.deepEqual(dig(end, 'delta'), {
    stop_reason: 'end_turn',
    stop_sequence: null,
    stop_details: null,
  })
  assert.equal(dig(end, 'usage.output_tokens'), dig(whole.body, 'usage.output_tokens'))
})

test('limits and stop sequences are honoured and named', async () => {
  const short = await send(ask('Go on [[sandbox:tokens=500]]', { max_tokens: 30 }))
  assert.equal(dig(short.body, 'stop_reason'), 'max_tokens')
  assert.equal(dig(short.body, 'usage.output_tokens'), 30)
  const exact = await send(ask('Go on [[sandbox:tokens=500]]'))
  assert.equal(dig(exact.body, 'usage.output_tokens'), 500)
  const stopped = await send(ask('one two three [[sandbox:echo]]', { stop_sequences: [' three'] }))
  assert.equal(dig(stopped.body, 'content.0.text'), 'one two')
  assert.equal(dig(stopped.body, 'stop_reason'), 'stop_sequence')
  assert.equal(dig(stopped.body, 'stop_sequence'), ' three')
})

test('thinking is billed in full, shown in short, signed, and streamed before the text', async () => {
  const thinking = { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 4_000 }
  const { body } = await send(ask('Think [[sandbox:tokens=50]]', thinking))
  assert.deepEqual(keysOf(dig(body, 'content.0')), ['type', 'thinking', 'signature'])
  assert.equal(dig(body, 'content.1.type'), 'text')
  assert.equal(dig(body, 'usage.output_tokens'), 250)
  assert.equal(dig(body, 'usage.output_tokens_details.thinking_tokens'), 200)
  assert.ok(digText(body, 'content.0.thinking').length < 4 * 200)
  const { events } = await stream('Think [[sandbox:tokens=50]]', thinking)
  assert.deepEqual(dig(events[1]?.body, 'content_block'), {
    type: 'thinking',
    thinking: '',
    signature: '',
  })
  const first = events.filter(({ body: event }) => dig(event, 'index') === 0)
  assert.equal(dig(first.at(-1)?.body, 'type'), 'content_block_stop')
  assert.deepEqual(dig(first.at(-2)?.body, 'delta'), {
    type: 'signature_delta',
    signature: dig(body, 'content.0.signature'),
  })
  const shown = first.map(({ body: event }) => textOf(dig(event, 'delta.thinking'))).join('')
  assert.equal(shown, dig(body, 'content.0.thinking'))
})

test('a tool is called with input that fits, and its result continues the conversation', async () => {
  const asked = { role: 'user', content: 'Weather? [[sandbox:tool]]' }
  const tools = { model: MODEL, max_tokens: 1_000, tools: [WEATHER] }
  const { body } = await send({ ...tools, messages: [asked] })
  assert.equal(dig(body, 'stop_reason'), 'tool_use')
  assert.equal(dig(body, 'content.0.type'), 'text')
  assert.deepEqual(keysOf(dig(body, 'content.1')), ['type', 'id', 'name', 'input'])
  assert.match(digText(body, 'content.1.id'), /^toolu_01\w{22}$/)
  assert.deepEqual(keysOf(dig(body, 'content.1.input')), ['city', 'unit'])
  assert.ok(digNumber(body, 'usage.input_tokens') > 346)
  const said = { role: 'assistant', content: dig(body, 'content') }
  const result = { type: 'tool_result', tool_use_id: dig(body, 'content.1.id'), content: 'Sunny' }
  const next = await send({
    ...tools,
    messages: [asked, said, { role: 'user', content: [result] }],
  })
  assert.equal(next.status, 200, next.text)
  assert.match(digText(next.body, 'content.0.text'), /The tool answered: "Sunny"/)
  const lost = await send({ ...tools, messages: [asked, said, asked] })
  assert.match(
    digText(lost.body, 'error.message'),
    /`tool_use` ids were found without `tool_result` blocks/,
  )
})

test('parallel calls are blocks of their own whose input comes in fragments', async () => {
  const { events } = await stream('Both [[sandbox:tool=2]]', { tools: [WEATHER] })
  const starts = events.filter(({ event }) => event === 'content_block_start')
  const types = starts.map(({ body }) => dig(body, 'content_block.type'))
  assert.deepEqual(types, ['text', 'tool_use', 'tool_use'])
  assert.deepEqual(dig(starts[1]?.body, 'content_block.input'), {})
  for (const index of [1, 2]) {
    const own = events.filter(({ body }) => dig(body, 'index') === index)
    const pieces = own.flatMap(({ body }) => textsOf(dig(body, 'delta.partial_json')))
    assert.equal(pieces[0], '')
    assert.deepEqual(keysOf(JSON.parse(pieces.join(''))), ['city', 'unit'])
  }
  const indexes = events.flatMap(({ body }) => dig(body, 'index') ?? [])
  assert.deepEqual(
    indexes,
    indexes.toSorted((left, right) => Number(left) - Number(right)),
  )
})

test('a forced tool is called without a word, once', async () => {
  const choice = { type: 'tool', name: 'get_weather', disable_parallel_tool_use: true }
  const { body } = await send(
    ask('Hi [[sandbox:tool=3]]', { tools: [WEATHER], tool_choice: choice }),
  )
  assert.deepEqual(
    listOf(dig(body, 'content')).map((block) => dig(block, 'type')),
    ['tool_use'],
  )
  const none = await send(
    ask('Hi [[sandbox:tool]]', { tools: [WEATHER], tool_choice: { type: 'none' } }),
  )
  assert.equal(dig(none.body, 'stop_reason'), 'end_turn')
})

test('thinking that led to a tool call has to come back unchanged', async () => {
  const more = {
    tools: [WEATHER],
    thinking: { type: 'enabled', budget_tokens: 1_024 },
    max_tokens: 4_000,
  }
  const asked = { role: 'user', content: 'Weather? [[sandbox:tool]]' }
  const { body } = await send({ model: MODEL, messages: [asked], ...more })
  const content = listOf(dig(body, 'content'))
  assert.deepEqual(
    content.map((block) => dig(block, 'type')),
    ['thinking', 'text', 'tool_use'],
  )
  const result = { type: 'tool_result', tool_use_id: dig(body, 'content.2.id'), content: 'Sunny' }
  const reply = (blocks: readonly unknown[]) => {
    const turns = [
      asked,
      { role: 'assistant', content: blocks },
      { role: 'user', content: [result] },
    ]
    return send({ model: MODEL, messages: turns, ...more })
  }
  assert.equal((await reply(content)).status, 200)
  const bare = await reply(content.slice(1))
  assert.match(digText(bare.body, 'error.message'), /Expected `thinking` or `redacted_thinking`/)
  const forged = [{ ...objectOf(content[0]), thinking: 'changed' }, ...content.slice(1)]
  assert.match(digText((await reply(forged)).body, 'error.message'), /Invalid `signature`/)
})

test('marked prefixes are written once and read afterwards, and all tokens are accounted for', async () => {
  const system = [
    { type: 'text', text: `${LONG_TEXT} cache test`, cache_control: { type: 'ephemeral' } },
  ]
  const first = await send(ask('One', { system }))
  const written = digNumber(first.body, 'usage.cache_creation_input_tokens')
  assert.ok(written >= 1_024)
  assert.equal(dig(first.body, 'usage.cache_creation.ephemeral_5m_input_tokens'), written)
  assert.equal(dig(first.body, 'usage.cache_read_input_tokens'), 0)
  const second = await send(ask('Two', { system }))
  assert.equal(dig(second.body, 'usage.cache_read_input_tokens'), written)
  assert.equal(dig(second.body, 'usage.cache_creation_input_tokens'), 0)
  const counted = await post(`${sandbox.urls.anthropic}/v1/messages/count_tokens`, HEADERS, {
    model: MODEL,
    system,
    messages: [{ role: 'user', content: 'Two' }],
  })
  assert.equal(
    dig(counted.body, 'input_tokens'),
    digNumber(second.body, 'usage.input_tokens') + written,
  )
  const other = await send(ask('Two', { system }), { ...HEADERS, 'x-api-key': 'sk-ant-other' })
  assert.equal(dig(other.body, 'usage.cache_read_input_tokens'), 0)
})

test('a grown conversation reads its older part and writes the new one, at the price of its mark', async () => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const block = (text: string) => ({ type: 'text', text, ...mark })
  const opening = { role: 'user', content: [block(`${LONG_TEXT} growing`)] }
  const first = await send({ model: MODEL, max_tokens: 100, messages: [opening] })
  const written = digNumber(first.body, 'usage.cache_creation.ephemeral_1h_input_tokens')
  assert.equal(dig(first.body, 'usage.cache_creation_input_tokens'), written)
  const said = { role: 'assistant', content: 'Indeed.' }
  const later = { role: 'user', content: [block('And more of it, at some length, to be cached.')] }
  const unmarked = { role: 'user', content: `${LONG_TEXT} growing` }
  const second = await send({ model: MODEL, max_tokens: 100, messages: [unmarked, said, later] })
  assert.equal(dig(second.body, 'usage.cache_read_input_tokens'), written)
  assert.ok(digNumber(second.body, 'usage.cache_creation.ephemeral_1h_input_tokens') > 10)
  assert.equal(dig(second.body, 'usage.input_tokens'), 0)
})

test('short prefixes are not cached and unmarked ones neither', async () => {
  const short = [{ type: 'text', text: 'Short.', cache_control: { type: 'ephemeral' } }]
  const { body } = await send(ask('Hi', { system: short }))
  assert.equal(dig(body, 'usage.cache_creation_input_tokens'), 0)
  const unmarked = await send(ask(LONG_TEXT))
  assert.equal(dig(unmarked.body, 'usage.cache_creation_input_tokens'), 0)
})

test('pictures and documents are accepted and counted', async () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
  const pdf = {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' },
  }
  const text = { type: 'text', text: 'Look' }
  const plain = digNumber((await send(ask([text]))).body, 'usage.input_tokens')
  const seen = digNumber((await send(ask([text, image, pdf]))).body, 'usage.input_tokens')
  assert.ok(Math.abs(seen - plain - 3_600) <= 2)
})

test('structured output fits its schema on models that have it', async () => {
  const properties = { n: { type: 'integer' } }
  const schema = { type: 'object', properties, required: ['n'], additionalProperties: false }
  const output_config = { format: { type: 'json_schema', schema } }
  const { body } = await send(ask('Give', { model: 'claude-sonnet-4-6', output_config }))
  assert.ok(Number.isInteger(dig(JSON.parse(digText(body, 'content.0.text')), 'n')))
  assert.equal((await send(ask('Give', { output_config }))).status, 400)
})

test('filtered and refused answers stop with a refusal', async () => {
  const filtered = await send(ask('Bad [[sandbox:content_filter]] [[sandbox:tokens=40]]'))
  assert.equal(dig(filtered.body, 'stop_reason'), 'refusal')
  assert.equal(dig(filtered.body, 'usage.output_tokens'), 20)
  const refused = await send(ask('Bad [[sandbox:refusal]]'))
  assert.deepEqual(dig(refused.body, 'content'), [])
  assert.equal(dig(refused.body, 'stop_reason'), 'refusal')
})

test('usage can be kept back', async () => {
  const whole = await send(ask('Hi [[sandbox:no_usage]]'))
  assert.ok(!keysOf(whole.body).includes('usage'))
  const { text } = await stream('Hi [[sandbox:no_usage]]')
  assert.ok(!text.includes('"usage"'))
})

test('the model list has the shape of Anthropic', async () => {
  const { body } = await get(`${sandbox.urls.anthropic}/v1/models`, HEADERS)
  assert.deepEqual(keysOf(body), ['data', 'has_more', 'first_id', 'last_id'])
  const ids = listOf(dig(body, 'data')).map((model) => dig(model, 'id'))
  for (const id of ['claude-opus-4-20250514', MODEL, 'claude-3-5-haiku-20241022']) {
    assert.ok(ids.includes(id))
  }
})

test('a credential and a version are required', async () => {
  const bare = await send(ask('Hi'), { 'anthropic-version': '2023-06-01' })
  assert.equal(bare.status, 401)
  assert.equal(dig(bare.body, 'error.type'), 'authentication_error')
  assert.equal(dig(bare.body, 'error.message'), 'x-api-key header is required')
  assert.equal(dig(bare.body, 'request_id'), bare.headers.get('request-id'))
  const wrong = await send(ask('Hi'), { ...HEADERS, 'x-api-key': 'invalid' })
  assert.equal(dig(wrong.body, 'error.message'), 'invalid x-api-key')
  const token = await send(ask('Hi'), {
    authorization: 'Bearer token',
    'anthropic-version': '2023-06-01',
  })
  assert.equal(token.status, 200)
  const unversioned = await send(ask('Hi'), { 'x-api-key': 'k' })
  assert.equal(unversioned.status, 400)
  assert.equal(dig(unversioned.body, 'error.message'), 'anthropic-version: header is required')
})

const REFUSALS: readonly [name: string, body: object, message: RegExp][] = [
  ['no limit', { model: MODEL, messages: [] }, /^max_tokens: Field required$/],
  ['no messages', { model: MODEL, max_tokens: 5 }, /^messages: Field required$/],
  ['no message', { model: MODEL, max_tokens: 5, messages: [] }, /^messages: at least one message/],
  ['an unknown field', ask('Hi', { n: 2 }), /^n: Extra inputs are not permitted$/],
  ['a field of OpenAI', ask('Hi', { response_format: {} }), /^response_format: Extra inputs/],
  [
    'an unknown block field',
    ask([{ type: 'text', text: 'x', foo: 1 }]),
    /^messages\.0\.content\.0\.text\.foo: Extra inputs/,
  ],
  [
    'an unknown block',
    ask([{ type: 'image_url' }]),
    /^messages\.0\.content\.0: Input tag 'image_url'/,
  ],
  ['an empty text', ask([{ type: 'text', text: '' }]), /text content blocks must be non-empty/],
  [
    'a system turn',
    { model: MODEL, max_tokens: 5, messages: [{ role: 'system', content: 'x' }] },
    /Unexpected role "system"/,
  ],
  [
    'too high a limit',
    ask('Hi', { max_tokens: 99_999 }),
    /^max_tokens: 99999 > 64000, which is the maximum/,
  ],
  [
    'a temperature of 2',
    ask('Hi', { temperature: 2 }),
    /^temperature: Input should be less than or equal to 1$/,
  ],
  [
    'a blank stop',
    ask('Hi', { stop_sequences: [' '] }),
    /^stop_sequences: each stop sequence must contain non-whitespace/,
  ],
  [
    'a small budget',
    ask('Hi', { thinking: { type: 'enabled', budget_tokens: 100 } }),
    /greater than or equal to 1024/,
  ],
  [
    'a budget above the limit',
    ask('Hi', { thinking: { type: 'enabled', budget_tokens: 2_000 } }),
    /^`max_tokens` must be greater than/,
  ],
  [
    'thinking of Haiku 3.5',
    ask('Hi', {
      model: 'claude-3-5-haiku-20241022',
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      max_tokens: 2_000,
    }),
    /does not support thinking/,
  ],
  [
    'a tool without schema',
    ask('Hi', { tools: [{ name: 'f' }] }),
    /^tools\.0\.custom\.input_schema: Field required$/,
  ],
  [
    'a tool of OpenAI',
    ask('Hi', { tools: [{ type: 'custom', function: {} }] }),
    /^tools\.0\.custom\.function: Extra inputs/,
  ],
  [
    'a choice without tools',
    ask('Hi', { tool_choice: { type: 'auto' } }),
    /may only be specified while providing `tools`/,
  ],
  [
    'an unknown tool',
    ask('Hi', { tools: [WEATHER], tool_choice: { type: 'tool', name: 'x' } }),
    /^Tool 'x' not found/,
  ],
  [
    'five marks',
    ask(
      [1, 2, 3, 4, 5].map((n) => ({
        type: 'text',
        text: `${n}`,
        cache_control: { type: 'ephemeral' },
      })),
    ),
    /maximum of 4 blocks with cache_control/,
  ],
  [
    'a stray result',
    ask([{ type: 'tool_result', tool_use_id: 'toolu_x' }]),
    /unexpected `tool_use_id`/,
  ],
  [
    'prefill on a new model',
    {
      ...ask('Hi', { model: 'claude-sonnet-4-6' }),
      messages: [
        { role: 'user', content: 'a' },
        { role: 'assistant', content: 'b' },
      ],
    },
    /does not support assistant message prefill/,
  ],
  [
    'sampling on a new model',
    ask('Hi', { model: 'claude-opus-4-8', temperature: 0.5 }),
    /^`temperature` is deprecated/,
  ],
  [
    'too long a prompt',
    ask('word '.repeat(170_000)),
    /^prompt is too long: \d+ tokens > 200000 maximum$/,
  ],
  ['a misspelt test prompt', ask('[[sandbox:oops]]'), /knows no test prompt 'oops'/],
]

for (const [name, body, message] of REFUSALS) {
  test(`${name} is refused with the error of Anthropic`, async () => {
    const answer = await send(body)
    assert.equal(answer.status, 400, answer.text)
    assert.deepEqual(keysOf(answer.body), ['type', 'error', 'request_id'])
    assert.equal(dig(answer.body, 'type'), 'error')
    assert.equal(dig(answer.body, 'error.type'), 'invalid_request_error')
    assert.match(digText(answer.body, 'error.message'), message)
  })
}

test('an unknown model is not found', async () => {
  const { status, body } = await send(ask('Hi', { model: 'claude-9' }))
  assert.equal(status, 404)
  assert.deepEqual(dig(body, 'error'), { type: 'not_found_error', message: 'model: claude-9' })
})

test('counting takes no limit and charges nothing', async () => {
  const url = `${sandbox.urls.anthropic}/v1/messages/count_tokens`
  const body = { model: MODEL, messages: [{ role: 'user', content: 'Hello' }] }
  assert.deepEqual((await post(url, HEADERS, body)).body, { input_tokens: 3 })
  const limited = await post(url, HEADERS, { ...body, max_tokens: 5 })
  assert.equal(dig(limited.body, 'error.message'), 'max_tokens: Extra inputs are not permitted')
})

const FAULTS: readonly [prompt: string, status: number, type: string][] = [
  ['401', 401, 'authentication_error'],
  ['404', 404, 'not_found_error'],
  ['429', 429, 'rate_limit_error'],
  ['500', 500, 'api_error'],
  ['overloaded', 529, 'overloaded_error'],
  ['quota', 400, 'invalid_request_error'],
  ['blocked', 400, 'invalid_request_error'],
  ['too_long', 400, 'invalid_request_error'],
  ['unverified', 403, 'permission_error'],
]

for (const [prompt, status, type] of FAULTS) {
  test(`[[sandbox:${prompt}]] gives the ${status} of Anthropic`, async () => {
    const answer = await send(ask(`Go [[sandbox:${prompt}]]`, { stream: true }))
    assert.equal(answer.status, status)
    assert.equal(dig(answer.body, 'error.type'), type)
    assert.ok(isObject(answer.body))
  })
}

test('a rate limit says when to come back', async () => {
  const { headers } = await send(ask('Go [[sandbox:429=30]]'))
  assert.equal(headers.get('retry-after'), '30')
})
