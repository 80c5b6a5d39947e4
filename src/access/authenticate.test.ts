import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify from 'fastify'
import { createApp } from '../../test/support/app.ts'
import { changeKeyLimit } from '../keys/keys.ts'
import { mintApiKey } from '../platform/tokens.ts'
import { addAuthentication } from './authenticate.ts'

const LIMIT_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const

describe('the global limit', async () => {
  test('each key has its own allowance of 100 a minute, counted down in the headers', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '100' } })
    const { bearer } = await service.register()
    const [one, two] = [await service.createKey(bearer), await service.createKey(bearer)]
    const use = (key: string) => service.request({ url: '/v1/key', headers: { 'x-api-key': key } })
    for (let left = 99; left >= 0; left--) {
      const reply = await use(one.key)
      assert.equal(reply.statusCode, 200)
      assert.equal(reply.headers['x-ratelimit-limit'], '100')
      assert.equal(reply.headers['x-ratelimit-remaining'], String(left))
      const seconds = Number(reply.headers['x-ratelimit-reset']) - Date.now() / 1000
      assert.ok(seconds > 0 && seconds <= 61)
    }
    const refused = await use(one.key)
    assert.deepEqual([refused.statusCode, refused.json().error.code], [429, 'rate_limit_exceeded'])
    const wait = Number(refused.headers['retry-after'])
    assert.ok(wait >= 1 && wait <= 60)
    assert.equal((await use(two.key)).statusCode, 200)
  })

  test('a key’s own limit is the one that counts, and the operator’s change reaches it at once', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '100' } })
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer, { rate_limit_per_minute: 2 })
    const use = async () =>
      (await service.request({ url: '/v1/key', headers: { 'x-api-key': key } })).statusCode
    assert.deepEqual([await use(), await use(), await use()], [200, 200, 429])
    await service.parts.db.transaction((tx) =>
      changeKeyLimit(service.parts, tx, { id, per_minute: 5 }),
    )
    assert.deepEqual([await use(), await use(), await use()], [200, 200, 429])
  })

  test('a browser’s session has its own allowance of 300 a minute, which no key and no bearer uses up', async () => {
    const service = await createApp({
      settings: { RATE_LIMIT_PER_MINUTE: '100', SESSION_LIMIT_PER_MINUTE: '300' },
    })
    const { bearer, token } = await service.register()
    const cookie = { cookie: `svc_session=${token}` }
    const other = { cookie: `svc_session=${(await service.register()).token}` }
    const use = (headers: Record<string, string>) => service.request({ url: '/auth/me', headers })
    for (let left = 299; left >= 0; left--) {
      const reply = await use(cookie)
      assert.equal(reply.statusCode, 200)
      assert.equal(reply.headers['x-ratelimit-limit'], '300')
      assert.equal(reply.headers['x-ratelimit-remaining'], String(left))
    }
    const refused = await use(cookie)
    assert.deepEqual([refused.statusCode, refused.json().error.code], [429, 'rate_limit_exceeded'])
    const wait = Number(refused.headers['retry-after'])
    assert.ok(wait >= 1 && wait <= 60)
    assert.equal((await use(other)).statusCode, 200)
    const as_bearer = await use(bearer)
    assert.deepEqual([as_bearer.statusCode, as_bearer.headers['x-ratelimit-limit']], [200, '100'])
  })

  test('a cookie of nobody counts for its address', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '2' } })
    const codes: number[] = []
    for (let i = 0; i < 3; i++) {
      const headers = { cookie: `svc_session=sess_${String(i).repeat(43)}` }
      codes.push((await service.request({ url: '/auth/me', headers })).statusCode)
    }
    assert.deepEqual(codes, [401, 401, 429])
  })

  test('an invented key counts for its address, so inventing keys gives no new allowance', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '5' } })
    const codes: number[] = []
    for (let i = 0; i < 7; i++) {
      const reply = await service.request({
        url: '/v1/key',
        headers: { 'x-api-key': mintApiKey() },
      })
      codes.push(reply.statusCode)
    }
    assert.deepEqual(codes, [401, 401, 401, 401, 401, 429, 429])
  })

  test('the three headers are on every kind of reply', async () => {
    const service = await createApp({
      app: {
        addRoutes: (app) => {
          app.get('/bug', { config: { access: 'public' } }, () => {
            throw new Error('select secret from somewhere')
          })
        },
      },
    })
    const { bearer } = await service.register()
    const replies = {
      200: await service.request({ url: '/auth/me', headers: bearer }),
      health: await service.request({ url: '/health' }),
      page: await service.request({ url: '/docs' }),
      302: await service.request({ url: '/' }),
      400: await service.post('/auth/login', { email: 5 }),
      'bad JSON': await service.request({
        method: 'POST',
        url: '/auth/login',
        headers: { 'content-type': 'application/json' },
        payload: '{',
      }),
      401: await service.request({ url: '/auth/me' }),
      404: await service.request({ url: '/nothing/here' }),
      405: await service.request({ method: 'PUT', url: '/auth/me' }),
      'bad address': await service.request({ url: '/%zz' }),
      500: await service.request({ url: '/bug' }),
    }
    for (const [kind, reply] of Object.entries(replies)) {
      for (const header of LIMIT_HEADERS)
        assert.match(String(reply.headers[header]), /^\d+$/, `${kind} ${header}`)
      assert.match(String(reply.headers['x-request-id']), /^req_[0-9a-f]{32}$/, kind)
      assert.equal(reply.headers['x-content-type-options'], 'nosniff', kind)
    }
    assert.equal(replies[500].statusCode, 500)
    assert.doesNotMatch(replies[500].body, /secret|select|stack|at /)
    assert.equal(replies[500].json().error.code, 'internal_error')
  })

  test('/health answers however often it is asked', async () => {
    const service = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '2' } })
    for (let i = 0; i < 10; i++)
      assert.equal((await service.request({ url: '/health' })).statusCode, 200)
    assert.equal((await service.request({ url: '/docs' })).statusCode, 200)
  })
})

test('a caller is waited for once, and then let in from memory without a promise', async () => {
  const service = await createApp()
  const { key } = await service.createKey((await service.register()).bearer)
  const app = Fastify().withTypeProvider<TypeBoxTypeProvider>()
  let waited = false
  app.decorateRequest('policy')
  app.addHook('onRequest', (request, _reply, done) => {
    request.policy = { access: 'key' }
    waited = false
    queueMicrotask(() => {
      waited = true
    })
    done()
  })
  addAuthentication(app, { ...service.parts, public_url: 'http://localhost' })
  const seen: boolean[] = []
  app.addHook('onRequest', (_request, _reply, done) => {
    seen.push(waited)
    done()
  })
  app.get('/', ({ principal }) => principal?.kind)
  const use = () => app.inject({ url: '/', headers: { 'x-api-key': key } })
  assert.deepEqual([(await use()).body, (await use()).body], ['key', 'key'])
  assert.deepEqual(seen, [true, false])
})

describe('the limits of identity', async () => {
  test('the fourth registration in a minute from one address is refused', async () => {
    const service = await createApp({ settings: { REGISTER_LIMIT_PER_MINUTE: '3' } })
    for (let i = 0; i < 3; i++) await service.register()
    const reply = await service.post('/auth/register', {
      email: 'late@x.test',
      password: 'long enough',
    })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [429, 'rate_limit_exceeded'])
    assert.equal(reply.headers['x-ratelimit-limit'], '3')
    assert.ok(Number(reply.headers['retry-after']) >= 1)
    const elsewhere = await service.app.inject({
      method: 'POST',
      url: '/auth/register',
      remoteAddress: '203.0.113.9',
      payload: { email: 'late@x.test', password: 'long enough' },
    })
    assert.equal(elsewhere.statusCode, 201)
  })

  test('failed logins do not bar the way to a new password', async () => {
    const service = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '2' } })
    const { email } = await service.register()
    for (let i = 0; i < 3; i++) await service.post('/auth/login', { email, password: 'wrong one' })
    assert.equal((await service.post('/auth/login', { email, password: 'x' })).statusCode, 429)
    assert.equal((await service.post('/auth/forgot-password', { email })).statusCode, 200)
  })

  test('the sixth login in a minute is refused: from one address, and for one email from many', async () => {
    const service = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '5' } })
    const login = (remoteAddress: string, email: string) =>
      service.app.inject({
        method: 'POST',
        url: '/auth/login',
        remoteAddress,
        payload: { email, password: 'wrong one' },
      })
    const codes: number[] = []
    for (let i = 0; i < 6; i++) codes.push((await login('203.0.113.1', `p${i}@x.test`)).statusCode)
    assert.deepEqual(codes, [401, 401, 401, 401, 401, 429])
    const spread: number[] = []
    for (let i = 0; i < 6; i++)
      spread.push((await login(`203.0.113.${10 + i}`, 'one@x.test')).statusCode)
    assert.deepEqual(spread, [401, 401, 401, 401, 401, 429])
  })
})

describe('probes', async () => {
  test('however many ask at once, the database is asked once', async () => {
    const service = await createApp()
    const before = service.parts.db.counts().total
    const replies = await Promise.all(
      Array.from({ length: 500 }, () => service.request({ url: '/health' })),
    )
    assert.ok(replies.every((reply) => reply.json().database === 'ok'))
    assert.deepEqual(service.parts.db.counts(), { total: before, idle: before, waiting: 0 })
  })

  test('/ready is 503 while starting and while draining, and other routes wait for the start', async () => {
    const service = await createApp()
    const status = async (url: string) => (await service.request({ url })).statusCode
    for (const [phase, ready, docs] of [
      ['starting', 503, 503],
      ['ready', 200, 200],
      ['draining', 503, 200],
    ] as const) {
      service.parts.lifecycle.phase = phase
      assert.deepEqual(
        [await status('/ready'), await status('/docs'), await status('/health')],
        [ready, docs, 200],
      )
      assert.equal((await service.request({ url: '/health' })).json().phase, phase)
    }
    assert.equal((await service.request({ url: '/docs' })).headers.connection, 'close')
  })

  test('/metrics is for loopback without a token, and for its bearer with one', async () => {
    const open = await createApp()
    await open.request({ url: '/docs' })
    const local = await open.request({ url: '/metrics' })
    assert.equal(local.statusCode, 200)
    assert.match(local.body, /^svc_http_request_seconds_count\{/m)
    const far = await open.app.inject({ url: '/metrics', remoteAddress: '203.0.113.1' })
    assert.equal(far.statusCode, 404)
    const proxied = await open.request({
      url: '/metrics',
      headers: { 'x-forwarded-for': '203.0.113.1' },
    })
    assert.equal(proxied.statusCode, 404)

    const closed = await createApp({ settings: { METRICS_TOKEN: 'let me in' } })
    const ask = (authorization?: string) =>
      closed.app.inject({
        url: '/metrics',
        remoteAddress: '203.0.113.1',
        headers: authorization === undefined ? {} : { authorization },
      })
    assert.equal((await ask()).statusCode, 401)
    assert.equal((await ask('Bearer wrong')).statusCode, 401)
    assert.equal((await ask('Bearer let me in')).statusCode, 200)
  })

  test('a request with a route that declares no access cannot be added', async () => {
    await assert.rejects(
      createApp({ app: { addRoutes: (app) => void app.get('/open', () => 'oops') } }),
      /GET \/open declares no access/,
    )
  })
})
