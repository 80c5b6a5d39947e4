// One suite for all three upstreams and both client dialects, streamed and not, against the sandbox.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { type Sandbox, startSandbox } from '../../../sandbox/main.ts'
import type { ChatModel } from '../../catalog/models.ts'
import { ApiError, type ErrorCode } from '../../platform/errors.ts'
import { CallSignal } from '../../platform/http-call.ts'
import { createHttpClient } from '../../platform/http-client.ts'
import type { ClientDialect, ToolDefinition, Usage } from '../dialects/chat-types.ts'
import { PROFILES } from './registry.ts'
import {
  type CallParts,
  collect,
  MODELS,
  openCall,
  type RequestParts,
  testCall,
  testRequest,
} from './test-call.ts'
import { createUpstream } from './upstream.ts'

const client = createHttpClient()
const limits = {
  first_byte_ms: 3_000,
  first_byte_stream_ms: 3_000,
  idle_ms: 3_000,
  total_ms: 4_000,
}
const upstreams = {
  openai: createUpstream(PROFILES.openai, { client, limits }),
  anthropic: createUpstream(PROFILES.anthropic, { client, limits }),
  google: createUpstream(PROFILES.google, { client, limits }),
}
const DIALECTS = ['openai', 'anthropic'] as const
const WEATHER: ToolDefinition = {
  name: 'get_weather',
  description: 'Tells the weather.',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer' } },
    required: ['city', 'days'],
  },
}
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let sandbox: Sandbox
before(async () => {
  sandbox = await startSandbox({ port: 0 })
})
after(async () => {
  await client.close()
  await sandbox.close()
})

function run(model: ChatModel, request: RequestParts, parts: Partial<CallParts> = {}) {
  const base_url = sandbox.urls[model.provider]
  return collect(
    upstreams[model.provider],
    testCall(model, testRequest(request), { base_url, ...parts }),
  )
}

function lastBody(): Record<string, unknown> {
  const body = sandbox.requests().at(-1)?.body
  assert.ok(typeof body === 'object' && body !== null)
  return { ...body }
}

function assertCode(error: unknown, code: ErrorCode): ApiError {
  assert.ok(error instanceof ApiError, String(error))
  assert.equal(error.code, code, `${error.code}: ${error.detail ?? error.message}`)
  return error
}

const total = (usage: Usage | undefined) =>
  usage === undefined
    ? NaN
    : usage.input_tokens +
      usage.cache_read_tokens +
      usage.cache_write_5m_tokens +
      usage.cache_write_1h_tokens +
      usage.output_tokens

const CASES = [MODELS.gpt4o, MODELS.sonnet, MODELS.flash2].flatMap((model) =>
  DIALECTS.flatMap((dialect) => [false, true].map((stream) => ({ model, dialect, stream }))),
)

for (const { model, dialect, stream } of CASES) {
  describe(`${model.upstream_id}, ${dialect} client, ${stream ? 'streamed' : 'whole'}`, () => {
    const same = model.provider === dialect
    const ask = (request: RequestParts, parts?: Partial<CallParts>) =>
      run(model, { dialect, stream, ...request }, parts)

    test('text arrives with its start, stop and usage', async () => {
      const prompt = 'Say something [[sandbox:tokens=40]] [[sandbox:unicode]]'
      const reply = await ask({ prompt })
      assert.equal(reply.error, undefined)
      assert.equal(reply.events[0]?.kind, 'start')
      assert.match(reply.text, /\p{Emoji_Presentation}/u)
      assert.equal(reply.stop, 'end')
      assert.equal(reply.usage?.output_tokens, 40)
      assert.ok((reply.usage?.input_tokens ?? 0) > 5)
      assert.equal(reply.frames.length > 1, stream)
      for (const frame of reply.frames) assert.ok(JSON.parse(frame.data))
      if (model.provider !== 'google') assert.match(reply.request_id ?? '', /^req_/)
      const other = await ask({ prompt, stream: !stream })
      assert.equal(other.text, reply.text)
      assert.deepEqual(other.usage, reply.usage)
    })

    test('the output limit of the hold is what the provider is told', async () => {
      const reply = await ask({ prompt: 'Go on [[sandbox:tokens=90]]' }, { max_output_tokens: 30 })
      assert.equal(reply.stop, 'length')
      assert.equal(reply.usage?.output_tokens, 30)
    })

    test('tools are called in parallel, each with its own index, id and whole arguments', async () => {
      const reply = await ask({ prompt: 'Weather? [[sandbox:tool=2]]', tools: [WEATHER] })
      assert.equal(reply.error, undefined)
      assert.equal(reply.stop, 'tool_calls')
      assert.equal(reply.tools.length, 2)
      assert.notEqual(reply.tools[0]?.id, reply.tools[1]?.id)
      for (const tool of reply.tools) {
        assert.equal(tool.name, 'get_weather')
        assert.deepEqual(Object.keys(JSON.parse(tool.input)).sort(), ['city', 'days'])
      }
    })

    test('a tool without parameters is called with an empty object', async () => {
      const parameters = { type: 'object', properties: {} }
      const tools = [{ name: 'now', description: undefined, parameters }]
      const reply = await ask({ prompt: '[[sandbox:tool]]', tools })
      assert.deepEqual(
        reply.tools.map(({ name, input }) => [name, input]),
        [['now', '{}']],
      )
    })

    test('a filter in mid-answer is a stop reason, and is paid for', async () => {
      const reply = await ask({ prompt: '[[sandbox:content_filter]]' })
      assert.equal(reply.error, undefined)
      assert.equal(reply.stop, 'content_filter')
      assert.ok((reply.usage?.output_tokens ?? 0) > 0)
    })

    test('a model that declines without a word has stopped, or is content_filtered, as its provider bills it', async () => {
      const reply = await ask({ prompt: '[[sandbox:refusal]]' })
      if (model.provider === 'openai') {
        assert.ok(reply.events.some((event) => event.kind === 'refusal'))
        assert.equal(reply.stop, 'end')
        return
      }
      if (model.provider === 'anthropic') {
        assert.equal(reply.error, undefined)
        assert.equal(reply.stop, 'content_filter')
        assert.ok((reply.usage?.input_tokens ?? 0) > 0)
        return
      }
      assertCode(reply.error, 'content_filtered')
      assert.equal(reply.stop, undefined)
      // Google says it in its first record: then the error comes first, while it can still be a status.
      const at_once = stream && model.provider === 'google'
      assert.equal((reply.usage?.input_tokens ?? 0) > 0, !at_once)
    })

    test('no usage is no usage event', async () => {
      const reply = await ask({ prompt: '[[sandbox:no_usage]]' })
      assert.equal(reply.error, undefined)
      assert.ok(reply.text.length > 0)
      assert.equal(reply.usage, undefined)
    })

    if (!same) {
      test('images, tool results and instructions reach the provider', async () => {
        const call_id = 'call with spaces / and slashes'
        const reply = await ask({
          system: [{ kind: 'text', text: 'Be brief.' }],
          tools: [WEATHER],
          messages: [
            { role: 'assistant', content: [{ kind: 'text', text: 'Hello' }] },
            {
              role: 'user',
              content: [
                { kind: 'text', text: 'Look' },
                { kind: 'image', source: { kind: 'data', media_type: 'image/png', data: PIXEL } },
              ],
            },
            {
              role: 'assistant',
              content: [
                { kind: 'tool_call', id: call_id, name: 'get_weather', input: { city: 'A' } },
                { kind: 'tool_call', id: 'b', name: 'get_weather', input: {} },
              ],
            },
            {
              role: 'user',
              content: [{ kind: 'tool_result', call_id: 'b', content: [], is_error: true }],
            },
            {
              role: 'user',
              content: [
                { kind: 'text', text: 'And now?' },
                {
                  kind: 'tool_result',
                  call_id,
                  content: [{ kind: 'text', text: 'sunny [[sandbox:tokens=7]]' }],
                },
              ],
            },
          ],
        })
        assert.equal(reply.error, undefined)
        assert.equal(reply.stop, 'end')
        assert.match(JSON.stringify(lastBody()), /Be brief/)
      })

      test('structured output comes as text that fits the schema, and ends as text does', async () => {
        const schema = {
          type: 'object',
          properties: { city: { type: 'string' }, size: { type: 'integer' } },
          required: ['city', 'size'],
          additionalProperties: false,
        }
        const response_format = { kind: 'json_schema', name: 'my city!', schema } as const
        const name = model.provider === 'openai' ? 'city' : 'my city!'
        const reply = await ask({ response_format: { ...response_format, name } })
        assert.equal(reply.error, undefined)
        assert.deepEqual(Object.keys(JSON.parse(reply.text)).sort(), ['city', 'size'])
        assert.equal(reply.stop, 'end')
        assert.deepEqual(reply.tools, [])
      })

      test('a tool name the provider does not take comes back as the client wrote it', async () => {
        const name = `mcp: ${'läng'.repeat(40)}`
        const reply = await ask({
          prompt: '[[sandbox:tool]]',
          tools: [{ ...WEATHER, name }],
          tool_choice: { kind: 'tool', name },
        })
        assert.equal(reply.error, undefined)
        assert.equal(reply.tools[0]?.name, name)
      })
    }
  })
}

const ERRORS: readonly [
  directive: string,
  openai: ErrorCode,
  anthropic: ErrorCode,
  google: ErrorCode,
][] = [
  ['401', 'provider_misconfigured', 'provider_misconfigured', 'provider_misconfigured'],
  ['404', 'provider_misconfigured', 'provider_misconfigured', 'provider_misconfigured'],
  ['429', 'provider_rate_limited', 'provider_rate_limited', 'provider_rate_limited'],
  ['500', 'provider_unavailable', 'provider_unavailable', 'provider_unavailable'],
  ['overloaded', 'provider_unavailable', 'provider_unavailable', 'provider_unavailable'],
  ['quota', 'provider_misconfigured', 'provider_misconfigured', 'provider_misconfigured'],
  ['blocked', 'content_filtered', 'content_filtered', 'content_filtered'],
  ['too_long', 'bad_request', 'bad_request', 'bad_request'],
  ['hangup', 'provider_unavailable', 'provider_unavailable', 'provider_unavailable'],
  ['empty_body', 'upstream_error', 'upstream_error', 'upstream_error'],
  ['cut', 'provider_unavailable', 'provider_unavailable', 'provider_unavailable'],
]

for (const model of [MODELS.gpt4o, MODELS.sonnet, MODELS.flash2]) {
  const at = { openai: 1, anthropic: 2, google: 3 }[model.provider]
  describe(`errors of ${model.provider}`, () => {
    for (const row of ERRORS) {
      const code = row[at]
      test(`${row[0]} is ${code}`, async () => {
        for (const stream of [false, true]) {
          const reply = await run(model, { prompt: `[[sandbox:${row[0]}]]`, stream })
          const error = assertCode(reply.error, code as ErrorCode)
          assert.doesNotMatch(error.message, /sk-|org-|organization|billing|quota/i)
          assert.doesNotMatch(error.detail ?? '', /sk-/)
          if (row[0] === 'too_long') assert.match(error.hint ?? '', /Shorten/)
        }
      })
    }

    test('an account that may not stream is provider_misconfigured', async () => {
      const reply = await run(model, { prompt: '[[sandbox:unverified]]', stream: true })
      assertCode(reply.error, 'provider_misconfigured')
    })

    test('Retry-After is what the provider asks for; above an hour the plan is used up', async () => {
      const soon = await run(model, { prompt: '[[sandbox:429=30]]' })
      assert.deepEqual(assertCode(soon.error, 'provider_rate_limited').headers, {
        'retry-after': '30',
      })
      const late = await run(model, { prompt: '[[sandbox:429=4000]]' })
      assertCode(late.error, 'provider_misconfigured')
    })

    test('garbage is upstream_error, after what came before it; with a status the status decides', async () => {
      const whole = await run(model, { prompt: '[[sandbox:garbage]]' })
      assertCode(whole.error, 'upstream_error')
      const streamed = await run(model, { prompt: '[[sandbox:garbage]]', stream: true })
      assertCode(streamed.error, 'upstream_error')
      assert.ok(streamed.text.length > 0)
      const failed = await run(model, { prompt: '[[sandbox:garbage]] [[sandbox:500]]' })
      assertCode(failed.error, 'provider_unavailable')
    })

    test('an error, a cut or an early end in mid-stream stands after everything before it', async () => {
      for (const directive of ['error_mid_stream', 'cut', 'end_after=4']) {
        const prompt = `[[sandbox:tokens=60]] [[sandbox:${directive}]]`
        const reply = await run(model, { prompt, stream: true })
        assertCode(reply.error, 'provider_unavailable')
        assert.ok(reply.text.length > 0, directive)
        assert.equal(reply.stop, undefined)
      }
    })

    test('silence is provider_timeout, before the answer and within it', async () => {
      const slow = { first_byte_ms: 50, first_byte_stream_ms: 50, idle_ms: 50 }
      const impatient = createUpstream(PROFILES[model.provider], { client, limits: slow })
      const base_url = sandbox.urls[model.provider]
      for (const [prompt, stream] of [
        ['[[sandbox:timeout]]', false],
        ['[[sandbox:stall]]', true],
      ] as const) {
        const call = testCall(model, testRequest({ prompt, stream }), { base_url })
        assertCode((await collect(impatient, call)).error, 'provider_timeout')
      }
    })

    test('chunk boundaries, CR LF, comments and large events change nothing', async () => {
      const plain = await run(model, { prompt: 'x [[sandbox:tokens=30]]', stream: true })
      for (const directive of ['split', 'crlf', 'comments', 'big_event']) {
        const prompt = `x [[sandbox:tokens=30]] [[sandbox:${directive}]]`
        const reply = await run(model, { prompt, stream: true })
        assert.equal(reply.error, undefined)
        assert.equal(reply.stop, plain.stop)
        assert.equal(reply.usage?.output_tokens, 30)
      }
      const huge = await run(model, { prompt: '[[sandbox:big_event=5000000]]', stream: true })
      assertCode(huge.error, 'upstream_error')
    })

    test('an abort ends the call at the provider, before the answer and within it', async () => {
      for (const [prompt, stream] of [
        ['[[sandbox:timeout]]', false],
        ['[[sandbox:tokens=400]] [[sandbox:pace=20]]', true],
      ] as const) {
        const signal = new CallSignal()
        setTimeout(() => signal.abort(), 80)
        const reply = await run(model, { prompt, stream }, { signal })
        assertCode(reply.error, 'provider_unavailable')
        await wait(30)
        assert.equal(sandbox.requests().at(-1)?.ending, 'client_left')
      }
    })

    test('leaving the frames early ends the call at the provider', async () => {
      const prompt = '[[sandbox:tokens=400]] [[sandbox:pace=20]]'
      const base_url = sandbox.urls[model.provider]
      const call = testCall(model, testRequest({ prompt, stream: true }), { base_url })
      const reply = await openCall(upstreams[model.provider], call)
      for await (const read of reply.frames)
        if (read.some((frame) => frame.events.length > 0)) break
      await wait(30)
      assert.equal(sandbox.requests().at(-1)?.ending, 'client_left')
    })

    test('a wrong key is not shown to anybody', async () => {
      const base_url = sandbox.urls[model.provider]
      const address = { base_url, api_key: 'sk-invalid-secret' }
      const reply = await run(model, {}, { address })
      const error = assertCode(reply.error, 'provider_misconfigured')
      assert.doesNotMatch(JSON.stringify([error.message, error.detail, error.hint]), /sk-|secret/)
    })
  })
}

describe('usage', () => {
  test('reasoning is output, and is told apart', async () => {
    for (const model of [MODELS.gpt5, MODELS.sonnet, MODELS.flash, MODELS.pro]) {
      for (const stream of [false, true]) {
        const prompt = 'Think [[sandbox:tokens=20]] [[sandbox:reasoning=300]]'
        const reasoning = { kind: 'effort', effort: 'medium' } as const
        const dialect: ClientDialect = model.provider === 'openai' ? 'anthropic' : 'openai'
        const reply = await run(model, { prompt, stream, dialect, reasoning })
        assert.equal(reply.error, undefined)
        assert.equal(reply.usage?.output_tokens, 320, model.upstream_id)
        assert.equal(reply.usage?.reasoning_tokens, 300, model.upstream_id)
      }
    }
  })

  test('cached tokens leave the input bucket, and nothing is counted twice', async () => {
    const prompt = 'word '.repeat(8_000)
    for (const model of [MODELS.gpt4o, MODELS.flash, MODELS.pro]) {
      const address = { base_url: sandbox.urls[model.provider], api_key: `sk-${model.upstream_id}` }
      const first = await run(model, { prompt, stream: true }, { address })
      const second = await run(model, { prompt, stream: true }, { address })
      assert.equal(first.usage?.cache_read_tokens, 0)
      assert.ok((second.usage?.cache_read_tokens ?? 0) > 1_000)
      assert.equal(total(first.usage), total(second.usage))
    }
  })

  test('cache writes are told apart by their lifetime', async () => {
    for (const ttl of ['5m', '1h'] as const) {
      for (const stream of [false, true]) {
        const text = `${ttl}${stream} ${'word '.repeat(2_000)}`
        const request: RequestParts = {
          stream,
          system: [{ kind: 'text', text, cache: { ttl } }],
        }
        const first = await run(MODELS.sonnet, request)
        const second = await run(MODELS.sonnet, request)
        const written = first.usage?.[`cache_write_${ttl}_tokens`] ?? 0
        assert.ok(written > 1_000)
        assert.equal(
          first.usage?.[ttl === '5m' ? 'cache_write_1h_tokens' : 'cache_write_5m_tokens'],
          0,
        )
        assert.equal(second.usage?.cache_read_tokens, written)
        assert.equal(total(first.usage), total(second.usage))
      }
    }
  })
})

test('a slow reader does not make the provider send faster than it reads', async () => {
  const base_url = sandbox.urls.openai
  const prompt = '[[sandbox:tokens=200000]]'
  const model = { ...MODELS.gpt5, max_output_tokens: 128_000 }
  const patient = createUpstream(PROFILES.openai, { client, limits: { total_ms: 20_000 } })
  const request = testRequest({ prompt, stream: true })
  const reply = await openCall(
    patient,
    testCall(model, request, { base_url, max_output_tokens: 128_000 }),
  )
  const frames = reply.frames[Symbol.asyncIterator]()
  await frames.next()
  const start = process.memoryUsage().arrayBuffers
  await wait(400)
  assert.equal(sandbox.requests().at(-1)?.ending, 'open')
  assert.ok(process.memoryUsage().arrayBuffers - start < 16 * 1024 * 1024)
  for (let count = 0; count < 2_000; ) {
    const { value } = await frames.next()
    count += value.length
  }
  await frames.return?.()
  await wait(50)
  assert.equal(sandbox.requests().at(-1)?.ending, 'client_left')
})
