// P1: apps without a server, of both kinds, hold what O1–O34 promise of apps with one, where it applies to them; and
// what is theirs alone: no secret, a cap, short lives, the consent page's words. Their keys: dpop.test.ts.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import * as oauth from 'oauth4webapi'
import { endSessions } from '../../src/operators/accounts.ts'
import { createApp, PASSWORD } from '../support/app.ts'
import { ProofKey } from '../support/dpop.ts'
import { consentAt, createListeningApp } from '../support/listening-app.ts'
import {
  authorizeUrl,
  connect,
  createOAuthApp,
  createPublicApp,
  csrfOf,
  makePkce,
  obtainCode,
  type Person,
  type PublicApp,
  postForm,
  postToken,
  requiredCapOf,
  signIn,
  type TokenReply,
} from '../support/oauth.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const CALLBACKS = {
  browser: ['https://app.example/callback', 'http://localhost:5173/callback'],
  native: [
    'http://127.0.0.1/callback',
    'com.example.app:/callback',
    'https://app.example/callback',
  ],
}
const KINDS = ['browser', 'native'] as const
type Kind = (typeof KINDS)[number]

const service = await createListeningApp()
const developer = await service.register('ada@example.com')
const user = await service.register()
const makeKey = () => new ProofKey(service.address, () => service.clock.now())

function make(client_type: Kind, body: object = {}): Promise<PublicApp> {
  const redirect_uris = CALLBACKS[client_type]
  return createPublicApp(service, developer, { client_type, redirect_uris, ...body })
}

const apps = { browser: await make('browser'), native: await make('native') }

const signInAnew = () => signIn(service, user)

/** In a browser that signs in anew: time passes in this file, and sessions end. */
async function start(app: PublicApp, headers: Record<string, string> = {}): Promise<TokenReply> {
  return await connect(service, { app, user, visitor: await signInAnew(), headers })
}

async function logIn(): Promise<{ authorization: string }> {
  const reply = await service.post('/auth/login', { email: user.email, password: PASSWORD })
  return { authorization: `Bearer ${reply.json<{ session_token: string }>().session_token}` }
}

function refresh(app: PublicApp, refresh_token: string, headers: Record<string, string> = {}) {
  return postToken(service, app, { grant_type: 'refresh_token', refresh_token }, headers)
}

async function refreshed(app: PublicApp, refresh_token: string): Promise<TokenReply> {
  const reply = await refresh(app, refresh_token)
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<TokenReply>()
}

async function statusOf(access_token: string): Promise<number> {
  const headers = { authorization: `Bearer ${access_token}` }
  return (await service.request({ url: '/oauth/userinfo', headers })).statusCode
}

async function assertEnded(app: PublicApp, { access_token, refresh_token }: TokenReply) {
  assert.equal(await statusOf(access_token), 401)
  assert.equal((await refresh(app, refresh_token)).json().error, 'invalid_grant')
}

async function faultOf(app: PublicApp, parameters: Record<string, string>): Promise<unknown> {
  const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge, ...parameters })
  const reply = await service.request({ url, headers: { accept: 'application/json' } })
  return [reply.statusCode, reply.json().error.code]
}

test('oauth4webapi: a page signs in with a key, calls, refreshes and signs out, without any secret', async () => {
  const app = await make('browser')
  // oxlint-disable-next-line typescript/no-deprecated -- Marked so that it stands out: this server is on this machine.
  const options = { [oauth.allowInsecureRequests]: true }
  const issuer = new URL(service.address)
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...options })
  const server = await oauth.processDiscoveryResponse(issuer, found)
  assert.deepEqual(server.dpop_signing_alg_values_supported, ['ES256'])
  assert.ok(server.token_endpoint_auth_methods_supported?.includes('none'))
  assert.ok(server.revocation_endpoint_auth_methods_supported?.includes('none'))
  const DPoP = oauth.DPoP({}, await oauth.generateKeyPair('ES256'))
  const { code_verifier, code_challenge } = makePkce()
  const link = service.address + authorizeUrl(app, { code_challenge })
  const callback = oauth.validateAuthResponse(
    server,
    app,
    await consentAt(service, user, link),
    'state-1',
  )
  const redirect_uri = app.redirect_uris[0] ?? ''
  const exchange = await oauth.authorizationCodeGrantRequest(
    server,
    app,
    oauth.None(),
    callback,
    redirect_uri,
    code_verifier,
    { DPoP, ...options },
  )
  const first = await oauth.processAuthorizationCodeResponse(server, app, exchange)
  assert.deepEqual([first.token_type, first.expires_in], ['bearer', 600])
  assert.equal(await statusOf(first.access_token), 200)
  const asked = await oauth.refreshTokenGrantRequest(
    server,
    app,
    oauth.None(),
    first.refresh_token ?? '',
    { DPoP, ...options },
  )
  const second = await oauth.processRefreshTokenResponse(server, app, asked)
  assert.notEqual(second.refresh_token, first.refresh_token)
  const stolen = await refresh(app, second.refresh_token ?? '')
  assert.equal(stolen.json().error, 'invalid_grant')
  const revoked = await oauth.revocationRequest(
    server,
    app,
    oauth.None(),
    second.refresh_token ?? '',
    options,
  )
  await oauth.processRevocationResponse(revoked)
  assert.equal(await statusOf(second.access_token), 401)
})

for (const kind of KINDS) {
  describe(`of a ${kind} app`, () => {
    const app = apps[kind]
    const [, other = ''] = app.redirect_uris

    test('O1, O2: only a registered address is led to; on this machine the port may differ', async () => {
      const visitor = await signInAnew()
      const { code_challenge } = makePkce()
      const ask = (redirect_uri: string) =>
        visitor.get(authorizeUrl(app, { code_challenge, redirect_uri }))
      for (const redirect_uri of [
        'https://evil.example/callback',
        'https://app.example/callback/',
        'https://app.example/callback#x',
        'https://app.example:444/callback',
        'https://app.example@evil.example/callback',
        'http://localhost:5173/other',
        'http://[::1]/callback',
        'http://127.0.0.1/other',
        'http://127.0.0.1:0/callback',
        'com.example.app:/other',
        'com.example.app://callback',
        'COM.EXAMPLE.APP:/callback',
        'com.example.app2:/callback',
        'javascript:alert(1)',
      ]) {
        const page = await ask(redirect_uri)
        assert.deepEqual([page.statusCode, page.headers.location], [400, undefined], redirect_uri)
      }
      for (const redirect_uri of app.redirect_uris) {
        assert.equal((await ask(redirect_uri)).statusCode, 200, redirect_uri)
      }
      const loopback =
        kind === 'native' ? 'http://127.0.0.1:49152/callback' : other.replace('5173', '4000')
      assert.equal((await ask(loopback)).statusCode, 200)
    })

    test('O4, O6, O7: no consent without S256, for anything but a code, or beyond the scopes', async () => {
      assert.deepEqual(await faultOf(app, { code_challenge: '' }), [400, 'invalid_request'])
      assert.deepEqual(await faultOf(app, { code_challenge: 'short' }), [400, 'invalid_request'])
      const plain = { code_challenge_method: 'plain' }
      assert.deepEqual(await faultOf(app, plain), [400, 'invalid_request'])
      const implicit = { response_type: 'token' }
      assert.deepEqual(await faultOf(app, implicit), [400, 'unauthorized_client'])
      assert.deepEqual(await faultOf(app, { scope: 'admin' }), [400, 'invalid_scope'])
    })

    test('O5, O16, O17: a code is good once, for a minute, with its verifier, for its own app', async () => {
      const visitor = await signInAnew()
      const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
      const fields = { grant_type: 'authorization_code', code, code_verifier }
      const verifier = makePkce().code_verifier
      const errorOf = async (given: object, by: PublicApp = app) =>
        (await postToken(service, by, { ...fields, ...given })).json().error
      assert.equal(await errorOf({ code_verifier: '' }), 'invalid_grant')
      assert.equal(await errorOf({ code_verifier: verifier }), 'invalid_grant')
      assert.equal(await errorOf({ redirect_uri: other }), 'invalid_grant')
      assert.equal(await errorOf({}, await make(kind)), 'invalid_grant')
      const tokens = (await postToken(service, app, fields)).json<TokenReply>()
      assert.equal(await statusOf(tokens.access_token), 200)
      assert.equal(await errorOf({ code_verifier: verifier }), 'invalid_grant')
      assert.equal(await statusOf(tokens.access_token), 200, 'who holds only the code ends nothing')
      assert.equal(await errorOf({}), 'invalid_grant')
      await assertEnded(app, tokens)
      const late = await obtainCode(service, { app, user, visitor })
      service.clock.advance(61_000)
      assert.equal(await errorOf(late as object), 'invalid_grant')
    })

    test('O10, O11, O12, O34: the page is escaped, framed nowhere, and answered by nobody else', async () => {
      const odd = await make(kind, { name: '<b>Poem</b>' })
      const visitor = await signInAnew()
      const url = authorizeUrl(odd, { code_challenge: makePkce().code_challenge })
      const page = await visitor.get(url)
      assert.ok(!page.body.includes('<b>Poem'))
      assert.equal(page.headers['x-frame-options'], 'DENY')
      const good = { csrf: csrfOf(page.body), decision: 'allow', ...requiredCapOf(page.body) }
      const cross = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
      assert.equal((await visitor.submit(url, good, cross)).statusCode, 403)
      const forged = await visitor.submit(url, { ...good, csrf: 'x' })
      assert.equal(forged.statusCode, 403)
      const framed = await visitor.send({
        method: 'POST',
        url,
        headers: { 'content-type': 'application/x-www-form-urlencoded', origin: 'null' },
        payload: new URLSearchParams(good).toString(),
      })
      assert.equal(framed.statusCode, 403)
      assert.equal((await visitor.submit(url, good)).statusCode, 303)
    })

    test('O19, O20, O21: refresh tokens rotate, repeat for 30 seconds, and end the family when reused', async () => {
      const first = await start(app)
      const replies = await Promise.all(
        Array.from({ length: 4 }, () => refreshed(app, first.refresh_token)),
      )
      assert.equal(new Set(replies.map((reply) => reply.refresh_token)).size, 1)
      const [second] = replies
      assert.ok(second)
      const by_other = await refresh(await make(kind), second.refresh_token)
      assert.equal(by_other.json().error, 'invalid_grant')
      const wide = { grant_type: 'refresh_token', refresh_token: second.refresh_token }
      const wider = await postToken(service, app, { ...wide, scope: 'credits.read admin' })
      assert.equal(wider.json().error, 'invalid_scope')
      const third = await refreshed(app, second.refresh_token)
      service.clock.advance(31_000)
      assert.equal((await refresh(app, first.refresh_token)).json().error, 'invalid_grant')
      await assertEnded(app, third)
    })

    test('O22, O23: a secret is refused, in the form and in the header, and a client_id must be known', async () => {
      const tokens = await start(app)
      const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
      const secret = { ...fields, client_id: app.client_id, client_secret: 'svc_secret_any' }
      const basic = Buffer.from(`${app.client_id}:svc_secret_any`).toString('base64')
      const server = await createOAuthApp(service, developer)
      for (const reply of [
        await postForm(service, '/oauth/token', secret),
        await postForm(service, '/oauth/token', fields, { authorization: `Basic ${basic}` }),
        await postForm(service, '/oauth/token', fields),
        await postForm(service, '/oauth/token', { ...fields, client_id: 'svc_client_x' }),
        await postForm(service, '/oauth/token', { ...fields, client_id: server.client_id }),
        await postForm(service, '/oauth/revoke', { token: 'x', client_id: server.client_id }),
      ]) {
        assert.deepEqual([reply.statusCode, reply.json().error], [401, 'invalid_client'])
      }
      await refreshed(app, tokens.refresh_token)
    })

    test('O25, O27: tokens end with the app, by revocation, and never do more than was granted', async () => {
      const own = await make(kind)
      const visitor = await signInAnew()
      const parameters = { scope: 'credits.read' }
      const reader = await connect(service, { app: own, user, visitor, parameters })
      const chat = await service.post(
        '/v1/chat/completions',
        { model: 'openai/gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] },
        { authorization: `Bearer ${reader.access_token}` },
      )
      assert.deepEqual([chat.statusCode, chat.json().error.code], [403, 'insufficient_scope'])
      const gone = await connect(service, { app: own, user, visitor })
      const revocation = { client_id: own.client_id, token: gone.refresh_token }
      assert.equal((await postForm(service, '/oauth/revoke', revocation)).statusCode, 200)
      await assertEnded(own, gone)
      assert.equal(await statusOf(reader.access_token), 200, 'another grant stays')
      const url = `/developers/apps/${own.id}`
      await service.request({ method: 'DELETE', url, headers: developer.bearer })
      assert.equal(await statusOf(reader.access_token), 401)
    })

    test('O29, O30: there is no hosted storage, so no name of a user can be taken', async () => {
      const hosted = { storage_mode: 'hosted', external_user_id: 'user-42' }
      assert.deepEqual(await faultOf(app, hosted), [400, 'unauthorized_client'])
    })

    test('consent is asked every time, and names who asks, where it runs and what it may spend', async () => {
      const own = await make(kind, { name: 'Poem Machine' })
      const { code_challenge } = makePkce()
      for (let time = 0; time < 2; time++) {
        const visitor = await signInAnew()
        const page = await visitor.get(authorizeUrl(own, { code_challenge }))
        assert.equal(page.statusCode, 200)
        assert.match(page.body, /by <bdi>ada@example\.com<\/bdi>/)
        assert.match(page.body, /may spend up to <strong>\$5\.00<\/strong> a month/)
        assert.match(
          page.body,
          kind === 'browser'
            ? /\(app\.example\) runs in your browser without a server/
            : /An app on this device that calls itself <strong><bdi>Poem Machine/,
        )
        assert.equal(/a program on this computer/.test(page.body), kind === 'native')
        await connect(service, { app: own, user, visitor })
        const silent = await visitor.get(authorizeUrl(own, { code_challenge, prompt: 'none' }))
        assert.match(String(silent.headers.location), /error=consent_required/)
      }
      const visitor = await signInAnew()
      const page = await visitor.get(authorizeUrl(own, { code_challenge, redirect_uri: other }))
      const place = kind === 'browser' ? 'localhost:5173' : 'com.example.app:'
      assert.ok(page.body.includes(`<strong>${place}</strong>`), page.body)
    })

    test('without a cap nothing is allowed, and no cap is not offered', async () => {
      const own = await make(kind)
      const visitor = await signInAnew()
      const url = authorizeUrl(own, { code_challenge: makePkce().code_challenge })
      const page = await visitor.get(url)
      assert.ok(!page.body.includes('value="none"'))
      const form = { csrf: csrfOf(page.body), decision: 'allow' }
      for (const cap of [{}, { cap: 'none' }, { cap: 'none', cap_usd: '5' }, { cap: 'monthly' }]) {
        const reply = await visitor.submit(url, { ...form, ...cap })
        assert.equal(reply.statusCode, 400, JSON.stringify(cap))
        assert.match(reply.body, /role="alert"/)
      }
      const odd = await visitor.submit(url, { ...form, cap: 'weekly', cap_usd: '5' })
      assert.equal(odd.statusCode, 400)
      const allowed = await visitor.submit(url, { ...form, cap: 'monthly', cap_usd: '2.50' })
      assert.equal(allowed.statusCode, 303)
    })

    test('the cap can be changed by its user, removed by nobody, and never touched by the app', async () => {
      const own = await make(kind)
      const { access_token } = await start(own)
      const url = `/account/connections/${own.client_id}`
      const patch = (cap_credits: number | null, authorization: string) =>
        service.request({
          method: 'PATCH',
          url,
          headers: { authorization },
          payload: { cap_credits },
        })
      const session = await logIn()
      const removed = await patch(null, session.authorization)
      assert.deepEqual([removed.statusCode, removed.json().error.param], [400, 'cap_credits'])
      for (const cap of [1, 900_000_000, null]) {
        assert.equal((await patch(cap, `Bearer ${access_token}`)).statusCode, 401)
      }
      const capOf = async () => {
        const list = await service.request({ url: '/account/connections', headers: session })
        const { data } = list.json<{
          data: { client_id: string; client_type: string; cap_credits: number }[]
        }>()
        const found = data.find(({ client_id }) => client_id === own.client_id)
        return [found?.client_type, found?.cap_credits]
      }
      assert.deepEqual(await capOf(), [kind, 5_000_000])
      assert.equal((await patch(7_000_000, session.authorization)).statusCode, 200)
      assert.deepEqual(await capOf(), [kind, 7_000_000])
      const visitor = await signInAnew()
      const page = await visitor.get('/oauth/connections')
      assert.match(page.body, /It runs without a server, so it needs a cap/)
      const form = { csrf: csrfOf(page.body), client_id: own.client_id, cap_usd: '' }
      assert.equal((await visitor.submit('/oauth/connections/cap', form)).statusCode, 400)
      assert.deepEqual(await capOf(), [kind, 7_000_000])
    })
  })
}

test('a new password, or signing out everywhere by the user or an operator, ends what runs in browsers and nothing else', async () => {
  const browser = await make('browser')
  const native = await make('native')
  const server = await createOAuthApp(service, developer)
  const acts = [
    async ({ bearer }: Person) =>
      await service.request({ method: 'DELETE', url: '/account/sessions', headers: bearer }),
    async ({ bearer }: Person) =>
      await service.post(
        '/auth/change-password',
        { current_password: PASSWORD, new_password: 'correct horse batteries' },
        bearer,
      ),
    async ({ email }: Person) => {
      await endSessions(service.parts, email, { who: 'otto', reason: 'asked by mail' })
      return { statusCode: 200, body: '' }
    },
  ]
  for (const act of acts) {
    const person = await service.register()
    const of = async (app: PublicApp) =>
      await connect(service, { app, user: person, visitor: await signIn(service, person) })
    const [ended, ...kept] = [await of(browser), await of(native), await of(server)]
    const reply = await act(person)
    assert.equal(reply.statusCode, 200, reply.body)
    assert.equal(await statusOf(ended?.access_token ?? ''), 401)
    for (const { access_token } of kept) assert.equal(await statusOf(access_token), 200)
  }
})

test('P6: whoever calls in the name of an app from elsewhere does not keep its users out', async () => {
  const calls = process.env['SVC_LONG'] === '1' ? 10_000 : 300
  const strict = await createApp({ settings: { TOKEN_LIMIT_PER_MINUTE: '5' } })
  const person = await strict.register()
  const app = await createPublicApp(strict, person, { client_type: 'browser' })
  const { refresh_token } = await connect(strict, { app, user: person })
  const ask = (remoteAddress: string, token: string) =>
    strict.request({
      method: 'POST',
      url: '/oauth/token',
      remoteAddress,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: token,
        client_id: app.client_id,
      }).toString(),
    })
  const statuses = new Map<number, number>()
  for (let i = 0; i < calls; i++) {
    const { statusCode } = await ask('203.0.113.7', 'svc_refresh_x')
    statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
  }
  assert.deepEqual(Object.fromEntries(statuses), { 400: 5, 429: calls - 5 })
  const own = await ask('198.51.100.4', refresh_token)
  assert.equal(own.statusCode, 200, own.body)
})

// The last ones: days pass in them, and sessions end.

test('a browser app that shows no key signs in again after a day, however often it refreshes', async () => {
  const app = apps.browser
  let { refresh_token } = await start(app)
  for (let hours = 0; hours < 18; hours += 6) {
    service.clock.advance(DAY_MS / 4)
    refresh_token = (await refreshed(app, refresh_token)).refresh_token
  }
  service.clock.advance(DAY_MS / 4)
  assert.equal((await refresh(app, refresh_token)).json().error, 'invalid_grant')
})

for (const kind of KINDS) {
  test(`the tokens of a ${kind} app live as long as their kind and their key allow`, async () => {
    const app = apps[kind]
    const access_s = kind === 'browser' ? 600 : 3600
    const idle_days = kind === 'browser' ? 7 : 30
    const total_days = kind === 'browser' ? 30 : 180
    const key = makeKey()
    let bound = await start(app, key.prove())
    assert.equal(bound.expires_in, access_s)
    service.clock.advance(access_s * 1000 + 1)
    assert.equal(await statusOf(bound.access_token), 401)
    const idle = await start(app, key.prove())
    let days = 0
    const step = idle_days - 1
    while (days + step < total_days) {
      service.clock.advance(step * DAY_MS)
      days += step
      const reply = await refresh(app, bound.refresh_token, key.prove())
      assert.equal(reply.statusCode, 200, `after ${days} days`)
      bound = reply.json<TokenReply>()
    }
    service.clock.advance((total_days - days) * DAY_MS)
    const ended = await refresh(app, bound.refresh_token, key.prove())
    assert.equal(ended.json().error, 'invalid_grant', 'never prolonged')
    const unused = await refresh(app, idle.refresh_token, key.prove())
    assert.equal(unused.json().error, 'invalid_grant')
  })
}
