// The pages before consent: nobody is signed in by somebody else, kept in another's session, or led away.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp, PASSWORD } from '../support/app.ts'
import {
  authorizeUrl,
  connect,
  createOAuthApp,
  csrfOf,
  makePkce,
  signIn,
  Visitor,
} from '../support/oauth.ts'

const service = await createApp({ settings: { PUBLIC_URL: 'https://svc.example' } })
const user = await service.register()
const credentials = { email: user.email, password: PASSWORD }

test('O14: a sign-in that another site sends is forbidden, and sets no cookie', async () => {
  for (const path of ['/oauth/login', '/oauth/register', '/oauth/forgot-password']) {
    const visitor = new Visitor(service)
    const csrf = csrfOf((await visitor.get('/oauth/login')).body)
    const other = csrfOf((await new Visitor(service).get('/oauth/login')).body)
    const attacks: [Record<string, string>, Record<string, string>][] = [
      [{ csrf }, { 'sec-fetch-site': 'cross-site' }],
      [{ csrf }, { 'sec-fetch-site': 'same-site', origin: 'https://sub.svc.example' }],
      [{ csrf }, { 'sec-fetch-site': 'none', origin: 'https://evil.example' }],
      [{ csrf: other }, {}],
      [{}, {}],
    ]
    for (const [fields, headers] of attacks) {
      const reply = await visitor.submit(path, { ...credentials, ...fields }, headers)
      assert.equal(reply.statusCode, 403, path)
      assert.equal(reply.headers['set-cookie'], undefined)
    }
    service.clock.advance(10 * 60_000)
    const late = await visitor.submit(path, { ...credentials, csrf })
    assert.deepEqual([late.statusCode, late.headers['set-cookie']], [403, undefined])
  }
})

test('O15: signing in leads to a fixed address of ours, whatever the query says', async () => {
  for (const query of [
    '?return_to=https://evil.example',
    '?return_to=//evil.example',
    '?next=//evil.example&redirect=https://evil.example',
    '?//evil.example',
    '?%0d%0alocation:https://evil.example',
    '#https://evil.example',
  ]) {
    const location = String((await new Visitor(service).login(user.email, query)).headers.location)
    const target = new URL(location, 'https://svc.example')
    assert.equal(target.origin, 'https://svc.example', location)
    assert.match(location, /^\/oauth\/(authorize\?|connections$)/)
  }
  const evil = '/oauth/authorize?redirect_uri=https://evil.example'
  const reply = await (await signIn(service, user)).get(evil)
  assert.deepEqual([reply.statusCode, reply.headers.location], [401, undefined])
})

test('A7: a login counts wherever it is tried: the page and the endpoint have one allowance', async () => {
  const strict = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '5' } })
  const visitor = new Visitor(strict)
  const csrf = csrfOf((await visitor.get('/oauth/login')).body)
  const wrong = { email: 'somebody@example.com', password: 'a wrong one' }
  for (let i = 0; i < 5; i++) {
    assert.equal((await strict.post('/auth/login', wrong)).statusCode, 401)
  }
  const refused = await visitor.submit('/oauth/login', { csrf, ...wrong })
  assert.equal(refused.statusCode, 429)
  assert.ok(Number(refused.headers['retry-after']) >= 1)
  // From elsewhere the address is fresh, but the account that is guessed at is not.
  const elsewhere = await strict.app.inject({
    method: 'POST',
    url: '/oauth/login',
    remoteAddress: '203.0.113.77',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      cookie: `svc_pre=${visitor.cookies.get('svc_pre')}`,
    },
    payload: new URLSearchParams({ csrf, ...wrong }).toString(),
  })
  assert.equal(elsewhere.statusCode, 429)
})

test('A10: a session that was planted in the browser is dead once somebody signs in there', async () => {
  const planted = await service.register()
  for (const path of ['/oauth/login', '/oauth/register']) {
    const visitor = new Visitor(service)
    visitor.cookies.set('svc_session', planted.token)
    const fields = path === '/oauth/login' ? credentials : { ...credentials, email: 'n@x.test' }
    const entered = await visitor.fill(path, fields)
    assert.equal(entered.statusCode, 303)
    assert.notEqual(visitor.cookies.get('svc_session'), planted.token)
    const me = await service.request({ url: '/auth/me', headers: planted.bearer })
    assert.equal(me.statusCode, 401)
  }
})

test('A15: the session cookie of the pages is as guarded as that of the endpoints', async () => {
  const reply = await new Visitor(service).login(user.email)
  const cookies = [reply.headers['set-cookie'] ?? []].flat()
  const session = cookies.find((cookie) => cookie.startsWith('svc_session='))
  assert.match(session ?? '', /^svc_session=sess_[\w-]{43}; Path=\/; Max-Age=86400; HttpOnly; /)
  assert.match(session ?? '', /; SameSite=Lax; Secure$/)
  const visit = await new Visitor(service).get('/oauth/login')
  assert.match(String(visit.headers['set-cookie']), /^svc_pre=.*HttpOnly; SameSite=Lax; Secure$/)
})

test('a wrong password and an unknown address get the same page', async () => {
  const visitor = new Visitor(service)
  const pages = []
  for (const email of [user.email, 'nobody@example.com']) {
    const page = await visitor.fill('/oauth/login', { email, password: 'a wrong one' })
    assert.equal(page.statusCode, 401)
    pages.push(page.body.replaceAll(email, '').replaceAll(csrfOf(page.body), ''))
  }
  assert.equal(pages[0], pages[1])
})

test('A12: the cookie of a session is no good to another site, on any endpoint that writes', async () => {
  const { token } = await service.register()
  const cookie = `svc_session=${token}`
  const writes = [
    ['POST', '/developers/apps'],
    ['PATCH', '/developers/apps/x'],
    ['DELETE', '/developers/apps/x'],
    ['POST', '/developers/apps/x/rotate-secret'],
    ['POST', '/developers/keys'],
    ['DELETE', '/developers/keys/x'],
    ['PATCH', '/account/connections/x'],
    ['DELETE', '/account/connections/x'],
    ['POST', '/auth/change-password'],
    ['POST', '/auth/logout'],
  ] as const
  for (const [method, url] of writes) {
    for (const from of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      const reply = await service.request({
        method,
        url,
        headers: { cookie, 'content-type': 'application/json', ...from },
        payload: JSON.stringify({ name: 'x', redirect_uris: [], billing_mode: 'developer' }),
      })
      assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], url)
    }
  }
})

test('A14: a body that needs no permission of the browser to be sent has no effect', async () => {
  const { token, bearer } = await service.register()
  const body = JSON.stringify({
    name: 'x',
    billing_mode: 'developer',
    redirect_uris: ['https://x'],
  })
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
    for (const url of ['/developers/keys', '/developers/apps']) {
      const headers = { cookie: `svc_session=${token}`, 'content-type': type }
      const reply = await service.request({ method: 'POST', url, headers, payload: body })
      assert.ok([400, 415].includes(reply.statusCode), `${type}: ${reply.statusCode}`)
      assert.equal(reply.json().error.code, 'bad_request')
      const list = await service.request({ url, headers: bearer })
      assert.deepEqual(list.json().data, [])
    }
  }
})

test('A16: keys, tokens and secrets of apps are no sessions', async () => {
  const developer = await service.register()
  const app = await createOAuthApp(service, developer)
  const { access_token, refresh_token } = await connect(service, { app, user })
  const { key } = await service.createKey(developer.bearer)
  const { code_challenge } = makePkce()
  const asked = authorizeUrl(app, { code_challenge })
  for (const secret of [key, access_token, refresh_token, app.client_secret, 'whsec_abcdefgh']) {
    const headers = { authorization: `Bearer ${secret}` }
    for (const url of [
      '/developers/keys',
      '/developers/apps',
      '/account/connections',
      '/auth/me',
    ]) {
      const reply = await service.request({ url, headers })
      assert.deepEqual([reply.statusCode, reply.json().error.code], [401, 'invalid_api_key'], url)
    }
    const consent = await new Visitor(service).get(asked, headers)
    assert.match(String(consent.headers.location), /^\/oauth\/login/)
  }
})

test('another site signs nobody out: it brings no session, and no cookie is taken for it', async () => {
  const reply = await new Visitor(service).submit(
    '/oauth/logout',
    {},
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  )
  assert.equal(reply.headers['set-cookie'], undefined)
})
