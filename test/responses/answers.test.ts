// POST /v1/responses from end to end: what providers are asked, what comes back of it, and what it costs.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { recordsOf } from '../support/gateway.ts'
import { type Item, lastAsked, openResponder, say, textOf } from '../support/responses.ts'
import { fc } from '../support/same-cases.ts'

const me = await openResponder()
const { service } = me
const PROVIDERS = ['gpt-4o-mini', 'anthropic/claude-sonnet-4', 'google/gemini-2.5-flash']
const model = 'gpt-4o-mini'

const WEATHER = {
  type: 'function',
  name: 'weather',
  description: 'Weather of a city',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
}
const upstreamCalls = () => service.sandbox.requests().length

describe('a tool loop', () => {
  for (const name of PROVIDERS) {
    for (const stream of [false, true]) {
      test(`of ${name}, ${stream ? 'streamed' : 'whole'}, keeps names, namespaces and free text`, async () => {
        const shapes = [
          { tools: [WEATHER], named: { type: 'function_call', name: 'weather' } },
          {
            tools: [{ type: 'namespace', name: 'sky', description: 'Sky', tools: [WEATHER] }],
            named: { type: 'function_call', name: 'weather', namespace: 'sky' },
          },
          {
            tools: [{ type: 'custom', name: 'exec' }],
            named: { type: 'custom_tool_call', name: 'exec' },
          },
        ]
        for (const { tools, named } of shapes) {
          const input: unknown[] = [say('Go [[sandbox:tool]]')]
          const first = await me.respond({ model: name, input, tools, stream })
          const call = first.output.find(({ type }) => type === named.type)
          assert.deepEqual({ ...named, ...call }, call)
          if (named.type === 'custom_tool_call') assert.equal(typeof call?.input, 'string')
          assert.deepEqual(first.tools, tools)
          const answer = { type: `${named.type}_output`, call_id: call?.call_id, output: 'Sun' }
          const next = [...input, ...first.output, answer]
          const second = await me.respond({ model: name, input: next, tools, stream })
          assert.notEqual(textOf(second), '')
        }
      })
    }
  }

  test('refuses tools that run at OpenAI alone, and leaves them out beside others', async () => {
    const search = { type: 'web_search', external_web_access: true }
    const before = upstreamCalls()
    await me.refusal({ model, input: 'Hello', tools: [search] })
    await me.refusal({
      model,
      input: 'Hello',
      tools: [search, WEATHER],
      tool_choice: { type: 'web_search' },
    })
    assert.equal(upstreamCalls(), before)
    const reply = await me.post({ model, input: 'Hello', tools: [search, WEATHER] })
    assert.equal(reply.statusCode, 200, reply.body)
    assert.equal(reply.headers['x-svc-ignored-fields'], 'tools.web_search')
    assert.deepEqual(reply.json().tools, [WEATHER])
    assert.doesNotMatch(lastAsked(service), /web_search/)
  })
})

describe('thoughts', () => {
  const THINKERS = ['anthropic/claude-sonnet-4', 'google/gemini-2.5-flash']
  const asked = { tools: [WEATHER], reasoning: { effort: 'low', summary: 'auto' } }
  const include = ['reasoning.encrypted_content']
  const prompt = say('Go [[sandbox:tool]] [[sandbox:reasoning=50]]')
  const outputOf = (items: readonly Item[]) => {
    const { call_id } = items.find(({ type }) => type === 'function_call') ?? {}
    return { type: 'function_call_output', call_id, output: 'Sun' }
  }
  /** Only the provider's own proofs: a thought of Claude's, or the signature of a call of Gemini's. */
  const proofs = (text: string) =>
    [...text.matchAll(/"(?:signature|thoughtSignature)":"([^"]+)"/g)].map(([, proof]) => proof)

  for (const name of THINKERS) {
    test(`of ${name} come back to it sealed, without anything being kept`, async () => {
      const base = { model: name, ...asked, include, store: false }
      for (const stream of [false, true]) {
        const { output } = await me.respond({ ...base, input: [prompt], stream })
        const thought = output.find(({ type }) => type === 'reasoning')
        assert.match(String(thought?.encrypted_content), /^svc1\./)
        assert.notEqual(thought?.summary?.length, 0)
        const input = [prompt, ...output, outputOf(output)]
        await me.respond({ ...base, input, stream })
        assert.equal(proofs(lastAsked(service)).length, 1, lastAsked(service))
      }
    })

    test(`of ${name} come back to it by reference`, async () => {
      const base = { model: name, ...asked }
      const { output } = await me.respond({ ...base, input: [prompt] })
      assert.ok(output.every((item) => item.encrypted_content === undefined))
      const input = output.map((item) =>
        item.type === 'reasoning' ? { type: 'item_reference', id: item.id } : item,
      )
      await me.respond({ ...base, input: [prompt, ...input, outputOf(output)] })
      assert.equal(proofs(lastAsked(service)).length, 1, lastAsked(service))
    })

    test(`of ${name} come back to it by their ids, in items as it sent them`, async () => {
      const base = { model: name, ...asked }
      for (const stream of [false, true]) {
        const { output } = await me.respond({ ...base, input: [prompt], stream })
        assert.ok(output.every((item) => item.encrypted_content === undefined))
        await me.respond({ ...base, input: [prompt, ...output, outputOf(output)], stream })
        assert.equal(proofs(lastAsked(service)).length, 1, lastAsked(service))
      }
    })

    test(`of ${name} are left out where they were changed or another model is asked`, async () => {
      const base = { model: name, ...asked, include, store: false }
      const { output } = await me.respond({ ...base, input: [prompt] })
      const rest = outputOf(output)
      const changed = output.map((item) =>
        item.type === 'reasoning'
          ? { ...item, encrypted_content: item.encrypted_content?.replace(/.{4}$/, 'AAAA') }
          : item,
      )
      const own = await me.respond({ ...base, input: [prompt, ...changed, rest] })
      assert.equal(own.status, 'completed')
      assert.doesNotMatch(lastAsked(service), /"thinking":"|svc1\./)
      const [other] = THINKERS.filter((one) => one !== name)
      await me.respond({ ...base, model: other, input: [prompt, ...output, rest] })
      assert.doesNotMatch(lastAsked(service), /svc1\./)
    })
  }

  test('are not asked of a model that has none: a summary and no effort are no error', async () => {
    for (const name of ['gpt-4o', 'gpt-5', 'anthropic/claude-haiku-3.5']) {
      await me.respond({ model: name, input: 'Hello', reasoning: { summary: 'auto' } })
      await me.respond({ model: name, input: 'Hello', reasoning: { effort: 'none' } })
    }
  })
})

describe('what would change the price', () => {
  test('is refused, or never reaches a provider', async () => {
    const before = upstreamCalls()
    for (const given of [
      { reasoning: { mode: 'pro' } },
      { previous_response_id: 'resp_1' },
      { conversation: 'conv_1' },
      { background: true },
      { prompt: { id: 'pmpt_1' } },
      { context_management: [{ type: 'compaction', compact_threshold: 1000 }] },
    ]) {
      const [field] = Object.keys(given)
      const error = await me.refusal({ model, input: 'Hello', ...given })
      assert.equal(error.code, 'bad_request')
      assert.ok(error.param?.startsWith(String(field)), JSON.stringify(error))
      assert.ok(error.hint)
    }
    assert.equal(upstreamCalls(), before)
    for (const name of PROVIDERS) {
      const dropped = {
        service_tier: 'ultrafast',
        prompt_cache_options: { mode: 'explicit', prewarm: true, ttl: '12h' },
        moderation: { model: 'x' },
        image: { context_compression: 'enabled' },
        access_programs: { cyber: 'daybreak_red' },
        client_metadata: { turn: 'x' },
        store: true,
      }
      const reply = await me.post({ model: name, input: 'Hello', ...dropped })
      assert.equal(reply.statusCode, 200, reply.body)
      assert.equal(reply.json().service_tier, 'default')
      assert.doesNotMatch(lastAsked(service), /ultrafast|prewarm|12h|daybreak|"turn"|"store":true/)
      assert.match(String(reply.headers['x-svc-ignored-fields']), /service_tier/)
      for (const prompt_cache_options of [{ surge: true }, [[{ surge: true }]]]) {
        const other = await me.post({ model: name, input: 'Hello', prompt_cache_options })
        assert.equal(other.statusCode, 200, other.body)
        assert.doesNotMatch(lastAsked(service), /surge|prompt_cache_options/)
      }
    }
  })
})

test('the same prompt costs the same in every format', async () => {
  const prompt = 'Tell me of orchids. [[sandbox:tokens=120]]'
  const costOf = async (path: string, body: object) => {
    const reply = await me.post(body, { path })
    assert.equal(reply.statusCode, 200, reply.body)
    return reply.json().svc.credits_used
  }
  for (const name of PROVIDERS) {
    const messages = [say(prompt)]
    const limit = 4_000
    const costs = [
      await costOf('/v1/chat/completions', { model: name, messages, max_tokens: limit }),
      await costOf('/v1/messages', { model: name, messages, max_tokens: limit }),
      await costOf('/v1/responses', { model: name, input: prompt, max_output_tokens: limit }),
      (await me.respond({ model: name, input: [say(prompt)], stream: true })).svc.credits_used,
    ]
    assert.ok(costs[0] > 0)
    assert.equal(new Set(costs).size, 1, `${name}: ${costs.join(', ')}`)
  }
})

test('an idempotent call is charged once, and its replay says the same', async () => {
  const headers = { 'idempotency-key': 'once' }
  const first = await me.respond({ model, input: 'Hello' }, headers)
  const again = await me.post({ model, input: 'Hello' }, { headers })
  assert.equal(again.headers['idempotent-replayed'], 'true')
  assert.deepEqual(again.json(), first)
})

test('an answer that the credits cut short says so, and again when it is replayed', async () => {
  for (const name of [model, 'gpt-5-mini']) {
    const limits = { spend_limit_credits: 600, spend_limit_period: 'day' }
    const { key } = await service.createKey(me.bearer, limits)
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': `short-${name}` }
    const asked = { model: name, input: 'Talk. [[sandbox:tokens=3000]]', stream: true }
    const first = await me.respond(asked, headers)
    assert.equal(first.status, 'incomplete')
    assert.match(first.svc.hint ?? '', /credits/)
    assert.deepEqual(await me.respond(asked, headers), first)
  }
})

test('a fault before the answer is OpenAI’s error, and one within it ends the stream in both ways', async () => {
  const error = await me.refusal({ model, input: 'Hello [[sandbox:500]]' }, 503)
  assert.equal(error.code, 'provider_unavailable')
  const input = 'Hello [[sandbox:tokens=200]] [[sandbox:cut]]'
  const broken = await me.post({ model, input, stream: true })
  const events = recordsOf(broken.body).map(({ event }) => event)
  assert.deepEqual(events.slice(-2), ['response.failed', 'error'])
})

test('addresses that have no meaning here say what to do', async () => {
  for (const [method, url] of [
    ['GET', '/v1/responses/resp_1'],
    ['DELETE', '/v1/responses/resp_1'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['POST', '/v1/responses/compact'],
    ['GET', '/v1/responses/resp_1/input_items'],
    ['POST', '/v1/completions'],
  ] as const) {
    const headers = { authorization: `Bearer ${me.key}` }
    const reply = await service.request({ method, url, headers })
    assert.equal(reply.statusCode, 404, `${method} ${url}`)
    assert.match(reply.json().error.hint, /POST \/v1\/(responses|chat)/)
  }
})

test('a call is in the record under its own address, with what it ignored', async () => {
  const reply = await me.post({ model, input: 'Hello', made_up: 1, user: 'x' })
  assert.equal(reply.headers['x-svc-ignored-fields'], 'made_up, user')
  const id = String(reply.headers['x-svc-generation-id'])
  const headers = { authorization: `Bearer ${me.key}` }
  const record = await service.request({ method: 'GET', url: `/v1/generations/${id}`, headers })
  assert.equal(record.json().endpoint, '/v1/responses', record.body)
})

describe('bad input', () => {
  const anything = fc.anything({ maxDepth: 3 })
  const word = fc.constantFrom(
    'message',
    'function_call',
    'function_call_output',
    'custom_tool_call',
    'custom_tool_call_output',
    'reasoning',
    'item_reference',
    'additional_tools',
    'function',
    'custom',
    'namespace',
    'web_search',
    'allowed_tools',
    'input_text',
    'output_text',
    'input_image',
    'input_file',
    'refusal',
    'user',
    'assistant',
    'system',
    'developer',
    'json_schema',
    'a',
  )
  const value = fc.oneof({ weight: 3, arbitrary: word }, anything)
  const part = fc.dictionary(
    fc.constantFrom('type', 'text', 'image_url', 'file_data', 'file_url', 'file_id', 'refusal'),
    value,
  )
  const item = fc.dictionary(
    fc.constantFrom(
      'type',
      'role',
      'id',
      'call_id',
      'name',
      'namespace',
      'arguments',
      'input',
      'output',
      'summary',
      'encrypted_content',
      'tools',
      'content',
    ),
    fc.oneof(value, fc.array(part, { maxLength: 3 })),
  )
  const tool = fc.dictionary(
    fc.constantFrom('type', 'name', 'description', 'parameters', 'strict', 'format', 'tools'),
    value,
  )
  const body = fc.record(
    {
      model: fc.constantFrom(...PROVIDERS, 'nobody'),
      input: fc.oneof(fc.array(item, { maxLength: 4 }), value),
      instructions: value,
      tools: fc.oneof(fc.array(tool, { maxLength: 3 }), value),
      tool_choice: fc.oneof(tool, value),
      text: value,
      reasoning: value,
      include: value,
      metadata: value,
      store: value,
      max_output_tokens: value,
    },
    { requiredKeys: ['model', 'input'] },
  )

  test('is refused by name, and never a fault of ours', async () => {
    const property = fc.asyncProperty(body, async (given) => {
      for (const path of ['/v1/responses', '/v1/responses/input_tokens']) {
        const reply = await me.post(given, { path })
        assert.ok(reply.statusCode < 500, `${reply.statusCode} ${reply.body}`)
        if (reply.statusCode >= 400) assert.ok(reply.json().error.code)
      }
    })
    await fc.assert(property, { numRuns: 150 })
  })
})
