// What cannot be served is refused with a hint before anybody is asked or charged; every reply says which it
// was and what is left of the rate limit; and nothing that is ours alone ever gets out.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import {
  assertBooksClosed,
  balanceOf,
  type ChatReply,
  chat,
  codeOf,
  DIALECTS,
  type DialectName,
  mark,
  openRequest,
  PROVIDER_MODELS,
  readReply,
  startGateway,
  upstreamCalls,
  usageOf,
} from '../support/gateway.ts'

const PROVIDER_KEY = 'upstream-key-0123456789fedcba'
const gateway = await startGateway(
  {
    OPENAI_API_KEY: PROVIDER_KEY,
    ANTHROPIC_API_KEY: PROVIDER_KEY,
    GOOGLE_API_KEY: PROVIDER_KEY,
    PROVIDER_TIMEOUT_MS: '500',
  },
  { log_level: 'trace' },
)
const customer = await gateway.customer(1_000_000_000n)
const key = await customer.newKey()

/** A server of the private network: whoever it hears from, it must not be us. */
let visits = 0
const secret_server = createServer((_request, response) => {
  visits += 1
  response.end('secret')
})
secret_server.listen(0, '127.0.0.1')
await once(secret_server, 'listening')
atEnd(() => secret_server.close())
const address = secret_server.address()
const secret_url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/x.png`

const hello = [{ role: 'user', content: 'Hello' }]
const image = (url: string) => ({
  openai: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
  anthropic: [{ role: 'user', content: [{ type: 'image', source: { type: 'url', url } }] }],
})

type BadBody = { what: string; body: unknown; only?: DialectName }

const BAD_BODIES: BadBody[] = [
  { what: 'no model', body: { messages: hello } },
  ...[7, null, [], {}, '', true].map((model) => ({
    what: `a model that is ${JSON.stringify(model)}`,
    body: { model, messages: hello },
  })),
  { what: 'no messages', body: { model: 'MODEL' } },
  ...[7, null, [], {}, 'Hello', [null], ['Hello'], [[]], [{}]].map((messages) => ({
    what: `messages that are ${JSON.stringify(messages)}`,
    body: { model: 'MODEL', messages },
  })),
  { what: 'a role that does not exist', body: withMessage({ role: 'wizard', content: 'Hello' }) },
  { what: 'a role that is a number', body: withMessage({ role: 3, content: 'Hello' }) },
  { what: 'content that is a number', body: withMessage({ role: 'user', content: 7 }) },
  { what: 'a part that does not exist', body: withMessage(userPart({ type: 'hologram' })) },
  { what: 'a part that is null', body: withMessage(userPart(null)) },
  { what: 'a text part without text', body: withMessage(userPart({ type: 'text' })) },
  {
    what: 'a tool result without a call',
    body: withMessage({ role: 'tool', tool_call_id: 'call_1', content: 'result' }),
    only: 'openai',
  },
  {
    what: 'a tool result without a call',
    body: withMessage(userPart({ type: 'tool_result', tool_use_id: 'toolu_1', content: 'x' })),
    only: 'anthropic',
  },
  ...[0, -1, 1.5, '10', []].map((max_tokens) => ({
    what: `max_tokens of ${JSON.stringify(max_tokens)}`,
    body: { model: 'MODEL', messages: hello, max_tokens },
  })),
  { what: 'a stream that is "yes"', body: { model: 'MODEL', messages: hello, stream: 'yes' } },
  {
    what: 'a field with a price of its own',
    body: { model: 'MODEL', messages: hello, web_search_options: {} },
    only: 'openai',
  },
  ...[0, -1, 1_000, '2'].map((n) => ({
    what: `${n} answers`,
    body: { model: 'MODEL', messages: hello, n },
    only: 'openai' as const,
  })),
  ...['[]', '7', '"text"', 'null', '{', '{"model":"MODEL",}', '\u0000', '{"a":1}{"b":2}'].map(
    (body) => ({ what: `the body ${JSON.stringify(body)}`, body }),
  ),
  { what: 'a body nested 50,000 deep', body: `{"model":"MODEL","messages":${nest(50_000)}}` },
  {
    what: 'a tool schema nested 5,000 deep',
    body: `{"model":"MODEL","messages":${JSON.stringify(hello)},"tools":${nest(5_000)}}`,
  },
]

describe('a body that cannot be served is a 4xx with a hint, charges nothing and reaches nobody:', () => {
  for (const { what, body, only } of BAD_BODIES) {
    test(only ? `${what} (${only})` : what, async () => {
      for (const dialect of DIALECTS.filter((name) => only === undefined || only === name)) {
        for (const path of pathsOf(dialect)) {
          for (const model of PROVIDER_MODELS)
            await assertRefused(path, write(body, model, dialect))
        }
      }
    })
  }

  for (const url of [
    'secret server',
    'http://localhost/x.png',
    'http://169.254.169.254/latest/meta-data',
    'http://[::1]/x.png',
    'http://10.0.0.8/x.png',
    'http://2130706433/x.png',
    'file:///etc/passwd',
    'ftp://example.com/x.png',
    'not an address',
  ]) {
    test(`an image at ${url}`, async () => {
      for (const dialect of DIALECTS) {
        const messages = image(url === 'secret server' ? secret_url : url)[dialect]
        for (const path of pathsOf(dialect)) {
          for (const model of PROVIDER_MODELS) {
            await assertRefused(path, write({ model: 'MODEL', messages }, model, dialect))
          }
        }
      }
      assert.equal(visits, 0, 'we fetch nothing')
    })
  }

  test('a body of more than 10 MB is 413', async () => {
    const prompt = 'x'.repeat(10 * 1024 * 1024)
    for (const dialect of DIALECTS) {
      const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] }
      const reply = await send(pathsOf(dialect)[0] ?? '', JSON.stringify(body))
      assert.deepEqual([reply.status, codeOf(reply)], [413, 'bad_request'])
    }
  })

  test('a body of another type is 415', async () => {
    const body = JSON.stringify({ model: 'gpt-4o-mini', messages: hello })
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      const given = { path: '/v1/chat/completions', key: key.key, body }
      const request = openRequest(gateway.url, { ...given, headers: { 'content-type': type } })
      const reply = await readReply(request)
      assert.deepEqual([reply.status, codeOf(reply)], [415, 'bad_request'])
    }
  })

  test('nothing of all this was charged, held or sent on', async () => {
    assert.deepEqual(await usageOf(gateway, key.id), [])
    const untouched = { posted: 1_000_000_000n, held: 0n }
    assert.deepEqual(await balanceOf(gateway, customer.account_id), untouched)
    assert.equal(gateway.sandbox.requests().length, 0)
  })
})

test('a refusal says what clients match on, in both formats: the field, and the code of the provider', async () => {
  const own = await customer.newKey()
  const told = (reply: ChatReply) => {
    const { error } = JSON.parse(reply.text) as { error: Record<string, unknown> }
    return [error['param'], error['provider_code']]
  }
  for (const dialect of DIALECTS) {
    const ask = { key: own.key, model: 'gpt-4o-mini', prompt: 'Hello', dialect, max_tokens: 100 }
    const fields: [path: string, extra: object, model?: string][] = [
      ['temperature', { temperature: 'warm' }],
      ['messages[0].role', { messages: [{ role: 'wizard', content: 'Hello' }] }],
      dialect === 'openai'
        ? ['n', { n: 2 }, PROVIDER_MODELS[1]]
        : ['mcp_servers', { mcp_servers: [{}] }],
    ]
    for (const [path, extra, model = ask.model] of fields) {
      const reply = await chat(gateway.url, { ...ask, model, extra })
      assert.deepEqual(told(reply), [path, undefined], reply.text)
    }
    const long = { ...ask, prompt: 'Hello [[sandbox:too_long]]' }
    const code = 'context_length_exceeded'
    assert.deepEqual(told(await chat(gateway.url, long)), ['messages', code])
    const denied = await chat(gateway.url, { ...ask, prompt: 'Hello [[sandbox:quota]]' })
    assert.deepEqual(told(denied), [undefined, undefined])
  }
})

test('every reply, streams and errors too, has a request id and the three rate limit headers', async () => {
  const prompts = [
    'Hello',
    '[[sandbox:429]]',
    '[[sandbox:500]]',
    '[[sandbox:cut]]',
    '[[sandbox:404]]',
  ]
  const ids = new Set<string>()
  let count = 0
  const check = (reply: ChatReply) => {
    count += 1
    ids.add(String(reply.headers['x-request-id']))
    for (const name of ['limit', 'remaining', 'reset']) {
      assert.match(String(reply.headers[`x-ratelimit-${name}`]), /^\d+$/, `${name}: ${reply.text}`)
    }
    if (reply.status >= 400) assert.match(reply.text, /"request_id":"req_/)
  }
  const own = await customer.newKey()
  const poor = await (await gateway.customer(0n)).newKey()
  for (const dialect of DIALECTS) {
    for (const stream of [true, false]) {
      for (const prompt of prompts) {
        for (const model of PROVIDER_MODELS) {
          check(await chat(gateway.url, { key: own.key, model, prompt, dialect, stream }))
        }
      }
      const ask = { model: 'gpt-4o-mini', prompt: 'Hello', dialect, stream }
      check(await chat(gateway.url, { ...ask, key: poor.key }))
      check(await chat(gateway.url, { ...ask, key: 'sk-svc-nobody' }))
      check(await chat(gateway.url, { ...ask, key: own.key, model: 'nobody' }))
    }
  }
  check(await send('/v1/chat/completions', '{'))
  assert.equal(ids.size, count, 'no id is used twice')
})

test('nothing of our account at a provider gets into a reply, and no credential or prompt into a log', async () => {
  const own = await customer.newKey()
  const faults = [
    '401',
    '404',
    '429',
    '500',
    'overloaded',
    'quota',
    'blocked',
    'too_long',
    'unverified',
  ]
  const accidents = ['hangup', 'cut', 'garbage', 'error_mid_stream', 'empty_body', 'no_usage']
  const marker = mark()
  for (const prompt of [...faults, ...accidents]) {
    await Promise.all(
      PROVIDER_MODELS.flatMap((model) =>
        DIALECTS.flatMap((dialect) =>
          [true, false].map(async (stream) => {
            const text = `${marker} [[sandbox:${prompt}]]`
            const ask = { key: own.key, model, prompt: text, dialect, stream, max_tokens: 100 }
            const reply = await chat(gateway.url, ask)
            const all = reply.text + JSON.stringify(reply.headers)
            const what = `${prompt} ${model} ${dialect}: ${all}`
            assert.doesNotMatch(all, /upstream-key|fedcba/, what)
            const refused = reply.status >= 400 || /"error":/.test(reply.text)
            if (refused && prompt !== 'too_long') {
              assert.doesNotMatch(
                all,
                /org-|organi[sz]ation|billing|quota|credit balance|api key|x-api-key|platform\.openai|console\.anthropic|ai\.google|googleapis|127\.0\.0\.1/i,
                what,
              )
            }
          }),
        ),
      ),
    )
  }
  assert.ok(upstreamCalls(gateway, marker).length > 100)
  const log = gateway.log_lines.join('')
  assert.ok(log.includes('"status":503'), 'the log was written')
  assert.doesNotMatch(log, /upstream-key|fedcba/)
  assert.doesNotMatch(log, new RegExp(`${own.key}|${key.key}`))
  assert.doesNotMatch(log, new RegExp(marker))
})

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))

async function assertRefused(path: string, body: string): Promise<void> {
  const reply = await send(path, body)
  const what = `${path} ${body.slice(0, 150)}: ${reply.status} ${reply.text}`
  assert.ok(reply.status === 400 || reply.status === 404, what)
  assert.equal(codeOf(reply), reply.status === 400 ? 'bad_request' : 'model_not_found', what)
  const { error } = JSON.parse(reply.text) as { error: { message: string; hint?: string } }
  assert.ok(error.message.length > 10 && error.message.length < 500, what)
  // What is no JSON at all says so in its message, before any route has a say.
  if (error.message !== 'The body is not valid JSON.') {
    assert.ok((error.hint ?? '').length > 5, `a hint: ${what}`)
  }
}

function send(path: string, body: string): Promise<ChatReply> {
  return readReply(openRequest(gateway.url, { path, key: key.key, body }))
}

function pathsOf(dialect: DialectName): string[] {
  return dialect === 'openai' ? ['/v1/chat/completions'] : ['/v1/messages']
}

/** Everything but the fault is right. */
function write(body: unknown, model: string, dialect: DialectName): string {
  if (typeof body === 'string') return body.replaceAll('MODEL', model)
  const needed = dialect === 'anthropic' ? { max_tokens: 100 } : {}
  return JSON.stringify({ ...needed, ...(body as object) }).replaceAll('MODEL', model)
}

function withMessage(message: object): object {
  return { model: 'MODEL', messages: [message] }
}

function userPart(part: unknown): object {
  return { role: 'user', content: [part] }
}

function nest(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth)
}
