// The Responses API through OpenAI's own client: what a response is, whole and as a stream.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import OpenAI, { APIError } from 'openai'
import type {
  ResponseCreateParamsNonStreaming,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses'
import { type Sandbox, startSandbox } from '../../main.ts'
import { dig, digNumber, LONG_TEXT, post, readEvents } from '../../test-client.ts'

const WEATHER = {
  type: 'function' as const,
  name: 'get_weather',
  description: 'Weather of a place',
  strict: true,
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}
const SHELL = { type: 'custom' as const, name: 'shell', description: 'Runs a command' }
let sandbox: Sandbox
let client: OpenAI

before(async () => {
  sandbox = await startSandbox({ port: 0 })
  client = new OpenAI({ baseURL: sandbox.urls.openai, apiKey: 'sk-test', maxRetries: 0 })
})
after(async () => {
  await sandbox.close()
})

async function create(input: string, more: Partial<ResponseCreateParamsNonStreaming> = {}) {
  return await client.responses.create({ model: 'gpt-5.6-sol', input, ...more })
}

async function listEvents(input: string, more: Partial<ResponseCreateParamsNonStreaming> = {}) {
  const params = { model: 'gpt-5.6-sol', input, ...more, stream: true } as const
  const events: ResponseStreamEvent[] = []
  for await (const event of await client.responses.create(params)) events.push(event)
  return events
}

/** The order of the events, with repeated deltas told once. */
function typesOf(events: readonly { type: string }[]): string[] {
  const types = events.map(({ type }) => type.replace('response.', ''))
  return types.filter((type, at) => type !== types[at - 1])
}

test('a response has every documented field, its reasoning and its text', async () => {
  const response = await create('Hello there')
  assert.match(response.id, /^resp_/)
  assert.equal(response.object, 'response')
  assert.equal(response.status, 'completed')
  assert.equal(response.model, 'gpt-5.6-sol')
  assert.equal(dig(response, 'store'), true)
  assert.deepEqual(response.reasoning, { effort: 'medium', summary: null })
  assert.deepEqual(response.text, { format: { type: 'text' }, verbosity: 'medium' })
  const [reasoning, message] = response.output
  assert.equal(reasoning?.type, 'reasoning')
  assert.equal('encrypted_content' in (reasoning ?? {}), false)
  assert.equal(message?.type === 'message' && message.phase, 'final_answer')
  assert.match(response.output_text, /gpt-5.6-sol in the sandbox. You said: "Hello there"/)
  const { usage } = response
  assert.equal(usage?.output_tokens_details.reasoning_tokens, 128)
  assert.equal(usage?.total_tokens, (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0))
})

test('a model that does not reason gives text only, and says nothing of phases', async () => {
  const response = await create('Hello', { model: 'gpt-4o' })
  assert.deepEqual(
    response.output.map(({ type }) => type),
    ['message'],
  )
  assert.equal(JSON.stringify(response.output).includes('phase'), false)
  assert.equal(response.model, 'gpt-4o-2024-08-06')
  assert.deepEqual(response.reasoning, { effort: null, summary: null })
})

test('the stream of a text has every event in order, numbered without gaps', async () => {
  const events = await listEvents('Tell me', { reasoning: { summary: 'detailed' } })
  const part = [
    'reasoning_summary_part.added',
    'reasoning_summary_text.delta',
    'reasoning_summary_text.done',
    'reasoning_summary_part.done',
  ]
  assert.deepEqual(typesOf(events), [
    'created',
    'in_progress',
    'output_item.added',
    ...part,
    ...part,
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ])
  assert.deepEqual(
    events.map((event) => event.sequence_number),
    events.map((_, at) => at),
  )
})

test('a stream adds up to the same response that is answered whole', async () => {
  const params = { input: 'Twice the same', reasoning: { summary: 'auto' as const } }
  const whole = await create(params.input, params)
  const streamed = await client.responses
    .stream({ model: 'gpt-5.6-sol', ...params })
    .finalResponse()
  assert.equal(streamed.output_text, whole.output_text)
  assert.deepEqual(streamed.usage, whole.usage)
  assert.deepEqual(
    streamed.output.map(({ type }) => type),
    whole.output.map(({ type }) => type),
  )
  assert.deepEqual(dig(streamed, 'output.0.summary'), dig(whole, 'output.0.summary'))
})

test('calls of functions are items of their own, also several at once', async () => {
  const response = await create('Go [[sandbox:tool=2]]', { tools: [WEATHER] })
  const calls = response.output.filter((item) => item.type === 'function_call')
  assert.equal(calls.length, 2)
  assert.notEqual(calls[0]?.call_id, calls[1]?.call_id)
  assert.equal(typeof dig(JSON.parse(calls[0]?.arguments ?? ''), 'city'), 'string')
  const single = await create('Go [[sandbox:tool=2]]', {
    tools: [WEATHER],
    parallel_tool_calls: false,
  })
  assert.equal(single.output.filter((item) => item.type === 'function_call').length, 1)
})

test('the stream of calls grows one call after the other', async () => {
  const events = await listEvents('Go [[sandbox:tool=2]]', { model: 'gpt-4o', tools: [WEATHER] })
  const call = [
    'output_item.added',
    'function_call_arguments.delta',
    'function_call_arguments.done',
    'output_item.done',
  ]
  assert.deepEqual(typesOf(events), ['created', 'in_progress', ...call, ...call, 'completed'])
  const final = await client.responses
    .stream({ model: 'gpt-4o', input: 'Go [[sandbox:tool=2]]', tools: [WEATHER] })
    .finalResponse()
  assert.deepEqual(
    final.output.map((item) => item.type === 'function_call' && item.status),
    ['completed', 'completed'],
  )
})

test('a custom tool is called with free text', async () => {
  const response = await create('Go [[sandbox:tool]]', { tools: [SHELL] })
  const call = response.output.find((item) => item.type === 'custom_tool_call')
  assert.match(call?.id ?? '', /^ctc_/)
  assert.ok((call?.input ?? '').length > 0)
  const events = await listEvents('Go [[sandbox:tool]]', { tools: [SHELL] })
  const types = typesOf(events)
  assert.ok(types.includes('custom_tool_call_input.delta'))
  assert.ok(types.includes('custom_tool_call_input.done'))
})

test('a call of a tool in a namespace names both', async () => {
  const space = { type: 'namespace' as const, name: 'maps', description: 'Maps', tools: [WEATHER] }
  const response = await create('Go [[sandbox:tool]]', { tools: [space] })
  const call = response.output.find((item) => item.type === 'function_call')
  assert.equal(call?.name, 'get_weather')
  assert.equal(call?.namespace, 'maps')
})

test('a refusal is a part of a completed message, whole and streamed', async () => {
  const response = await create('No [[sandbox:refusal]]')
  assert.equal(response.status, 'completed')
  const message = response.output.find((item) => item.type === 'message')
  assert.equal(message?.content[0]?.type, 'refusal')
  const types = typesOf(await listEvents('No [[sandbox:refusal]]'))
  assert.ok(types.includes('refusal.delta') && types.includes('refusal.done'))
})

test('an answer that ends early is incomplete and says why', async () => {
  const cut = await create('Long [[sandbox:tokens=500]]', {
    model: 'gpt-4o',
    max_output_tokens: 16,
  })
  assert.equal(cut.status, 'incomplete')
  assert.deepEqual(cut.incomplete_details, { reason: 'max_output_tokens' })
  assert.equal(cut.usage?.output_tokens, 16)
  assert.equal(dig(cut.output, '0.status'), 'incomplete')
  const filtered = await listEvents('Hm [[sandbox:content_filter]]')
  const last = filtered.at(-1)
  assert.equal(last?.type, 'response.incomplete')
  assert.equal(dig(last, 'response.incomplete_details.reason'), 'content_filter')
  const thought = await create('Think [[sandbox:reasoning=40]]', { max_output_tokens: 32 })
  assert.deepEqual(
    thought.output.map(({ type }) => type),
    ['reasoning'],
  )
  assert.equal(thought.usage?.output_tokens, 32)
})

test('structured output fits the schema of text.format', async () => {
  const schema = WEATHER.parameters
  const format = { type: 'json_schema' as const, name: 'place', schema, strict: true }
  const response = await create('Where?', { text: { format } })
  assert.deepEqual(Object.keys(JSON.parse(response.output_text)), ['city'])
  assert.deepEqual(response.text?.format, format)
  const loose = await create('Some JSON', { text: { format: { type: 'json_object' } } })
  assert.deepEqual(Object.keys(JSON.parse(loose.output_text)), ['answer'])
})

test('the same prompt costs the same tokens through chat completions and responses', async () => {
  const { type, ...definition } = WEATHER
  const chat = await client.chat.completions.create({
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'Be short.' },
      { role: 'user', content: LONG_TEXT },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'Sunny' },
      { role: 'user', content: 'And now?' },
    ],
    tools: [{ type, function: definition }],
  })
  const response = await client.responses.create({
    model: 'gpt-4o',
    instructions: 'Be short.',
    input: [
      { role: 'user', content: LONG_TEXT },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Sunny' },
      { role: 'user', content: [{ type: 'input_text', text: 'And now?' }] },
    ],
    tools: [WEATHER],
  })
  assert.equal(response.output_text, chat.choices[0]?.message.content)
  assert.equal(response.usage?.input_tokens, chat.usage?.prompt_tokens)
  assert.equal(response.usage?.output_tokens, chat.usage?.completion_tokens)
  // The chat request left its prompt in the cache, which is the model's and not the interface's.
  assert.ok((response.usage?.input_tokens_details.cached_tokens ?? 0) > 5_000)
})

test('a model that reports cache writes counts them', async () => {
  const first = await create(LONG_TEXT, { model: 'gpt-5.6-luna' })
  assert.ok((first.usage?.input_tokens_details.cache_write_tokens ?? 0) > 5_000)
  const second = await create(LONG_TEXT, { model: 'gpt-5.6-luna' })
  assert.equal(second.usage?.input_tokens_details.cache_write_tokens, 0)
  assert.ok((second.usage?.input_tokens_details.cached_tokens ?? 0) > 5_000)
})

test('deltas are padded unless the client asks for plain ones', async () => {
  const padded = await listEvents('Hello')
  assert.ok(padded.some((event) => 'obfuscation' in event))
  const url = `${sandbox.urls.openai}/responses`
  const body = { model: 'gpt-4o', input: 'Hello', stream: true }
  const options = { stream_options: { include_obfuscation: false } }
  const plain = await post(url, { authorization: 'Bearer sk-test' }, { ...body, ...options })
  assert.equal(plain.text.includes('obfuscation'), false)
  for (const { event, body: data } of readEvents(plain.text)) assert.equal(event, dig(data, 'type'))
})

test('logprobs come with the text when they are included', async () => {
  const include = ['message.output_text.logprobs' as const]
  const response = await create('Hello', { model: 'gpt-4o', include, top_logprobs: 1 })
  assert.equal(digNumber(response.output, '0.content.0.logprobs.0.logprob'), -0.125)
})

test('an error in the middle of a stream is an error event and a failed response', async () => {
  const url = `${sandbox.urls.openai}/responses`
  async function stream(input: string) {
    const body = { model: 'gpt-4o', input, stream: true }
    return readEvents((await post(url, { authorization: 'Bearer sk-test' }, body)).text)
  }
  const both = await stream('Go [[sandbox:error_mid_stream]]')
  assert.deepEqual(
    both.slice(-2).map(({ event }) => event),
    ['error', 'response.failed'],
  )
  assert.deepEqual(
    both.map(({ body }) => dig(body, 'sequence_number')),
    both.map((_, at) => at),
  )
  const failed = await stream('Go [[sandbox:failed_mid_stream]]')
  assert.equal(
    failed.some(({ event }) => event === 'error'),
    false,
  )
  assert.equal(dig(failed.at(-1)?.body, 'response.error.code'), 'server_error')
  await assert.rejects(listEvents('Go [[sandbox:error_mid_stream]]'), APIError)
})

test('the test prompts for errors and accidents work as in chat completions', async () => {
  const statuses: [string, number][] = [
    ['401', 401],
    ['404', 404],
    ['429', 429],
    ['500', 500],
    ['overloaded', 503],
    ['quota', 429],
    ['blocked', 400],
    ['too_long', 400],
    ['failed_mid_stream', 500],
  ]
  for (const [name, status] of statuses) {
    await assert.rejects(create(`Go [[sandbox:${name}]]`), { status }, name)
  }
  await assert.rejects(listEvents('Go [[sandbox:cut_after=response.output_text.delta]]'))
  await assert.rejects(create('Go [[sandbox:hangup]]'))
  const silent = await create('Go [[sandbox:no_usage]]')
  assert.equal(silent.usage, null)
  await assert.rejects(create('Go [[sandbox:unheard]]'), { status: 400, param: 'input' })
})

test('a test prompt names the tool, its arguments, and a sentence before the call', async () => {
  const prompt = '[[sandbox:tool=get_weather]] [[sandbox:announce]]'
  const { output } = await create(`${prompt} [[sandbox:arguments={"city":"Bern"}]]`, {
    tools: [SHELL, WEATHER],
  })
  assert.deepEqual(
    output.map(({ type }) => type),
    ['reasoning', 'message', 'function_call'],
  )
  const call = output.at(-1)
  assert.deepEqual([dig(call, 'name'), dig(call, 'arguments')], ['get_weather', '{"city":"Bern"}'])
  const absent = await create('[[sandbox:tool=get_time]]', { tools: [SHELL, WEATHER] })
  assert.equal(absent.output.at(-1)?.type, 'message')
})
