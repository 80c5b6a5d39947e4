// Clients of OpenAI's older API, of gpt-5's tools and of OpenRouter, told nothing but our address and key.
/* oxlint-disable typescript/no-deprecated -- what OpenAI no longer recommends is what is tested */

import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test } from 'node:test'
import OpenAI from 'openai'
import { chat, startGateway } from '../support/gateway.ts'

const MODELS = ['gpt-4o-mini', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-flash'] as const
const CLAUDE = MODELS[1]

const folder = await mkdtemp(path.join(tmpdir(), 'svc-catalog-'))
const file = path.join(folder, 'catalog.json')
const models = { 'gpt-4o': { upstream_id: 'gpt-6-luna', capabilities: { reasoning: true } } }
await writeFile(file, JSON.stringify({ models }))
const gateway = await startGateway({ CATALOG_FILE: file })
await rm(folder, { recursive: true })
const { key } = await (await gateway.customer(1_000_000_000n)).newKey()
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: key, maxRetries: 0 })

const say = (content: string) => [{ role: 'user' as const, content }]
const WEATHER = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
}

async function post(body: object) {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(body),
  })
  const ignored = response.headers.get('x-svc-ignored-fields')
  const text = await response.text()
  assert.equal(response.status, 200, text)
  return { text, ignored: ignored === null ? [] : ignored.split(', ') }
}

for (const model of MODELS) {
  describe(model, () => {
    const cityOf = (call: { name: string; arguments: string } | null | undefined) => {
      assert.equal(call?.name, 'get_weather')
      const { city } = JSON.parse(call.arguments) as { city: unknown }
      assert.equal(typeof city, 'string')
      return call
    }

    test('functions are called and answered as they were before tools', async () => {
      const asked = say('[[sandbox:tool]] Weather?')
      const first = await client.chat.completions.create({
        model,
        messages: asked,
        functions: [WEATHER],
        function_call: 'auto',
      })
      const [choice] = first.choices
      assert.ok(choice)
      assert.equal(choice.finish_reason, 'function_call')
      assert.equal(choice.message.tool_calls, undefined)
      cityOf(choice.message.function_call)
      const second = await client.chat.completions.create({
        model,
        messages: [
          ...asked,
          choice.message,
          { role: 'function', name: 'get_weather', content: '{"degrees":19}' },
        ],
        functions: [WEATHER],
      })
      assert.equal(second.choices[0]?.finish_reason, 'stop')
      assert.ok(second.choices[0].message.content)
    })

    test('a streamed function call is put together by the helper of the client', async () => {
      const stream = client.chat.completions.stream({
        model,
        messages: say('[[sandbox:tool]] Weather?'),
        functions: [WEATHER],
      })
      const [choice] = (await stream.finalChatCompletion()).choices
      assert.equal(choice?.finish_reason, 'function_call')
      cityOf(choice.message.function_call)
    })
  })
}

for (const model of ['gpt-5-mini', ...MODELS]) {
  test(`${model}: a tool of free text is given text, whole and streamed`, async () => {
    const tools: OpenAI.ChatCompletionTool[] = [
      { type: 'custom', custom: { name: 'run', description: 'Runs a script.' } },
    ]
    const messages = say('[[sandbox:tool]] Run it.')
    const whole = await client.chat.completions.create({ model, messages, tools })
    const [call] = whole.choices[0]?.message.tool_calls ?? []
    assert.ok(whole.choices[0] && call?.type === 'custom')
    assert.equal(call.custom.name, 'run')
    assert.ok(call.custom.input !== '' && !call.custom.input.startsWith('{'))
    const next = await client.chat.completions.create({
      model,
      tools,
      messages: [
        ...messages,
        whole.choices[0].message,
        { role: 'tool', tool_call_id: call.id, content: 'done' },
      ],
    })
    assert.ok(next.choices[0]?.message.content)
    let name = ''
    let input = ''
    let finish: string | null = null
    const stream = await client.chat.completions.create({ model, messages, tools, stream: true })
    for await (const chunk of stream) {
      // The types of the client know no free text in streams.
      const [piece] = (chunk.choices[0]?.delta.tool_calls ?? []) as unknown as {
        custom?: { name?: string; input?: string }
      }[]
      name += piece?.custom?.name ?? ''
      input += piece?.custom?.input ?? ''
      finish = chunk.choices[0]?.finish_reason ?? finish
    }
    assert.deepEqual([name, finish], ['run', 'tool_calls'])
    assert.ok(input !== '' && !input.startsWith('{'))
  })
}

test('a prompt that is marked for the cache is written once, read afterwards, and priced so', async () => {
  const book = Array.from({ length: 3_000 }, (_, index) => `word${index}`).join(' ')
  const system = {
    role: 'system',
    content: [{ type: 'text', text: book, cache_control: { type: 'ephemeral' } }],
  }
  type Numbers = { cached_tokens: number; cache_write_tokens: number }
  const ask = async (question: string) => {
    const messages = [system, ...say(`[[sandbox:tokens=20]] ${question}`)]
    const { text, ignored } = await post({ model: CLAUDE, messages, max_tokens: 100 })
    assert.deepEqual(ignored, [])
    const { usage, svc } = JSON.parse(text) as {
      usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details: Numbers }
      svc: { credits_used: number }
    }
    const { cached_tokens, cache_write_tokens } = usage.prompt_tokens_details
    const fresh = usage.prompt_tokens - cached_tokens - cache_write_tokens
    const price =
      fresh * 3 + cached_tokens * 0.3 + cache_write_tokens * 3.75 + usage.completion_tokens * 15
    assert.equal(svc.credits_used, Math.ceil(Math.round(price * 1000) / 1000))
    return { cached_tokens, cache_write_tokens }
  }
  const first = await ask('Who?')
  assert.ok(first.cache_write_tokens > 1_024)
  assert.equal(first.cached_tokens, 0)
  const second = await ask('Where?')
  assert.deepEqual(second, { cached_tokens: first.cache_write_tokens, cache_write_tokens: 0 })
})

test('a mark for the cache is held for at the price of writing it', async () => {
  const book = 'A word of it. '.repeat(1_000)
  const ask = async (credits: bigint, mark: object) => {
    const caller = await (await gateway.customer(credits)).newKey()
    const messages = [{ role: 'user', content: [{ type: 'text', text: book, ...mark }] }]
    const extra = { messages, max_tokens: 1 }
    return (await chat(gateway.url, { key: caller.key, model: CLAUDE, prompt: '', extra })).status
  }
  // What is just enough without the mark is too little with it: an hour costs twice as much as the prompt.
  let credits = 5_000n
  while ((await ask(credits, {})) === 402 && credits < 1_000_000n) credits = (credits * 5n) / 4n
  assert.equal(await ask(credits, {}), 200)
  const cache_control = { type: 'ephemeral', ttl: '1h' }
  assert.equal(await ask(credits, { cache_control }), 402)
  assert.equal(await ask(credits * 2n, { cache_control }), 200)
})

test('a body for OpenRouter is served, and what nobody does is named', async () => {
  const body = {
    model: CLAUDE,
    messages: [{ role: 'user', name: 'ada', content: '[[sandbox:reasoning=40]] Hello' }],
    stream: true,
    usage: { include: true },
    reasoning: { effort: 'low', exclude: true, summary: 'auto' },
    provider: { order: ['x'] },
    models: ['y'],
    transforms: [],
    top_k: 40,
    top_p: -1,
    min_p: 0.1,
    repetition_penalty: 1,
  }
  const { text, ignored } = await post(body)
  const unheard = ['messages[].name', 'reasoning.summary', 'provider', 'models', 'min_p']
  // Claude takes it, but not while it thinks.
  assert.deepEqual(ignored, [...unheard, 'top_k'])
  assert.match(text, /"reasoning_tokens":[1-9]/)
  assert.doesNotMatch(text, /reasoning_content/)
  const shown = await post({ ...body, reasoning: { effort: 'low' } })
  assert.match(shown.text, /reasoning_content/)
})

test('Claude goes on thinking while it calls tools, since its thoughts come back', async () => {
  const tools = [{ type: 'function', function: WEATHER }]
  const asked = say('[[sandbox:reasoning=40]] [[sandbox:tool]] Weather?')
  const ask = async (messages: object[]) => {
    const body = { model: CLAUDE, messages, tools, reasoning_effort: 'low', max_tokens: 4_000 }
    const { text } = await post(body)
    return JSON.parse(text) as {
      choices: [{ message: { reasoning_details?: object[]; tool_calls?: [{ id: string }] } }]
      usage: { completion_tokens_details: { reasoning_tokens: number } }
    }
  }
  const { message } = (await ask(asked)).choices[0]
  assert.equal(message.reasoning_details?.length, 1)
  const result = { role: 'tool', tool_call_id: message.tool_calls?.[0].id, content: '19 degrees' }
  const kept = await ask([...asked, message, result])
  assert.ok(kept.usage.completion_tokens_details.reasoning_tokens > 0)
  const { reasoning_details: _lost, ...rest } = message
  const lost = await ask([...asked, rest, result])
  assert.equal(lost.usage.completion_tokens_details.reasoning_tokens, 0)
})

test('instructions in mid-conversation keep their place, so there is nothing to name', async () => {
  const messages = [...say('Hello'), { role: 'system', content: 'Be brief.' }]
  for (const model of MODELS) {
    const { text, ignored } = await post({ model, messages })
    assert.deepEqual(ignored, [])
    assert.match(text, /"finish_reason":"stop"/)
  }
})

test('a call that worked with gpt-4o works with its successor, which reasons', async () => {
  const body = {
    model: 'gpt-4o',
    messages: say('[[sandbox:tool]] Weather?'),
    tools: [{ type: 'function', function: WEATHER }],
    temperature: 0.2,
    stop: ['END'],
    reasoning_effort: 'minimal',
  }
  const { text, ignored } = await post(body)
  assert.deepEqual(ignored, ['temperature', 'stop', 'reasoning_effort'])
  assert.match(text, /"finish_reason":"tool_calls"/)
  assert.match(text, /"reasoning_tokens":0/)
})
