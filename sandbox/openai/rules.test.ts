// The rules of OpenAI's models that a client meets late: windows, families, deprecated forms.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { listOf, textOf } from '../json.ts'
import { type Sandbox, startSandbox } from '../main.ts'
import { dig, digNumber, digText, keysOf, LONG_TEXT, post, readEvents } from '../test-client.ts'

const WEATHER = {
  name: 'get_weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}
const TOOL = { type: 'function', function: WEATHER }
const SHELL = { type: 'custom', custom: { name: 'shell', description: 'Runs a command' } }
const SUCCESSORS = ['gpt-5.6-sol', 'gpt-5.6-terra', 'gpt-5.6-luna', 'gpt-6-luna']
let sandbox: Sandbox

before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await sandbox.close()
})

async function chat(content: unknown, more: object = {}) {
  const body = { model: 'gpt-4o', messages: [{ role: 'user', content }], ...more }
  return await post(
    `${sandbox.urls.openai}/chat/completions`,
    { authorization: 'Bearer sk-test' },
    body,
  )
}

/** About so many tokens, a little more for the role. */
function words(tokens: number): string {
  return 'word '.repeat(Math.floor((tokens * 4) / 5))
}

async function refusal(content: unknown, more: object): Promise<unknown> {
  const { status, body, text } = await chat(content, more)
  assert.equal(status, 400, text)
  return dig(body, 'error')
}

const WINDOWS: readonly [model: string, window: number, limit: number][] = [
  ['gpt-4', 8_192, 4_096],
  ['gpt-3.5-turbo', 16_385, 4_096],
  ['gpt-4-turbo', 128_000, 4_096],
  ['gpt-4o', 128_000, 16_384],
  ['gpt-4o-mini', 128_000, 16_384],
]

for (const [model, window, limit] of WINDOWS) {
  test(`${model} refuses a prompt and a limit that exceed its window together`, async () => {
    const prompt = words(window - limit + 50)
    for (const field of ['max_tokens', 'max_completion_tokens']) {
      const error = await refusal(prompt, { model, [field]: limit })
      assert.equal(dig(error, 'code'), 'context_length_exceeded')
      assert.equal(dig(error, 'param'), 'messages')
      assert.match(
        digText(error, 'message'),
        new RegExp(
          `^This model's maximum context length is ${window} tokens\\. However, you requested \\d+ tokens \\(\\d+ in the messages, ${limit} in the completion\\)\\. Please reduce the length of the messages or completion\\.$`,
        ),
      )
    }
    assert.equal((await chat(prompt, { model })).status, 200)
    assert.equal((await chat(prompt, { model, max_tokens: limit - 200 })).status, 200)
  })

  test(`${model} refuses a limit above what it can write`, async () => {
    const error = await refusal('Hi', { model, max_tokens: limit + 1 })
    assert.equal(dig(error, 'param'), 'max_tokens')
    assert.match(digText(error, 'message'), /^max_tokens is too large: /)
  })

  test(`${model} refuses a prompt that is too long by itself`, async () => {
    const error = await refusal(words(window + 10), { model })
    assert.equal(dig(error, 'code'), 'context_length_exceeded')
    assert.match(digText(error, 'message'), /However, your messages resulted in \d+ tokens\./)
  })
}

test('gpt-5 has a limit of its own for the prompt, and says so in its own words', async () => {
  const error = await refusal(words(272_050), { model: 'gpt-5' })
  assert.equal(dig(error, 'code'), 'context_length_exceeded')
  assert.match(
    digText(error, 'message'),
    /^Input tokens exceed the configured limit of 272000 tokens\. Your messages resulted in \d+ tokens\./,
  )
  const most = { model: 'gpt-5-mini', max_completion_tokens: 128_000 }
  assert.equal((await chat(words(271_000), most)).status, 200)
})

for (const model of SUCCESSORS) {
  test(`${model} takes functions only when it is told not to reason`, async () => {
    for (const more of [{}, { reasoning_effort: 'low' }]) {
      const error = await refusal('Hi', { model, tools: [TOOL], ...more })
      assert.deepEqual(error, {
        message: `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
        type: 'invalid_request_error',
        param: 'reasoning_effort',
        code: null,
      })
    }
    const none = { model, tools: [TOOL], reasoning_effort: 'none' }
    const { body } = await chat('Go [[sandbox:tool]]', none)
    assert.equal(dig(body, 'choices.0.message.tool_calls.0.type'), 'function')
    assert.equal(dig(body, 'usage.completion_tokens_details.reasoning_tokens'), 0)
    const old = await refusal('Hi', { model, functions: [WEATHER] })
    assert.equal(dig(old, 'param'), 'reasoning_effort')
  })

  test(`${model} refuses minimal effort and takes more than the high one`, async () => {
    const error = await refusal('Hi', { model, reasoning_effort: 'minimal' })
    assert.equal(dig(error, 'code'), 'unsupported_value')
    assert.equal(dig(error, 'param'), 'reasoning_effort')
    assert.equal((await chat('Hi', { model, reasoning_effort: 'xhigh' })).status, 200)
  })

  test(`${model} reports what it wrote to the cache, and gpt-5 does not`, async () => {
    const first = await chat(`${LONG_TEXT} ${model}`, { model })
    const details = 'usage.prompt_tokens_details'
    assert.ok(digNumber(first.body, `${details}.cache_write_tokens`) >= 1_024)
    const second = await chat(`${LONG_TEXT} ${model}`, { model })
    assert.equal(dig(second.body, `${details}.cache_write_tokens`), 0)
    assert.ok(digNumber(second.body, `${details}.cached_tokens`) >= 1_024)
    const other = await chat(LONG_TEXT, { model: 'gpt-5' })
    assert.ok(!keysOf(dig(other.body, details)).includes('cache_write_tokens'))
  })
}

test('gpt-5 calls a free-text tool with text, whole and streamed', async () => {
  const more = { model: 'gpt-5', tools: [SHELL] }
  const { body } = await chat('Go [[sandbox:tool]]', more)
  const call = dig(body, 'choices.0.message.tool_calls.0')
  assert.deepEqual(keysOf(call), ['id', 'type', 'custom'])
  assert.equal(dig(call, 'custom.name'), 'shell')
  const input = digText(call, 'custom.input')
  assert.equal(dig(body, 'choices.0.finish_reason'), 'tool_calls')
  const { text } = await chat('Go [[sandbox:tool]]', { ...more, stream: true })
  const deltas = readEvents(text).map((event) => dig(event.body, 'choices.0.delta.tool_calls.0'))
  const pieces = deltas.map((delta) => textOf(dig(delta, 'custom.input')))
  assert.equal(pieces.join(''), input)
  const opening = deltas.find((delta) => dig(delta, 'type') === 'custom')
  assert.equal(dig(opening, 'custom.name'), 'shell')
  const answer = { role: 'tool', tool_call_id: dig(call, 'id'), content: 'done' }
  const assistant = { role: 'assistant', content: null, tool_calls: [call] }
  const messages = [{ role: 'user', content: 'Go' }, assistant, answer]
  assert.equal((await chat('', { ...more, messages })).status, 200)
})

test('free-text tools are refused by older models, and with a grammar that is none', async () => {
  const old = await refusal('Hi', { tools: [SHELL] })
  assert.equal(dig(old, 'param'), 'tools[0].type')
  const format = { type: 'grammar', grammar: { syntax: 'bnf', definition: 'x' } }
  const tools = [{ type: 'custom', custom: { name: 'shell', format } }]
  const wrong = await refusal('Hi', { model: 'gpt-5', tools })
  assert.equal(dig(wrong, 'param'), 'tools[0].custom.format.grammar.syntax')
})

test('functions in the deprecated form are answered in the same form', async () => {
  const { body } = await chat('Go [[sandbox:tool=2]]', { functions: [WEATHER] })
  const message = dig(body, 'choices.0.message')
  assert.equal(dig(message, 'content'), null)
  assert.equal(dig(message, 'tool_calls'), undefined)
  assert.deepEqual(keysOf(dig(message, 'function_call')), ['name', 'arguments'])
  assert.deepEqual(keysOf(JSON.parse(digText(message, 'function_call.arguments'))), ['city'])
  assert.equal(dig(body, 'choices.0.finish_reason'), 'function_call')
  const result = { role: 'function', name: 'get_weather', content: 'sunny' }
  const messages = [{ role: 'user', content: 'Weather? [[sandbox:tool]]' }, message, result]
  const second = await chat('', { messages, functions: [WEATHER] })
  assert.match(digText(second.body, 'choices.0.message.content'), /The tool answered: "sunny"/)
})

test('a function in the deprecated form is streamed in pieces of its arguments', async () => {
  const more = { model: 'gpt-3.5-turbo', functions: [WEATHER] }
  const { body } = await chat('Go', { ...more, function_call: { name: 'get_weather' } })
  const { text } = await chat('Go', {
    ...more,
    function_call: { name: 'get_weather' },
    stream: true,
  })
  const choices = readEvents(text).map((event) => dig(event.body, 'choices.0'))
  const pieces = choices.map((choice) => dig(choice, 'delta.function_call'))
  assert.equal(dig(pieces.find(Boolean), 'name'), 'get_weather')
  assert.equal(
    pieces.map((piece) => textOf(dig(piece, 'arguments'))).join(''),
    dig(body, 'choices.0.message.function_call.arguments'),
  )
  assert.ok(choices.some((choice) => dig(choice, 'finish_reason') === 'function_call'))
})

test('a choice of function needs functions, and one that is there', async () => {
  const none = await refusal('Hi', { function_call: 'auto' })
  assert.equal(dig(none, 'param'), 'function_call')
  const other = await refusal('Hi', { functions: [WEATHER], function_call: { name: 'x' } })
  assert.match(digText(other, 'message'), /no function named x/)
  const { body } = await chat('[[sandbox:tool]]', { functions: [WEATHER], function_call: 'none' })
  assert.equal(dig(body, 'choices.0.finish_reason'), 'stop')
})

test('a prediction is taken by the gpt-4o family, and what was in vain is billed', async () => {
  const content = 'A text that will not be written like this.'
  const prediction = { type: 'content', content }
  const { body } = await chat('Hi', { prediction })
  const details = 'usage.completion_tokens_details'
  assert.equal(digNumber(body, `${details}.rejected_prediction_tokens`), 11)
  const plain = await chat('Hi')
  assert.equal(
    digNumber(body, 'usage.completion_tokens') - digNumber(plain.body, 'usage.completion_tokens'),
    11,
  )
  const same = digText(plain.body, 'choices.0.message.content')
  const right = await chat('Hi', { prediction: { type: 'content', content: same } })
  assert.equal(dig(right.body, `${details}.rejected_prediction_tokens`), 0)
  assert.ok(digNumber(right.body, `${details}.accepted_prediction_tokens`) > 0)
})

test('a prediction is refused by other models, and beside what it does not go with', async () => {
  const prediction = { type: 'content', content: 'x' }
  for (const model of ['gpt-4', 'gpt-3.5-turbo', 'gpt-4-turbo', 'gpt-5', 'gpt-5.6-sol']) {
    const error = await refusal('Hi', { model, prediction })
    assert.equal(dig(error, 'code'), 'unsupported_parameter')
    assert.equal(dig(error, 'param'), 'prediction')
  }
  const beside = [{ tools: [TOOL] }, { n: 2 }, { presence_penalty: 1 }, { logprobs: true }]
  for (const more of beside) {
    const error = await refusal('Hi', { prediction, ...more })
    assert.equal(dig(error, 'param'), keysOf(more)[0])
  }
})

test('stop sequences and samplings are refused by every model that reasons', async () => {
  const fields = [{ stop: 'x' }, { top_p: 0.5 }, { presence_penalty: 1 }, { logit_bias: {} }]
  for (const model of ['gpt-5', 'gpt-5-mini', ...SUCCESSORS]) {
    for (const more of fields) {
      const error = await refusal('Hi', { model, ...more })
      assert.equal(dig(error, 'code'), 'unsupported_parameter')
    }
    assert.equal((await chat('Hi', { model, verbosity: 'low' })).status, 200)
  }
  assert.equal(dig(await refusal('Hi', { verbosity: 'low' }), 'param'), 'verbosity')
})

test('an end that nobody has heard of comes without words', async () => {
  const { body } = await chat('Hi [[sandbox:finish=mystery]]')
  assert.equal(dig(body, 'choices.0.finish_reason'), 'mystery')
  assert.equal(dig(body, 'choices.0.message.content'), '')
  assert.equal(listOf(dig(body, 'choices.0.message.tool_calls')).length, 0)
})

test('gpt-5.4 and gpt-5.5 take functions unless an effort is sent with them', async () => {
  for (const model of ['gpt-5.4', 'gpt-5.5']) {
    const free = await chat('Go [[sandbox:tool]]', { model, tools: [TOOL] })
    assert.equal(free.status, 200, free.text)
    const none = await chat('Go', { model, tools: [TOOL], reasoning_effort: 'none' })
    assert.equal(none.status, 200, none.text)
    const error = await refusal('Go', { model, tools: [TOOL], reasoning_effort: 'low' })
    assert.equal(dig(error, 'param'), 'reasoning_effort')
    assert.match(digText(error, 'message'), /use \/v1\/responses/)
  }
})

test('a model of the Responses API alone is not found in chat completions', async () => {
  for (const model of ['gpt-5-codex', 'gpt-5-pro']) {
    const { status, body } = await chat('Hello', { model })
    assert.equal(status, 404)
    assert.equal(dig(body, 'error.param'), 'model')
    assert.match(digText(body, 'error.message'), /only supported in v1\/responses/)
  }
})
