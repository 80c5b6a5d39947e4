// Pages that call the API from other sites: what they may read, and what they may not even ask for.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { connect, createOAuthApp, obtainCode, postForm, postToken } from '../support/oauth.ts'

const service = await createApp()
const PUBLIC = service.parts.config.PUBLIC_URL
const developer = await service.register()
const app = await createOAuthApp(service, developer, { origins: ['capacitor://localhost'] })
const user = await service.register()
const { access_token } = await connect(service, { app, user })
const { key } = await service.createKey(developer.bearer)

const APPS = 'https://app.example'
const FOREIGN = 'https://evil.example'
const ORIGINS = { own: PUBLIC, app: APPS, shell: 'capacitor://localhost', foreign: FOREIGN }
const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] }

/** What a browser adds to what a page asks for. */
function fromPage(origin: string): Record<string, string> {
  const site = origin === PUBLIC ? 'same-origin' : 'cross-site'
  return { origin, 'sec-fetch-site': site, 'sec-fetch-mode': 'cors' }
}

function preflight(url: string, headers: Record<string, string> = {}) {
  return service.request({
    method: 'OPTIONS',
    url,
    headers: { origin: FOREIGN, 'access-control-request-method': 'POST', ...headers },
  })
}

const OPEN = [
  '/v1/chat/completions',
  '/v1/users/a/messages',
  '/v1/models',
  '/v1/nothing-here',
  '/oauth/token',
  '/oauth/revoke',
  '/oauth/userinfo',
]
const CLOSED = [
  '/auth/login',
  '/developers/apps',
  '/account/usage',
  '/account/playground/chat/completions',
  '/oauth/authorize',
  '/oauth/login',
  '/console/',
  '/docs/errors',
  '/health',
  '/v1',
  '/nothing-here',
]

test('a preflight of any https or loopback page is answered, with the headers that it asks for', async () => {
  const names =
    'authorization,content-type,x-stainless-os,anthropic-dangerous-direct-browser-access'
  for (const url of OPEN) {
    for (const origin of [
      FOREIGN,
      'http://localhost:5173',
      'http://127.0.0.1',
      'http://[::1]:3000',
      'http://tauri.localhost',
      'tauri://localhost',
      'https://xn--bcher-kva.example:8443',
    ]) {
      const reply = await preflight(url, { origin, 'access-control-request-headers': names })
      const { headers } = reply
      assert.equal(reply.statusCode, 204, `${url} ${origin} ${reply.body}`)
      assert.equal(reply.body, '')
      assert.equal(headers['access-control-allow-origin'], origin)
      assert.equal(headers.vary, 'Origin')
      assert.equal(headers['access-control-allow-headers'], names.replaceAll(',', ', '))
      assert.equal(headers['access-control-allow-methods'], 'GET, POST, PUT, PATCH, DELETE')
      assert.equal(headers['access-control-max-age'], '7200')
      assert.equal(headers['access-control-allow-credentials'], undefined)
    }
  }
})

test('a preflight of a page without an origin, or of plain http, is refused', async () => {
  for (const origin of [
    'null',
    'http://evil.example',
    'http://localhost.evil.example',
    'https://a.example, https://b.example',
    'https://',
    `https://${'a'.repeat(400)}.example`,
    '*',
  ]) {
    const reply = await preflight('/v1/chat/completions', { origin })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], origin)
    assert.equal(reply.headers['access-control-allow-origin'], undefined)
  }
})

test('of the headers that a preflight names, forty come back, and only names', async () => {
  const asked = Array.from({ length: 60 }, (_, index) => `x-${index}`)
  const many = await preflight('/v1/models', { 'access-control-request-headers': asked.join() })
  const allowed = String(many.headers['access-control-allow-headers']).split(', ')
  assert.deepEqual(allowed, asked.slice(0, 40))
  const odd = { 'access-control-request-headers': 'x-a, *, x_b, x-\u00e9, ,X-C' }
  const reply = await preflight('/v1/models', odd)
  assert.equal(reply.headers['access-control-allow-headers'], 'x-a, x-c')
})

test('OPTIONS that is no preflight is a method that is not allowed, as before', async () => {
  for (const headers of [{}, { origin: FOREIGN }]) {
    const reply = await service.request({ method: 'OPTIONS', url: '/v1/chat/completions', headers })
    assert.equal(reply.statusCode, 405)
  }
})

test('accounts, developers, pages and probes answer no page of another site', async () => {
  for (const url of CLOSED) {
    const asked = await preflight(url)
    assert.notEqual(asked.statusCode, 204, url)
    const read = await service.request({ url, headers: { ...fromPage(APPS), ...developer.bearer } })
    for (const reply of [asked, read]) {
      const names = Object.keys(reply.headers).filter((name) => name.startsWith('access-control'))
      assert.deepEqual(names, [], url)
    }
  }
})

test('what is the same for everybody may be read by everybody', async () => {
  for (const url of ['/.well-known/oauth-authorization-server', '/v1/models']) {
    for (const headers of [{}, fromPage(APPS), fromPage(FOREIGN), fromPage('null')]) {
      const reply = await service.request({ url, headers })
      assert.equal(reply.statusCode, 200)
      assert.equal(reply.headers['access-control-allow-origin'], '*', url)
    }
  }
})

const CREDENTIALS = {
  token: { authorization: `Bearer ${access_token}` },
  'token as key': { 'x-api-key': access_token },
  key: { authorization: `Bearer ${key}` },
  'x-api-key': { 'x-api-key': key },
  'unknown key': { authorization: 'Bearer sk-svc-nobody' },
  'token and key': { authorization: `Bearer ${access_token}`, 'x-api-key': key },
  session: developer.bearer,
  cookie: { cookie: `svc_session=${developer.token}` },
  none: {},
  unknown: { authorization: 'Bearer something' },
} as const
type Credential = keyof typeof CREDENTIALS

/** Of /v1/balance, by who calls from which page. */
const EXPECTED: Record<Credential, Record<'own' | 'app' | 'shell' | 'foreign' | 'null', number>> = {
  token: { own: 403, app: 200, shell: 200, foreign: 403, null: 403 },
  'token as key': { own: 403, app: 200, shell: 200, foreign: 403, null: 403 },
  key: { own: 200, app: 403, shell: 403, foreign: 403, null: 403 },
  'x-api-key': { own: 200, app: 403, shell: 403, foreign: 403, null: 403 },
  'unknown key': { own: 401, app: 403, shell: 403, foreign: 403, null: 403 },
  'token and key': { own: 400, app: 403, shell: 403, foreign: 403, null: 403 },
  session: { own: 401, app: 403, shell: 403, foreign: 403, null: 403 },
  cookie: { own: 401, app: 403, shell: 403, foreign: 403, null: 403 },
  none: { own: 401, app: 401, shell: 401, foreign: 401, null: 401 },
  unknown: { own: 401, app: 401, shell: 401, foreign: 401, null: 401 },
}

test('a token is for the pages of its app; a key or a session is for no page of another site', async () => {
  for (const [name, credential] of Object.entries(CREDENTIALS)) {
    for (const [page, expected] of Object.entries(EXPECTED[name as Credential])) {
      const origin = page === 'null' ? 'null' : ORIGINS[page as keyof typeof ORIGINS]
      const headers = { ...credential, ...fromPage(origin) }
      const reply = await service.request({ url: '/v1/balance', headers })
      const what = `${name} from ${page}: ${reply.body}`
      assert.equal(reply.statusCode, expected, what)
      if (expected === 403) assert.equal(reply.json().error.code, 'forbidden', what)
      const allowed = page === 'null' ? undefined : origin
      assert.equal(reply.headers['access-control-allow-origin'], allowed, what)
      assert.equal(reply.headers.vary, 'Origin')
      assert.match(reply.headers['access-control-expose-headers'] ?? '', /Retry-After|^$/)
    }
  }
})

test('programs, which send no Origin or one without the browser’s own header, are served as before', async () => {
  for (const headers of [CREDENTIALS.token, CREDENTIALS.key, CREDENTIALS['x-api-key']]) {
    const plain = await service.request({ url: '/v1/balance', headers })
    assert.equal(plain.statusCode, 200)
    assert.equal(plain.headers['access-control-allow-origin'], undefined)
  }
  // Node's fetch names a mode, and neither of the two others.
  const node = { ...CREDENTIALS.key, 'sec-fetch-mode': 'cors' }
  assert.equal((await service.request({ url: '/v1/balance', headers: node })).statusCode, 200)
  const odd = { ...CREDENTIALS.key, origin: 'https://tool.example' }
  assert.equal((await service.request({ url: '/v1/balance', headers: odd })).statusCode, 200)
})

test('a page under another name of ours is our own', async () => {
  const headers = {
    ...CREDENTIALS.key,
    origin: 'http://127.0.0.1:8080',
    'sec-fetch-site': 'same-origin',
  }
  assert.equal((await service.request({ url: '/v1/balance', headers })).statusCode, 200)
})

test('a call from a page that may not make it holds and costs nothing', async () => {
  const [stranger, person] = [await service.register(), await service.register()]
  const own = await service.createKey(stranger.bearer)
  const tokens = await connect(service, { app, user: person })
  const counts = () =>
    sql(
      service.database_url,
      'select (select count(*) from hold) as holds, (select count(*) from usage_event) as calls',
    )
  const before = await counts()
  for (const credential of [
    { authorization: `Bearer ${own.key}` },
    { 'x-api-key': own.key },
    { authorization: `Bearer ${tokens.access_token}` },
  ]) {
    for (const url of ['/v1/chat/completions', '/v1/%63hat/completions', '/v1/messages']) {
      const headers = { ...credential, ...fromPage(FOREIGN) }
      const reply = await service.post(url, { ...CHAT, max_tokens: 10 }, headers)
      assert.equal(reply.statusCode, 403, reply.body)
    }
  }
  assert.deepEqual(await counts(), before)
})

test('the app’s own page reads a streamed answer, its cost and its request id', async () => {
  const headers = { ...CREDENTIALS.token, ...fromPage(APPS) }
  const streamed = await service.post('/v1/chat/completions', { ...CHAT, stream: true }, headers)
  assert.equal(streamed.statusCode, 200)
  assert.equal(streamed.headers['access-control-allow-origin'], APPS)
  const whole = await service.post('/v1/chat/completions', CHAT, headers)
  const exposed = String(whole.headers['access-control-expose-headers']).toLowerCase().split(', ')
  const sent = Object.keys(whole.headers).filter((name) => /^x-(svc|request|ratelimit)-/.test(name))
  assert.ok(sent.length > 5, sent.join())
  assert.deepEqual(
    sent.filter((name) => !exposed.includes(name)),
    [],
  )
  const refused = await service.post('/v1/chat/completions', { ...CHAT, model: 'none' }, headers)
  assert.deepEqual(
    [refused.statusCode, refused.headers['access-control-allow-origin']],
    [404, APPS],
  )
})

test('every X-Svc header of the reference can be read by a page', async () => {
  const document = (await service.request({ url: '/openapi.json' })).body
  const models = await service.request({ url: '/v1/models', headers: fromPage(APPS) })
  const exposed = String(models.headers['access-control-expose-headers'])
  const reply_headers = [...document.matchAll(/"(X-Svc-[A-Za-z-]+)":\{/g)].map(
    ([, name = '']) => name,
  )
  assert.ok(reply_headers.length > 0)
  for (const name of new Set(reply_headers)) assert.ok(exposed.includes(name), name)
})

test('the token endpoint compares the page with the app before it looks at the code', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user })
  const { client_id, client_secret } = app
  const fields = { grant_type: 'authorization_code', client_id, client_secret, code, code_verifier }
  for (const origin of [FOREIGN, 'null', PUBLIC]) {
    const reply = await postForm(service, '/oauth/token', fields, fromPage(origin))
    assert.deepEqual([reply.statusCode, reply.json().error], [403, 'forbidden'], origin)
    const allowed = origin === 'null' ? undefined : origin
    assert.equal(reply.headers['access-control-allow-origin'], allowed)
    const revoked = { client_id, client_secret, token: access_token }
    const ended = await postForm(service, '/oauth/revoke', revoked, fromPage(origin))
    assert.equal(ended.statusCode, 403)
  }
  const good = await postForm(service, '/oauth/token', fields, fromPage(APPS))
  assert.equal(good.statusCode, 200, good.body)
  assert.equal(good.headers['access-control-allow-origin'], APPS)
})

test('a page on the user’s own machine may have any port', async () => {
  const local = await createOAuthApp(service, developer, {
    redirect_uris: ['http://localhost:3000/callback'],
  })
  const tokens = await connect(service, { app: local, user })
  const call = (origin: string) =>
    service.request({
      url: '/v1/balance',
      headers: { authorization: `Bearer ${tokens.access_token}`, ...fromPage(origin) },
    })
  assert.equal((await call('http://localhost:5173')).statusCode, 200)
  assert.equal((await call('http://127.0.0.1:3000')).statusCode, 403)
  assert.equal((await call('https://localhost:3000')).statusCode, 403)
})

test('an app that takes an origin away closes it for tokens that are in use', async () => {
  const changing = await createOAuthApp(service, developer, { origins: ['https://old.example'] })
  const tokens = await connect(service, { app: changing, user })
  const call = (origin: string) =>
    service.request({
      url: '/v1/balance',
      headers: { authorization: `Bearer ${tokens.access_token}`, ...fromPage(origin) },
    })
  assert.equal((await call('https://old.example')).statusCode, 200)
  const changed = await service.request({
    method: 'PATCH',
    url: `/developers/apps/${changing.id}`,
    headers: { ...developer.bearer, 'content-type': 'application/json' },
    payload: { origins: ['https://new.example'] },
  })
  assert.equal(changed.statusCode, 200, changed.body)
  assert.equal((await call('https://old.example')).statusCode, 403)
  assert.equal((await call('https://new.example')).statusCode, 200)
  const refreshed = await postToken(service, changing, {
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token,
  })
  assert.equal(refreshed.statusCode, 200)
})

test('preflights count for their address, and end with its allowance', async () => {
  const small = await createApp({
    settings: { RATE_LIMIT_PER_MINUTE: '3' },
    database_url: service.database_url,
  })
  const ask = () =>
    small.request({
      method: 'OPTIONS',
      url: '/v1/chat/completions',
      headers: { origin: APPS, 'access-control-request-method': 'POST' },
    })
  const statuses = []
  for (let count = 0; count < 4; count += 1) statuses.push((await ask()).statusCode)
  assert.deepEqual(statuses, [204, 204, 204, 429])
  await small.close()
})
