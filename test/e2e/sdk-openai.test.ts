// OpenAI's own client, told nothing but our address and key.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import OpenAI, {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  RateLimitError,
} from 'openai'
import { createApp } from '../support/app.ts'

const MODELS = ['gpt-4o-mini', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-flash']

const service = await createApp({ settings: { WELCOME_CREDITS: '1000000000' } })
const address = await service.app.listen({ port: 0, host: '127.0.0.1' })
const person = await service.register()
const { key } = await service.createKey(person.bearer)
const client = new OpenAI({ baseURL: `${address}/v1`, apiKey: key, maxRetries: 0 })

const ABOUT_WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object' as const,
    properties: { city: { type: 'string' as const } },
    required: ['city'],
    additionalProperties: false,
  },
}
const WEATHER: OpenAI.ChatCompletionTool = { type: 'function', function: ABOUT_WEATHER }

const say = (content: string) => [{ role: 'user' as const, content }]

type Svc = { credits_used: number; balance_before: number; balance_after: number }

for (const model of MODELS) {
  test(`${model}: create returns a completion, and the cost of the call beside it`, async () => {
    const completion = await client.chat.completions.create({
      model,
      messages: [{ role: 'system', content: 'Be brief.' }, ...say('[[sandbox:echo]] Hello.')],
    })
    assert.equal(completion.choices[0]?.message.content, 'Hello.')
    assert.equal(completion.choices[0]?.finish_reason, 'stop')
    assert.equal(completion.model, model)
    const { svc } = completion as typeof completion & { svc: Svc }
    assert.ok(svc.credits_used > 0)
    assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
  })

  test(`${model}: a raw stream can be read to its end, and no chunk surprises the loop`, async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: say('[[sandbox:echo]] One two three four five.'),
      stream: true,
    })
    let text = ''
    let finish: string | null = null
    for await (const chunk of stream) {
      const [choice] = chunk.choices
      assert.ok(choice, 'every chunk has a choice when usage was not asked for')
      text += choice.delta.content ?? ''
      finish = choice.finish_reason
    }
    assert.equal(text, 'One two three four five.')
    assert.equal(finish, 'stop')
  })

  test(`${model}: the numbers of a stream can be read from its raw bytes, after [DONE]`, async () => {
    const response = await client.chat.completions
      .create({ model, messages: say('Hello.'), stream: true })
      .asResponse()
    const body = await response.text()
    const [, trailer] = /\n\ndata: \[DONE\]\n\ndata: (.*)\n\n$/.exec(body) ?? []
    const { svc } = JSON.parse(trailer ?? '') as { svc: Svc }
    assert.equal(svc.balance_before - svc.credits_used, svc.balance_after)
    const balance = await fetch(`${address}/v1/balance`, {
      headers: { authorization: `Bearer ${key}` },
    })
    assert.equal(((await balance.json()) as { balance: number }).balance, svc.balance_after)
  })

  test(`${model}: the stream helper gives the final completion with its usage`, async () => {
    const stream = client.chat.completions.stream({
      model,
      messages: say('[[sandbox:tokens=40]]'),
      stream_options: { include_usage: true },
    })
    let heard = ''
    stream.on('content', (delta) => {
      heard += delta
    })
    const final = await stream.finalChatCompletion()
    assert.equal(final.choices[0]?.message.content, heard)
    assert.equal(final.choices[0]?.finish_reason, 'stop')
    assert.ok(final.usage && final.usage.completion_tokens >= 40)
  })

  test(`${model}: the tool helper runs our tools and brings their results back`, async () => {
    const cities: string[] = []
    const runner = client.chat.completions.runTools({
      model,
      messages: say('[[sandbox:tool=2]] Weather?'),
      tools: [
        {
          type: 'function',
          function: {
            ...ABOUT_WEATHER,
            parse: JSON.parse as (input: string) => { city: string },
            function: ({ city }: { city: string }) => {
              cities.push(city)
              return `Sunny in ${city}.`
            },
          },
        },
      ],
      stream: true,
    })
    const answer = await runner.finalContent()
    assert.equal(cities.length, 2)
    assert.ok(answer)
  })

  test(`${model}: parallel calls of a stream are put together by the helper`, async () => {
    const stream = client.chat.completions.stream({
      model,
      messages: say('[[sandbox:tool=2]]'),
      tools: [WEATHER],
    })
    const [choice] = (await stream.finalChatCompletion()).choices
    assert.equal(choice?.finish_reason, 'tool_calls')
    const calls = choice.message.tool_calls ?? []
    assert.equal(calls.length, 2)
    for (const call of calls) {
      assert.ok(call.type === 'function')
      assert.equal(typeof (JSON.parse(call.function.arguments) as { city: unknown }).city, 'string')
    }
  })

  test(`${model}: structured output is parsed by the helper`, async () => {
    const schema = {
      type: 'object',
      properties: { answer: { type: 'string' }, sure: { type: 'boolean' } },
      required: ['answer', 'sure'],
      additionalProperties: false,
    }
    const completion = await client.chat.completions.parse({
      model,
      messages: say('Are you sure?'),
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'reply', schema, strict: true },
      },
    })
    const parsed = completion.choices[0]?.message.parsed as {
      answer: unknown
      sure: unknown
    } | null
    assert.equal(typeof parsed?.answer, 'string')
    assert.equal(typeof parsed?.sure, 'boolean')
  })

  test(`${model}: provider failures arrive as the client's own classes, with our code`, async () => {
    const failure = (prompt: string, stream: boolean) =>
      client.chat.completions
        .create({ model, messages: say(`[[sandbox:${prompt}]]`), stream })
        .then(
          () => assert.fail('it should have failed'),
          (error: unknown) => error as APIError,
        )
    for (const stream of [false, true]) {
      const limited = await failure('429', stream)
      assert.ok(limited instanceof RateLimitError)
      assert.equal(limited.code, 'provider_rate_limited')
      const down = await failure('500', stream)
      assert.ok(down instanceof InternalServerError)
      assert.deepEqual([down.status, down.code], [503, 'provider_unavailable'])
      const blocked = await failure('blocked', stream)
      assert.ok(blocked instanceof BadRequestError)
      assert.equal(blocked.code, 'content_filtered')
    }
  })

  test(`${model}: a stream that breaks throws our code after what came before`, async () => {
    const stream = await client.chat.completions.create({
      model,
      messages: say('[[sandbox:tokens=60]] [[sandbox:cut]]'),
      stream: true,
    })
    let text = ''
    await assert.rejects(
      async () => {
        for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
      },
      (error: unknown) => error instanceof APIError && error.code === 'provider_unavailable',
    )
    assert.notEqual(text, '')
  })
}

test('a wrong key, an unknown model and an empty wallet are the errors of their status', async () => {
  const model = 'gpt-4o-mini'
  const stranger = client.withOptions({ apiKey: 'svc_key_nobody' })
  await assert.rejects(
    stranger.chat.completions.create({ model, messages: say('Hi.') }),
    (error: unknown) => error instanceof AuthenticationError && error.code === 'invalid_api_key',
  )
  await assert.rejects(
    client.chat.completions.create({ model: 'gpt-99', messages: say('Hi.') }),
    (error: unknown) => error instanceof NotFoundError && error.code === 'model_not_found',
  )
  const poor = await createApp({ settings: { WELCOME_CREDITS: '0' } })
  const baseURL = `${await poor.app.listen({ port: 0, host: '127.0.0.1' })}/v1`
  const { key: apiKey } = await poor.createKey((await poor.register()).bearer)
  const beggar = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
  await assert.rejects(
    beggar.chat.completions.create({ model, messages: say('Hi.') }),
    (error: unknown) =>
      error instanceof APIError && error.status === 402 && error.code === 'insufficient_credits',
  )
})

test('the models can be listed and looked up', async () => {
  const ids: string[] = []
  for await (const model of client.models.list()) ids.push(model.id)
  for (const model of MODELS) assert.ok(ids.includes(model))
  assert.equal((await client.models.retrieve('gpt-4o-mini')).id, 'gpt-4o-mini')
  const claude = await client.models.retrieve('anthropic/claude-sonnet-4')
  assert.equal(claude.id, 'anthropic/claude-sonnet-4')
  await assert.rejects(client.models.retrieve('gpt-99'), NotFoundError)
})
