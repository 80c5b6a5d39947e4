// Anthropic's own client, told nothing but our address and key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import Anthropic, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from '@anthropic-ai/sdk'
import { createApp } from '../support/app.ts'

const MODELS = ['anthropic/claude-sonnet-4', 'gpt-4o-mini', 'google/gemini-2.5-flash']

const service = await createApp({ settings: { WELCOME_CREDITS: '1000000000' } })
const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
const { key } = await service.createKey((await service.register()).bearer)
const client = new Anthropic({ baseURL: address, apiKey: key, maxRetries: 0 })

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}

const ask = (model: string, content: string) => ({
  model,
  max_tokens: 1_000,
  messages: [{ role: 'user' as const, content }],
})

const textOf = (message: Anthropic.Message) =>
  message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')

type Svc = { credits_used: number; balance_before: number; balance_after: number }

for (const model of MODELS) {
  test(`${model}: create returns a message, and the cost of the call beside it`, async () => {
    const message = await client.messages.create({
      ...ask(model, '[[sandbox:echo]] Hello.'),
      system: 'Be brief.',
    })
    assert.equal(textOf(message), 'Hello.')
    assert.equal(message.stop_reason, 'end_turn')
    assert.equal(message.model, model)
    const { svc } = message as typeof message & { svc: Svc }
    assert.ok(svc.credits_used > 0)
    assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
  })

  test(`${model}: a raw stream can be read to its end`, async () => {
    const stream = await client.messages.create({
      ...ask(model, '[[sandbox:echo]] One two three four five.'),
      stream: true,
    })
    let text = ''
    const types: string[] = []
    for await (const event of stream) {
      types.push(event.type)
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
        text += event.delta.text
      }
    }
    assert.equal(text, 'One two three four five.')
    assert.equal(types[0], 'message_start')
    assert.ok(types.includes('message_stop'))
    assert.ok(types.every((type) => typeof type === 'string'))
  })

  test(`${model}: the numbers of a stream can be read from its raw bytes`, async () => {
    const response = await client.messages
      .create({ ...ask(model, 'Hello.'), stream: true })
      .asResponse()
    const body = await response.text()
    const [, data] = /\n\nevent: svc_usage\ndata: (.*)\n\n$/.exec(body) ?? []
    const svc = JSON.parse(data ?? '') as Svc
    assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
    const balance = await fetch(`${address}/v1/balance`, { headers: { 'x-api-key': key } })
    assert.equal(((await balance.json()) as { balance: number }).balance, svc.balance_after)
  })

  test(`${model}: the stream helper gives the final message with its usage`, async () => {
    const stream = client.messages.stream(ask(model, '[[sandbox:tokens=40]]'))
    let heard = ''
    stream.on('text', (delta) => {
      heard += delta
    })
    const final = await stream.finalMessage()
    assert.equal(textOf(final), heard)
    assert.equal(await stream.finalText(), heard)
    assert.equal(final.stop_reason, 'end_turn')
    assert.ok(final.usage.output_tokens >= 40)
    assert.ok(final.usage.input_tokens > 0)
  })

  test(`${model}: parallel calls of a stream are put together, and their results go back`, async () => {
    const question = ask(model, '[[sandbox:tool=2]] Weather?')
    const stream = client.messages.stream({ ...question, tools: [WEATHER] })
    const called = await stream.finalMessage()
    assert.equal(called.stop_reason, 'tool_use')
    const calls = called.content.filter((block) => block.type === 'tool_use')
    assert.equal(calls.length, 2)
    for (const { input } of calls) {
      assert.equal(typeof (input as { city: unknown }).city, 'string')
    }
    const answer = await client.messages.create({
      ...question,
      tools: [WEATHER],
      messages: [
        ...question.messages,
        { role: 'assistant', content: called.content },
        {
          role: 'user',
          content: calls.map(({ id }) => ({
            type: 'tool_result' as const,
            tool_use_id: id,
            content: 'Sunny.',
          })),
        },
      ],
    })
    assert.equal(answer.stop_reason, 'end_turn')
    assert.notEqual(textOf(answer), '')
  })

  test(`${model}: provider failures arrive as the client's own classes, with our code`, async () => {
    const failure = (prompt: string, stream: boolean) =>
      client.messages.create({ ...ask(model, `[[sandbox:${prompt}]]`), stream }).then(
        () => assert.fail('it should have failed'),
        (error: unknown) => error as APIError,
      )
    for (const stream of [false, true]) {
      const limited = await failure('429', stream)
      assert.ok(limited instanceof RateLimitError)
      assert.equal(codeOf(limited), 'provider_rate_limited')
      const down = await failure('500', stream)
      assert.ok(down instanceof InternalServerError)
      assert.deepEqual([down.status, codeOf(down)], [503, 'provider_unavailable'])
      const blocked = await failure('blocked', stream)
      assert.ok(blocked instanceof BadRequestError)
      assert.equal(codeOf(blocked), 'content_filtered')
    }
  })

  test(`${model}: a stream that breaks rejects the helper with our code`, async () => {
    const stream = client.messages.stream(ask(model, '[[sandbox:tokens=60]] [[sandbox:cut]]'))
    let heard = ''
    stream.on('text', (delta) => {
      heard += delta
    })
    await assert.rejects(
      stream.finalMessage(),
      (error: unknown) => error instanceof APIError && codeOf(error) === 'provider_unavailable',
    )
    assert.notEqual(heard, '')
  })

  test(`${model}: the tokens of a prompt can be counted`, async () => {
    const { messages } = ask(model, 'How long is this?')
    const { input_tokens } = await client.messages.countTokens({ model, messages })
    assert.ok(input_tokens > 0)
  })
}

for (const model of MODELS) {
  test(`${model}: structured output is JSON of the schema`, async () => {
    const message = await client.messages.create({
      ...ask(model, 'Are you sure?'),
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            type: 'object',
            properties: { sure: { type: 'boolean' } },
            required: ['sure'],
            additionalProperties: false,
          },
        },
      },
    })
    assert.equal(typeof (JSON.parse(textOf(message)) as { sure: unknown }).sure, 'boolean')
  })
}

test('thinking comes as a block with its signature, and can be sent back with a tool result', async () => {
  const question = {
    ...ask('anthropic/claude-sonnet-4', 'Think. [[sandbox:tool]]'),
    max_tokens: 4_000,
    thinking: { type: 'enabled' as const, budget_tokens: 2_000 },
    tools: [WEATHER],
  }
  const thought = await client.messages.stream(question).finalMessage()
  const [first] = thought.content
  assert.ok(first?.type === 'thinking')
  assert.notEqual(first.signature, '')
  const call = thought.content.find((block) => block.type === 'tool_use')
  assert.ok(call)
  const answer = await client.messages.create({
    ...question,
    messages: [
      ...question.messages,
      { role: 'assistant', content: thought.content },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: call.id, content: 'Sunny.' }],
      },
    ],
  })
  assert.equal(answer.stop_reason, 'end_turn')
})

test('the tool runner asks for a thread, is told that there is none, and sends whole conversations', async () => {
  const runner = client.beta.messages.toolRunner({
    ...ask('anthropic/claude-sonnet-4', 'Weather? [[sandbox:tool]]'),
    tools: [{ ...WEATHER, type: 'custom', run: () => 'Sunny.', parse: (input: unknown) => input }],
    max_iterations: 3,
  })
  const answer = await runner.runUntilDone()
  assert.equal(answer.stop_reason, 'end_turn')
  const sent = runner.params.messages.map(({ role }) => role)
  assert.deepEqual(sent.slice(0, 3), ['user', 'assistant', 'user'])
  const thread = { type: 'create' as const }
  await assert.rejects(
    client.beta.messages.create({ ...ask('gpt-4o-mini', 'Hi.'), thread }),
    (error: unknown) => {
      assert.ok(error instanceof BadRequestError)
      const { error: body } = error.error as { error: { details: unknown } }
      assert.deepEqual(body.details, { error_code: 'thread_unsupported_request' })
      return true
    },
  )
})

test('betas are relayed, named or refused, one by one', async () => {
  const question = ask('anthropic/claude-sonnet-4', 'Hi.')
  const { response } = await client.beta.messages
    .create({
      ...question,
      betas: ['interleaved-thinking-2025-05-14', 'brand-new-2027-01-01'],
      speed: 'fast',
    })
    .withResponse()
  assert.equal(
    response.headers.get('x-svc-ignored-fields'),
    'speed, anthropic-beta: brand-new-2027-01-01',
  )
  await assert.rejects(
    client.beta.messages.create({ ...question, betas: ['context-1m-2025-08-07'] }),
    (error: unknown) => error instanceof BadRequestError && /context-1m/.test(error.message),
  )
  const elsewhere = await client.beta.messages
    .create({
      ...ask('gpt-4o-mini', 'Hi.'),
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      output_config: { task_budget: { type: 'tokens', total: 50_000 } },
      betas: ['interleaved-thinking-2025-05-14'],
    })
    .withResponse()
  assert.equal(
    elsewhere.response.headers.get('x-svc-ignored-fields'),
    'system[].cache_control, output_config.task_budget, anthropic-beta: interleaved-thinking-2025-05-14',
  )
})

test('tools of Claude that the client runs are taken for Claude, and refused for others', async () => {
  const tools = [{ type: 'bash_20250124' as const, name: 'bash' as const }]
  const message = await client.messages.create({
    ...ask('anthropic/claude-sonnet-4', '[[sandbox:echo]] Hello.'),
    tools,
  })
  assert.equal(textOf(message), 'Hello.')
  await assert.rejects(
    client.messages.create({ ...ask('gpt-4o-mini', 'Hi.'), tools }),
    (error: unknown) => error instanceof BadRequestError && /bash_20250124/.test(error.message),
  )
})

test('a refusal without a word is a message that says so, and is charged as reported', async () => {
  const question = ask('anthropic/claude-sonnet-4', '[[sandbox:refusal]]')
  for (const message of [
    await client.messages.create(question),
    await client.messages.stream(question).finalMessage(),
  ]) {
    assert.equal(message.stop_reason, 'refusal')
    assert.deepEqual(message.content, [])
  }
})

test('an instruction in the middle of a conversation reaches every model', async () => {
  for (const model of MODELS) {
    const message = await client.messages.create({
      ...ask(model, ''),
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'Say it again.' },
        { role: 'system', content: '[[sandbox:echo]] From the middle.' },
      ],
    })
    assert.equal(message.stop_reason, 'end_turn')
    // OpenAI takes it as a message of its own, where its stand-in reads no directives.
    if (model !== 'gpt-4o-mini') assert.match(textOf(message), /From the middle\./)
  }
})

test('a wrong key, an unknown model and an empty wallet are the errors of their status', async () => {
  const question = ask('anthropic/claude-sonnet-4', 'Hi.')
  const stranger = client.withOptions({ apiKey: 'svc_key_nobody' })
  await assert.rejects(
    stranger.messages.create(question),
    (error: unknown) => error instanceof AuthenticationError && codeOf(error) === 'invalid_api_key',
  )
  await assert.rejects(
    client.messages.create({ ...question, model: 'claude-99' }),
    (error: unknown) => error instanceof NotFoundError && codeOf(error) === 'model_not_found',
  )
  const poor = await createApp({ settings: { WELCOME_CREDITS: '0' } })
  const baseURL = await poor.app.listen({ port: 0, host: '127.0.0.1' })
  const { key: apiKey } = await poor.createKey((await poor.register()).bearer)
  await assert.rejects(
    new Anthropic({ baseURL, apiKey, maxRetries: 0 }).messages.create(question),
    (error: unknown) =>
      error instanceof APIError && error.status === 402 && codeOf(error) === 'insufficient_credits',
  )
})

test('the models can be listed and looked up', async () => {
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(model.id)
  for (const model of MODELS) assert.ok(ids.includes(model))
  const claude = await client.models.retrieve('anthropic/claude-sonnet-4')
  assert.deepEqual([claude.id, claude.type], ['anthropic/claude-sonnet-4', 'model'])
})

/** Anthropic's envelope, as the client hands it on. */
function codeOf(error: APIError): string | undefined {
  const body: { error?: { code?: string } } | undefined = error.error
  return body?.error?.code
}
