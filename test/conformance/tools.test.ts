// Tools through every provider: calls come out with their arguments whole, results go back to the call they
// belong to.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openCaller, PATHS, type Path } from '../support/gateway-caller.ts'
import type { Call, Tool } from '../support/gateway-formats.ts'

const gateway = await openCaller()

const WEATHER: Tool = {
  name: 'get_weather',
  description: 'The weather of a city.',
  parameters: {
    type: 'object',
    properties: {
      city: { type: 'string' },
      days: { type: 'integer', minimum: 1, maximum: 14 },
      unit: { type: 'string', enum: ['celsius', 'fahrenheit'] },
    },
    required: ['city', 'days', 'unit'],
    additionalProperties: false,
  },
}
const CLOCK: Tool = {
  name: 'get_time',
  description: 'The time.',
  parameters: { type: 'object', properties: {} },
}

const CALLED = { openai: 'tool_calls', anthropic: 'tool_use' } as const
const ENDED = { openai: 'stop', anthropic: 'end_turn' } as const

function checkWeatherCall(call: Call | undefined): void {
  assert.ok(call?.id)
  assert.equal(call.name, 'get_weather')
  const input = call.input as { city: unknown; days: number; unit: string }
  assert.deepEqual(Object.keys(input).sort(), ['city', 'days', 'unit'])
  assert.equal(typeof input.city, 'string')
  assert.ok(Number.isInteger(input.days) && input.days >= 1 && input.days <= 14)
  assert.ok(['celsius', 'fahrenheit'].includes(input.unit))
}

for (const path of PATHS) {
  test(`${path.name}: a tool is called with arguments that fit its schema`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:tool]]', tools: [WEATHER, CLOCK] })
    assert.equal(reply.calls.length, 1)
    checkWeatherCall(reply.calls[0])
    assert.equal(reply.stop, CALLED[path.format])
  })

  test(`${path.name}: parallel calls stay apart`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:tool=3]]', tools: [WEATHER] })
    assert.equal(reply.calls.length, 3)
    for (const call of reply.calls) checkWeatherCall(call)
    assert.equal(new Set(reply.calls.map(({ id }) => id)).size, 3)
    assert.equal(reply.stop, CALLED[path.format])
  })

  test(`${path.name}: a tool without arguments is called with an empty object`, async () => {
    const reply = await gateway.ask(path, { text: '[[sandbox:tool=2]]', tools: [CLOCK] })
    assert.deepEqual(
      reply.calls.map(({ name, input }) => ({ name, input })),
      [
        { name: 'get_time', input: {} },
        { name: 'get_time', input: {} },
      ],
    )
  })

  test(`${path.name}: a model that must call a tool does`, async () => {
    const text = 'Hello.'
    const any = await gateway.ask(path, { text, tools: [WEATHER], tool_choice: 'required' })
    checkWeatherCall(any.calls[0])
    const tool_choice = { name: 'get_weather' }
    const named = await gateway.ask(path, { text, tools: [WEATHER], tool_choice })
    checkWeatherCall(named.calls[0])
  })

  test(`${path.name}: a model that may call a tool need not`, async () => {
    const reply = await gateway.ask(path, {
      text: '[[sandbox:echo]] Hello.',
      tools: [WEATHER],
      tool_choice: 'auto',
    })
    assert.deepEqual([reply.text, reply.calls, reply.stop], ['Hello.', [], ENDED[path.format]])
  })

  test(`${path.name}: every result goes back to the call it answers`, async () => {
    const asked = 'Weather and time, please. [[sandbox:tool=2]]'
    const first = await gateway.ask(path, { text: asked, tools: [WEATHER, CLOCK] })
    const results = first.calls.map(({ id }, index) => ({ id, output: `result number ${index}` }))
    const second = await gateway.ask(path, {
      before: [
        { role: 'user', text: asked },
        { role: 'assistant', calls: first.calls },
        { role: 'results', results },
      ],
      tools: [WEATHER, CLOCK],
    })
    assert.deepEqual([second.calls, second.stop], [[], ENDED[path.format]])
    assert.notEqual(second.text, '')
    assert.deepEqual(sentResults(path), ['result number 0', 'result number 1'])
  })
}

for (const path of PATHS.filter(({ provider }) => provider !== 'google')) {
  test(`${path.name}: a client that wants one call at a time gets one`, async () => {
    const reply = await gateway.ask(path, {
      text: '[[sandbox:tool=2]]',
      tools: [WEATHER],
      parallel_tools: false,
    })
    assert.equal(reply.calls.length, 1)
  })
}

type ProviderBody = {
  input?: { type: string; call_id?: string; output?: unknown }[]
  messages?: {
    role: string
    content: string | { type: string; tool_use_id?: string; content?: unknown; id?: string }[]
    tool_call_id?: string
    tool_calls?: { id: string }[]
  }[]
  contents?: {
    role: string
    parts: {
      functionCall?: { name: string }
      functionResponse?: { name: string; response: object }
    }[]
  }[]
}

/** The results as the provider got them, after a check that they answer the calls before them, in order. */
function sentResults(path: Path): string[] {
  const body = gateway.requests().at(-1)?.body as ProviderBody
  const found = (value: unknown) => /result number \d/.exec(JSON.stringify(value))?.[0] ?? ''
  if (path.provider === 'google') {
    const [calls, results] = (body.contents ?? []).slice(-2)
    assert.deepEqual([calls?.role, results?.role], ['model', 'user'])
    const responses = results?.parts.map((part) => part.functionResponse)
    const called = calls?.parts.flatMap((part) => part.functionCall?.name ?? [])
    assert.deepEqual(called, ['get_weather', 'get_weather'])
    assert.deepEqual(
      responses?.map((response) => response?.name),
      called,
    )
    return responses?.map((response) => found(response?.response)) ?? []
  }
  if (path.provider === 'responses') {
    const items = (body.input ?? []).slice(-4)
    const idsOf = (type: string) =>
      items.filter((item) => item.type === type).map(({ call_id }) => call_id)
    assert.deepEqual(idsOf('function_call_output'), idsOf('function_call'))
    return items.flatMap(({ output }) => (output === undefined ? [] : [found(output)]))
  }
  if (path.provider === 'openai') {
    const [calls, ...results] = (body.messages ?? []).slice(-3)
    assert.deepEqual(
      results.map(({ role, tool_call_id }) => [role, tool_call_id]),
      calls?.tool_calls?.map(({ id }) => ['tool', id]),
    )
    return results.map(({ content }) => found(content))
  }
  const [calls, results] = (body.messages ?? []).slice(-2)
  assert.ok(typeof calls?.content === 'object' && typeof results?.content === 'object')
  const ids = calls.content.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
  assert.deepEqual(
    results.content.map(({ type, tool_use_id }) => [type, tool_use_id]),
    ids.map((id) => ['tool_result', id]),
  )
  return results.content.map(({ content }) => found(content))
}
