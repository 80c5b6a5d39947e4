// OpenAI's models that reason, asked through its Responses API by clients of every format: functions and reasoning go
// together, reasoning comes back to the model that had it, and clients of that format get what OpenAI wrote.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addCaller } from '../support/gateway-caller.ts'
import { type Item, openResponder, say, textOf } from '../support/responses.ts'
import { checkResponsesStream } from '../support/responses-stream.ts'

/** Its provider has shut it down: gpt-5.6-sol serves the name. */
const SUCCEEDED = 'gpt-4'
const OLDER = 'gpt-5-mini'

const me = await openResponder({ MODEL_SUCCESSORS: 'on', PUBLIC_URL: 'https://svc.example' })
const { service } = me
const caller = await addCaller(service)

type Sent = { model: string; input: Item[]; reasoning?: { effort?: string; summary?: string } }
const lastSent = () => {
  const request = service.sandbox.requests().at(-1)
  assert.match(String(request?.path), /\/responses$/)
  return request?.body as Sent & Record<string, unknown>
}
const typesOf = (items: readonly { type: string }[]) => items.map(({ type }) => type)

const PARAMETERS = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const ASKED = 'Weather? [[sandbox:tool]] [[sandbox:reasoning=100]]'
/** After the words of the user: what the model thought and called, and what came of it. */
const TURN = ['message', 'reasoning', 'function_call', 'function_call_output']

describe('functions and reasoning go together, and what was thought comes back', () => {
  test('in chat completions, by `reasoning_details`', async () => {
    const tools = [{ type: 'function', function: { name: 'weather', parameters: PARAMETERS } }]
    const asked = { model: SUCCEEDED, tools, reasoning_effort: 'high' }
    const messages: unknown[] = [{ role: 'user', content: ASKED }]
    const first = await caller.post('openai', { ...asked, messages })
    assert.equal(first.statusCode, 200, first.body)
    assert.deepEqual([lastSent().model, lastSent().reasoning?.effort], ['gpt-5.6-sol', 'high'])
    const [{ message }] = first.json().choices
    const [{ id }] = message.tool_calls
    messages.push(message, { role: 'tool', tool_call_id: id, content: 'Sun' })
    const second = await caller.post('openai', { ...asked, messages })
    assert.equal(second.statusCode, 200, second.body)
    assert.notEqual(second.json().choices[0].message.content, '')
    assert.deepEqual(typesOf(lastSent().input), TURN)
  })

  test('in messages, by the signature of a thinking block', async () => {
    const tools = [{ name: 'weather', input_schema: PARAMETERS }]
    const thinking = { type: 'enabled', budget_tokens: 2_000 }
    const asked = { model: SUCCEEDED, tools, thinking, max_tokens: 4_000 }
    const messages: unknown[] = [{ role: 'user', content: ASKED }]
    const first = await caller.post('anthropic', { ...asked, messages })
    assert.equal(first.statusCode, 200, first.body)
    const { content } = first.json()
    const { id } = content.find(({ type }: Item) => type === 'tool_use')
    const results = [{ type: 'tool_result', tool_use_id: id, content: 'Sun' }]
    messages.push({ role: 'assistant', content }, { role: 'user', content: results })
    const second = await caller.post('anthropic', { ...asked, messages })
    assert.equal(second.statusCode, 200, second.body)
    assert.deepEqual(typesOf(lastSent().input), TURN)
    const elsewhere = await caller.post('anthropic', { ...asked, messages, model: OLDER })
    assert.equal(elsewhere.statusCode, 200, elsewhere.body)
    assert.deepEqual(
      typesOf(lastSent().input),
      TURN.filter((type) => type !== 'reasoning'),
    )
    const claude = { ...asked, messages, model: 'anthropic/claude-sonnet-4' }
    const other = await caller.post('anthropic', { ...claude, thinking: { type: 'disabled' } })
    assert.equal(other.statusCode, 200, other.body)
  })

  for (const stream of [false, true]) {
    test(`in responses, ${stream ? 'streamed' : 'whole'}, by sealed reasoning items`, async () => {
      const tools = [{ type: 'function', name: 'weather', parameters: PARAMETERS }]
      const include = ['reasoning.encrypted_content']
      const asked = { model: SUCCEEDED, tools, stream, store: false, include }
      const effort = { reasoning: { effort: 'high', summary: 'auto' } }
      const input: unknown[] = [say(ASKED)]
      const first = await me.respond({ ...asked, ...effort, input })
      assert.deepEqual(typesOf(first.output), ['reasoning', 'function_call'])
      assert.match(first.output[0]?.encrypted_content ?? '', /^svc1\./)
      assert.notEqual(first.output[0]?.summary?.length, 0)
      const [, call] = first.output
      input.push(...first.output)
      input.push({ type: 'function_call_output', call_id: call?.call_id, output: 'Sun' })
      const second = await me.respond({ ...asked, ...effort, input })
      assert.notEqual(textOf(second), '')
      assert.deepEqual(typesOf(lastSent().input), TURN)
      for (const model of [OLDER, 'anthropic/claude-sonnet-4']) {
        await me.respond({ ...asked, input, model, stream: false })
        assert.doesNotMatch(
          JSON.stringify(service.sandbox.requests().at(-1)?.body),
          /encrypted_content":"/,
        )
      }
    })
  }
})

describe('a relayed response', () => {
  const TOOL = { type: 'function', name: 'weather', parameters: PARAMETERS }

  test('keeps to the documentation, has the public name and our numbers, and hides what is not asked for', async () => {
    const questions = [
      { input: 'Hello [[sandbox:tokens=40]]' },
      { input: ASKED, tools: [TOOL] },
      { input: 'Go [[sandbox:tool=2]]', tools: [TOOL] },
      { input: 'Go [[sandbox:tool]]', tools: [{ type: 'custom', name: 'exec' }] },
      { input: 'Think [[sandbox:reasoning=50]]', reasoning: { effort: 'low', summary: 'auto' } },
      { input: 'No [[sandbox:refusal]]' },
      { input: 'Long [[sandbox:tokens=500]]', max_output_tokens: 200 },
      { input: 'Stop [[sandbox:content_filter]]' },
    ]
    for (const question of questions) {
      const asked = { model: OLDER, instructions: 'Be brief.', metadata: { a: 'b' }, ...question }
      const reply = await me.post({ ...asked, stream: true })
      assert.equal(reply.statusCode, 200, reply.body)
      const { response } = checkResponsesStream(reply.body)
      const whole = await me.respond(asked)
      for (const one of [response, whole] as Record<string, unknown>[]) {
        assert.deepEqual(
          [one['model'], one['instructions'], one['metadata'], one['store'], one['service_tier']],
          [OLDER, 'Be brief.', { a: 'b' }, true, 'default'],
        )
        assert.equal('safety_identifier' in one, false)
      }
      const types = (items: readonly { type: string }[]) => typesOf(items)
      assert.deepEqual(types(whole.output), types(response.output))
      assert.deepEqual(Object.keys(whole).sort(), Object.keys(response).sort())
      assert.equal(whole.svc.credits_used, response.svc?.credits_used)
      assert.doesNotMatch(reply.body + JSON.stringify(whole), /encrypted_content|gpt-5-mini-20/)
    }
  })

  test('has the ids of OpenAI, which can be referred to', async () => {
    const first = await me.respond({ model: OLDER, input: 'Remember blue.' })
    assert.match(first.id, /^resp_[0-9A-Za-z]{48}$/)
    const message = first.output.find(({ type }) => type === 'message')
    const input = [say('Hi'), { type: 'item_reference', id: message?.id }, say('Go on')]
    await me.respond({ model: OLDER, input })
    assert.ok(JSON.stringify(lastSent().input).includes(JSON.stringify(textOf(first)).slice(1, -1)))
  })

  test('has the names that the client gave its tools, also where they are too long for OpenAI', async () => {
    for (const name of ['weather', 'w'.repeat(100)]) {
      const tool = { ...TOOL, name }
      const tools = [{ type: 'namespace', name: 'sky', description: 'Sky', tools: [tool] }]
      for (const stream of [false, true]) {
        const input = [say('Go [[sandbox:tool]]')]
        const { output, tools: told } = await me.respond({ model: OLDER, input, tools, stream })
        const call = output.find(({ type }) => type === 'function_call')
        assert.deepEqual([call?.name, call?.namespace], [name, 'sky'])
        assert.deepEqual(told, tools)
      }
    }
  })

  test('says in its last words what went wrong, and what came before', async () => {
    for (const fault of ['error_mid_stream', 'failed_mid_stream', 'cut', 'garbage']) {
      const input = `Go on [[sandbox:tokens=60]] [[sandbox:${fault}]]`
      const reply = await me.post({ model: OLDER, input, stream: true })
      const { response, error } = checkResponsesStream(reply.body)
      assert.equal(response.status, 'failed')
      assert.ok(error?.code)
      assert.notEqual(response.output.at(-1)?.content?.[0]?.text ?? '', '')
    }
  })
})

test('nothing that changes the price is asked of the Responses API', async () => {
  const dear = {
    service_tier: 'priority',
    store: true,
    prompt_cache_options: { mode: 'implicit', ttl: '12h', prewarm: true },
    tools: [{ type: 'web_search' }, { type: 'function', name: 'weather', parameters: PARAMETERS }],
    background: false,
    truncation: 'auto',
    moderation: { model: 'omni-moderation-latest' },
    safety_identifier: 'mine',
  }
  await me.respond({ model: SUCCEEDED, input: 'Hello', ...dear })
  const { tools, service_tier, store, ...sent } = lastSent()
  assert.deepEqual([service_tier, store], ['default', false])
  assert.deepEqual(typesOf(tools as Item[]), ['function'])
  const allowed = [
    'include',
    'input',
    'model',
    'parallel_tool_calls',
    'prompt_cache_options',
    'stream',
  ]
  assert.deepEqual(
    Object.keys(sent).filter((field) => !allowed.includes(field)),
    [],
  )
  assert.deepEqual(sent['prompt_cache_options'], { mode: 'implicit' })
  const { code } = await me.refusal({ model: OLDER, input: 'Hello', reasoning: { mode: 'pro' } })
  assert.equal(code, 'bad_request')
})

test('a limit below what OpenAI takes is raised to it, in every format', async () => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const chat = await caller.post('openai', { model: OLDER, messages, max_tokens: 1 })
  assert.equal(chat.statusCode, 200, chat.body)
  assert.equal(lastSent()['max_output_tokens'], 16)
  const said = await caller.post('anthropic', { model: OLDER, messages, max_tokens: 5 })
  assert.equal(said.statusCode, 200, said.body)
  assert.equal(lastSent()['max_output_tokens'], 16)
})
