import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { createDb } from '../../test/support/database.ts'
import { collectLog } from '../../test/support/log.ts'
import { fc } from '../../test/support/same-cases.ts'
import { loadConfig } from '../config.ts'
import { type Db, statement } from '../platform/db.ts'
import { ApiError, ERROR_CODES, type ErrorCode, errorEntry } from '../platform/errors.ts'
import { createMetrics } from '../platform/metrics.ts'
import { renderConnectionError, renderError } from './error-handler.ts'
import { createLifecycle } from './lifecycle.ts'
import { limitsFrom, RateLimits } from './rate-limit.ts'
import { type App, createHttpServer } from './server.ts'

const PUBLIC_URL = 'https://svc.example'

/** From the specification's table; the last six are of RFC 8628 and our own making. */
const STATUSES: Record<ErrorCode, number> = {
  invalid_api_key: 401,
  invalid_token: 401,
  unauthorized: 401,
  invalid_credentials: 401,
  invalid_email: 400,
  weak_password: 400,
  email_exists: 409,
  insufficient_scope: 403,
  forbidden: 403,
  insufficient_credits: 402,
  rate_limit: 429,
  rate_limit_exceeded: 429,
  rate_limited: 429,
  provider_rate_limited: 429,
  bad_request: 400,
  invalid_request: 400,
  invalid_url: 400,
  not_found: 404,
  user_not_found: 404,
  model_not_found: 404,
  invalid_client: 401,
  invalid_dpop_proof: 400,
  invalid_grant: 400,
  invalid_scope: 400,
  unauthorized_client: 400,
  onboarding_incomplete: 400,
  already_connected: 409,
  content_filtered: 400,
  pricing_error: 500,
  upstream_error: 502,
  stripe_error: 502,
  provider_misconfigured: 503,
  provider_unavailable: 503,
  provider_timeout: 504,
  gateway_timeout: 504,
  internal_error: 500,
  service_unavailable: 503,
  second_factor_required: 401,
  step_up_required: 403,
  authorization_pending: 400,
  slow_down: 400,
  expired_token: 400,
  access_denied: 400,
}

const BROKEN = statement<object>('test.broken', 'select secret_column from missing_table')

const written = collectLog('warn')
let db: Db
let app: App

before(async () => {
  db = await createDb()
  app = createHttpServer({
    log: written.log,
    metrics: createMetrics(),
    lifecycle: createLifecycle(),
    public_url: PUBLIC_URL,
    trust_proxy: [],
    limits: new RateLimits({
      limits: limitsFrom(loadConfig({})),
      log: written.log,
      events: { onShared: () => {}, onFallback: () => {}, onRefused: () => {} },
    }),
  })
  app.decorateRequest('principal', null)
  addRoutes(app)
})

describe('an error in the words of OpenAI', () => {
  for (const code of ERROR_CODES) {
    test(`${code} has its status and the whole envelope`, async () => {
      const reply = await ask({ url: `/openai?code=${code}` })
      assert.equal(reply.status, STATUSES[code])
      assertWords(reply.body['error'], {
        keys: ['code', 'message', 'type', 'docs_url', 'request_id'],
        code,
      })
      assert.deepEqual(Object.keys(reply.body), ['error'])
      const error = reply.body['error'] as Record<string, unknown>
      assert.equal(error['code'], code)
      assert.match(String(error['type']), /^[a-z_]+_error$/)
      assert.equal(error['request_id'], reply.headers['x-request-id'])
    })
  }
})

test('the field at fault and the code of the provider stand in both formats, where there are any', async () => {
  for (const format of ['openai', 'anthropic']) {
    const { body } = await ask({
      url: `/${format}?code=bad_request&param=messages&provider_code=x`,
    })
    const error = body['error'] as Record<string, unknown>
    assert.deepEqual([error['param'], error['provider_code']], ['messages', 'x'], format)
  }
})

test('a body that is not as the schema says names the field at fault', async () => {
  for (const [payload, param] of [
    [{}, 'name'],
    [{ name: [] }, 'name'],
    [{ name: 'x', tags: [{}, { label: 'long' }] }, 'tags[1].label'],
    ['nothing', undefined],
  ] as const) {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify(payload)
    const reply = await ask({ method: 'POST', url: '/named', payload: body, headers })
    assert.equal(reply.status, 400)
    assert.equal((reply.body['error'] as Record<string, unknown>)['param'], param, body)
  }
})

test('every refusal for want of credits or of patience says what to do', () => {
  for (const code of ERROR_CODES) {
    const { status, hint } = errorEntry(code)
    if (status === 402 || status === 429) assert.ok(hint, code)
  }
})

describe('an error in the words of Anthropic', () => {
  for (const code of ERROR_CODES) {
    test(`${code} has its status and the whole envelope`, async () => {
      const reply = await ask({ url: `/anthropic?code=${code}` })
      assert.equal(reply.status, STATUSES[code])
      assert.deepEqual(Object.keys(reply.body).sort(), ['error', 'request_id', 'type'])
      assert.equal(reply.body['type'], 'error')
      assert.equal(reply.body['request_id'], reply.headers['x-request-id'])
      assertWords(reply.body['error'], { keys: ['type', 'message', 'code', 'docs_url'], code })
      const error = reply.body['error'] as Record<string, unknown>
      assert.equal(error['type'], code)
      assert.equal(error['code'], code)
    })
  }

  test('is the answer on /v1/messages and below also where there is no route', async () => {
    for (const url of ['/v1/messages', '/v1/messages/batches', '/v1/messages?beta=true']) {
      assert.equal((await ask({ method: 'POST', url })).body['type'], 'error', url)
    }
    assert.equal('type' in (await ask({ method: 'POST', url: '/v1/other' })).body, false)
  })
})

/** What RFC 6749 calls by a name of its own. */
const RFC_NAMES: Record<string, string> = {
  bad_request: 'invalid_request',
  internal_error: 'server_error',
  service_unavailable: 'temporarily_unavailable',
}

describe('an error in the words of OAuth', () => {
  for (const code of ERROR_CODES) {
    test(`${code} is what RFC 6749 asks for, and our code beside it`, async () => {
      const reply = await ask({ url: `/oauth?code=${code}` })
      assert.equal(reply.status, STATUSES[code])
      assertWords(reply.body, {
        keys: ['error', 'error_description', 'code', 'message', 'docs_url', 'request_id'],
        code,
      })
      assert.equal(reply.body['error'], RFC_NAMES[code] ?? code)
      assert.equal(reply.body['code'], code)
      assert.equal(reply.headers['cache-control'], 'no-store')
      // RFC 6749, section 5.2: no quote, no backslash, nothing outside ASCII.
      assert.match(String(reply.body['error_description']), /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    })
  }

  test('keeps to those characters whatever the message quotes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (message) => {
        const body = renderError(new ApiError('invalid_request', { message }), {
          dialect: 'oauth',
          request_id: 'req_1',
          public_url: PUBLIC_URL,
        })
        const { error_description } = JSON.parse(body) as { error_description: string }
        assert.match(error_description, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
      }),
    )
  })
})

describe('the table', () => {
  test('has every code of the specification and no other, each with words and an explanation', () => {
    assert.deepEqual([...ERROR_CODES].sort(), Object.keys(STATUSES).sort())
    for (const code of ERROR_CODES) {
      const { message, explanation } = errorEntry(code)
      assert.match(message, /^[A-Z].+\.$/, code)
      assert.match(explanation, /^[A-Z`].+\.$/s, code)
    }
  })

  test('is overruled by what the thrower knows better: message, hint, status and headers', async () => {
    const reply = await ask({ url: '/special' })
    assert.equal(reply.status, 405)
    assert.equal(reply.headers['allow'], 'GET')
    const error = reply.body['error'] as Record<string, unknown>
    assert.equal(error['message'], 'No POST here.')
    assert.equal(error['hint'], 'Use GET.')
    assert.equal(error['code'], 'bad_request')
  })
})

describe('a defect', () => {
  const defects = ['bug', 'sql', 'text', 'nothing', 'object', 'hidden']

  for (const kind of defects) {
    test(`(${kind}) is answered 500 with nothing but the request id, and is logged whole`, async () => {
      const reply = await ask({ url: `/defect?kind=${kind}` })
      assert.equal(reply.status, 500)
      const error = reply.body['error'] as Record<string, unknown>
      assert.equal(error['code'], 'internal_error')
      assert.equal(error['request_id'], reply.headers['x-request-id'])
      assert.doesNotMatch(
        JSON.stringify([reply.body, reply.headers]),
        /hush|missing_table|secret_column|select|\.ts\b|at .*:\d+|node_modules|stack|Error:/,
      )
      const logged = reply.logged.filter((line) => line.level === 'error')
      assert.equal(logged.length, 1)
      assert.equal(logged[0]?.['request_id'], reply.headers['x-request-id'])
      if (kind === 'sql') assert.match(JSON.stringify(logged), /missing_table/)
      if (kind !== 'sql' && kind !== 'nothing') assert.match(JSON.stringify(logged), /hush/)
    })
  }
})

describe('bad input', () => {
  test('that is not JSON, or too large, or of the wrong type, or of the wrong kind is 4xx with a hint or reason', async () => {
    const json = { 'content-type': 'application/json' }
    const cases: [InjectOptions, number, RegExp][] = [
      [{ headers: json, payload: '{"a":' }, 400, /not valid JSON/],
      [{ headers: json, payload: '{"__proto__":{"x":1}}' }, 400, /not valid/],
      [{ headers: json, payload: `"${'x'.repeat(2_000_000)}"` }, 413, /too large/],
      [{ headers: { 'content-type': 'text/xml' }, payload: '<a/>' }, 415, /content type/],
      [{ headers: json, payload: '{"name":5}' }, 400, /body\.name must be string/],
      [{ headers: json, payload: '{}' }, 400, /body must have required property 'name'/],
      [{ headers: json, payload: '[]' }, 400, /body must be object/],
    ]
    for (const [request, status, message] of cases) {
      const reply = await ask({ method: 'POST', url: '/named', ...request })
      const error = reply.body['error'] as Record<string, unknown>
      assert.equal(reply.status, status, String(message))
      assert.equal(error['code'], 'bad_request')
      assert.match(String(error['message']), message)
      assert.doesNotMatch(JSON.stringify(reply.body), /stack|node_modules|FST_ERR/)
    }
  })

  test('before there is a request gets the same envelope', () => {
    for (const status of [400, 408, 431]) {
      const body = JSON.parse(
        renderConnectionError(status, { public_url: PUBLIC_URL, request_id: 'req_1' }),
      ) as Record<string, unknown>
      assertWords(body['error'], {
        keys: ['code', 'message', 'type', 'docs_url', 'request_id'],
        code: 'bad_request',
      })
    }
    assert.match(
      renderConnectionError(431, { public_url: PUBLIC_URL, request_id: 'req_1' }),
      /headers are too large/,
    )
  })
})

describe('every error', () => {
  test('shows the three limit headers, also when nothing was counted', async () => {
    const reply = await ask({ url: '/openai?code=not_found' })
    assert.equal(reply.headers['x-ratelimit-limit'], '100')
    assert.equal(reply.headers['x-ratelimit-remaining'], '100')
    const reset_in_s = Number(reply.headers['x-ratelimit-reset']) - Date.now() / 1000
    assert.ok(reset_in_s > 50 && reset_in_s <= 61, `${reset_in_s}`)
  })

  test('is JSON, whatever the route would have sent', async () => {
    const reply = await ask({ url: '/page?code=forbidden' })
    assert.match(String(reply.headers['content-type']), /^application\/json/)
  })

  test('that is the caller’s own doing leaves the log alone; a detail is logged and not sent', async () => {
    assert.deepEqual((await ask({ url: '/openai?code=not_found' })).logged, [])
    const reply = await ask({ url: '/detail' })
    assert.doesNotMatch(JSON.stringify(reply.body), /only for us/)
    const [line] = reply.logged
    assert.equal(line?.level, 'warn')
    assert.match(JSON.stringify(line), /only for us/)
  })

  test('of a database that is away is a warning, not an alarm for each request', async () => {
    const { logged } = await ask({ url: '/openai?code=service_unavailable' })
    assert.deepEqual(
      logged.map((line) => line.level),
      ['warn'],
    )
  })
})

async function ask(request: InjectOptions) {
  const logged_before = written.lines().length
  const reply = await app.inject({ method: 'GET', ...request })
  return {
    status: reply.statusCode,
    headers: reply.headers,
    body: reply.json<Record<string, unknown>>(),
    logged: written.lines().slice(logged_before),
  }
}

function addRoutes(app: App): void {
  for (const dialect of ['openai', 'anthropic', 'oauth'] as const) {
    app.get(`/${dialect}`, { config: { access: 'public', dialect } }, (request) => {
      const { code, ...told } = request.query as { code: ErrorCode }
      throw new ApiError(code, told)
    })
  }
  const config = { access: 'public' } as const
  app.get('/page', { config }, (_request, reply) => {
    reply.type('text/html')
    throw new ApiError('forbidden')
  })
  app.get('/special', { config }, () => {
    throw new ApiError('bad_request', {
      status: 405,
      message: 'No POST here.',
      hint: 'Use GET.',
      headers: { allow: 'GET' },
    })
  })
  app.get('/detail', { config }, () => {
    throw new ApiError('forbidden', { detail: 'only for us' })
  })
  app.get('/defect', { config }, async (request) => {
    await fail((request.query as { kind: string }).kind)
  })
  const body = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string' },
      tags: { type: 'array', items: { type: 'object', properties: { label: { maxLength: 3 } } } },
    },
  }
  app.post('/named', { config, schema: { body } }, async () => ({}))
}

async function fail(kind: string): Promise<void> {
  switch (kind) {
    case 'sql':
      await db.run(BROKEN)
      return
    case 'text':
      throw 'hush: only text'
    case 'nothing':
      throw undefined
    case 'object':
      throw { validation: [{}], toString: () => 'hush' }
    case 'hidden':
      throw new Error('hush', { cause: new Error('hush, inner') })
    default:
      throw new TypeError('hush: a bug')
  }
}

function assertWords(given: unknown, expected: { keys: string[]; code: ErrorCode }): void {
  const words = given as Record<string, unknown>
  const keys = Object.keys(words).filter((key) => key !== 'hint')
  assert.deepEqual(keys.sort(), [...expected.keys].sort())
  for (const key of keys) {
    assert.equal(typeof words[key], 'string', key)
    assert.notEqual(words[key], '', key)
  }
  if ('hint' in words) assert.equal(typeof words['hint'], 'string')
  assert.equal(words['docs_url'], `${PUBLIC_URL}/docs/errors#${expected.code}`)
}
