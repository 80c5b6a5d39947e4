// What an app may ask for at /oauth/authorize, and where the answer goes.

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createApp } from '../support/app.ts'
import {
  authorizeUrl,
  CALLBACK,
  createOAuthApp,
  makePkce,
  signIn,
  Visitor,
} from '../support/oauth.ts'

const ISSUER = 'https://svc.example'
const service = await createApp({ settings: { PUBLIC_URL: ISSUER } })
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer)
const { code_challenge } = makePkce()
let visitor: Visitor
before(async () => {
  visitor = await signIn(service, user)
})

/** As a browser and as a program. */
async function askBoth(url: string) {
  return {
    page: await visitor.get(url),
    json: await service.request({ url, headers: { accept: 'application/json' } }),
  }
}

/** The app hears of it at its own address; a program that looks gets JSON. */
async function assertFault(parameters: Record<string, string>, code: string, query = '') {
  const url = authorizeUrl(app, { code_challenge, ...parameters }) + query
  const { page, json } = await askBoth(url)
  const what = JSON.stringify(parameters).slice(0, 100) + query
  assert.equal(page.statusCode, 302, what)
  const location = new URL(String(page.headers.location))
  assert.equal(location.origin + location.pathname, CALLBACK)
  assert.equal(location.searchParams.get('error'), code, what)
  assert.equal(location.searchParams.get('iss'), ISSUER)
  assert.equal(location.searchParams.get('code'), null)
  assert.equal(page.headers['referrer-policy'], 'no-referrer')
  assert.deepEqual([json.statusCode, json.json().error.code], [400, code], what)
  return location.searchParams
}

test('O1: an address that is not registered, or only nearly, is a page of ours and leads nowhere', async () => {
  for (const redirect_uri of [
    'https://evil.example/callback',
    `${CALLBACK}/`,
    `${CALLBACK}/more`,
    `${CALLBACK}?x=1`,
    `${CALLBACK}#x`,
    CALLBACK.slice(0, -1),
    'https://app.example/Callback',
    'https://APP.example/callback',
    'https://app.example:443/callback',
    'https://app.example:8443/callback',
    'https://app.example/./callback',
    'https://app.example/x/../callback',
    'https://app.example/%63allback',
    'https://app.example@evil.example/callback',
    'https://app.example.evil.example/callback',
    'https://app.example\\@evil.example/callback',
    'https://app.example%2f@evil.example/callback',
    'http://app.example/callback',
    '//evil.example',
    'javascript:alert(1)',
    `${CALLBACK}\u0000`,
    `${CALLBACK}\r\nlocation: https://evil.example`,
    '',
  ]) {
    const { page, json } = await askBoth(authorizeUrl(app, { code_challenge, redirect_uri }))
    for (const reply of [page, json]) {
      assert.equal(reply.statusCode, 400, redirect_uri)
      assert.equal(reply.headers.location, undefined, redirect_uri)
    }
    assert.match(page.body, /<code>invalid_request<\/code>/)
    assert.doesNotMatch(page.body, /evil\.example/)
    assert.equal(json.json().error.code, 'invalid_request')
  }
  const twice = `&redirect_uri=${encodeURIComponent('https://evil.example')}`
  const { page } = await askBoth(authorizeUrl(app, { code_challenge }) + twice)
  assert.deepEqual([page.statusCode, page.headers.location], [400, undefined])
})

test('an app that nobody knows is a page of ours and leads nowhere', async () => {
  for (const client_id of ['', 'nobody', `svc_client_${'A'.repeat(43)}`, "' or 1=1 --"]) {
    const { page, json } = await askBoth(authorizeUrl(app, { code_challenge, client_id }))
    assert.deepEqual([page.statusCode, page.headers.location], [401, undefined], client_id)
    assert.deepEqual([json.statusCode, json.json().error.code], [401, 'invalid_client'])
  }
})

test('O2: on this machine another port is allowed; another path or name is not', async () => {
  const redirect_uris = ['http://localhost:3000/callback']
  const local = await createOAuthApp(service, developer, { redirect_uris })
  const ask = async (redirect_uri: string) =>
    (await visitor.get(authorizeUrl(local, { code_challenge, redirect_uri }))).statusCode
  assert.equal(await ask('http://localhost:3000/callback'), 200)
  assert.equal(await ask('http://localhost:51234/callback'), 200)
  for (const other of [
    'http://localhost:3000/other',
    'http://127.0.0.1:3000/callback',
    'http://[::1]:3000/callback',
    'http://localhost:0/callback',
    'http://localhost:3000@evil.example/callback',
    'https://localhost:3000/callback',
  ]) {
    assert.equal(await ask(other), 400, other)
  }
})

test('O3: wildcards, plain http, other schemes, fragments and user names cannot be registered', async () => {
  const { id } = await createOAuthApp(service, developer)
  for (const uri of [
    'https://*.app.example/callback',
    'http://app.example/callback',
    'javascript:alert(1)',
    'https://app.example/callback#top',
    'https://user@app.example/callback',
    'https://app.example\\@evil.example/',
  ]) {
    const body = { name: 'x', redirect_uris: [CALLBACK, uri] }
    const created = await service.post('/developers/apps', body, developer.bearer)
    const changed = await service.request({
      method: 'PATCH',
      url: `/developers/apps/${id}`,
      headers: { ...developer.bearer, 'content-type': 'application/json' },
      payload: JSON.stringify({ redirect_uris: [uri] }),
    })
    for (const reply of [created, changed]) {
      const { code, param } = reply.json().error
      assert.deepEqual(
        [reply.statusCode, code, param],
        [400, 'invalid_request', 'redirect_uris'],
        uri,
      )
    }
  }
})

test('O4: without a challenge of SHA-256 there is no consent', async () => {
  const wrong = [
    { code_challenge: '' },
    { code_challenge: 'a'.repeat(42) },
    { code_challenge: 'a'.repeat(44) },
    { code_challenge: `${'a'.repeat(42)}=` },
    { code_challenge: `${'a'.repeat(42)}+` },
    { code_challenge_method: 'plain' },
    { code_challenge_method: 's256' },
  ]
  for (const parameters of wrong) await assertFault(parameters, 'invalid_request')
  await assertFault({}, 'invalid_request', '&code_challenge=twice')
})

test('O6: only a code is given; tokens never travel in an address', async () => {
  for (const response_type of ['token', 'id_token', 'code token', 'code id_token', 'CODE']) {
    await assertFault({ response_type }, 'unauthorized_client')
  }
  await assertFault({ response_type: '' }, 'invalid_request')
  for (const response_mode of ['fragment', 'form_post', 'web_message']) {
    await assertFault({ response_mode }, 'invalid_request')
  }
})

test('O7: a scope that is unknown, not allowed, or no scope at all is invalid_scope', async () => {
  for (const scope of [
    'admin',
    'credits.read admin',
    'credits.Read',
    'credits.read,credits.spend',
    'credits.read\u0000',
    'credits.read '.repeat(500),
    ' ',
  ]) {
    await assertFault({ scope }, 'invalid_scope')
  }
  const reader = await createOAuthApp(service, developer, { allowed_scopes: ['credits.read'] })
  const url = authorizeUrl(reader, { code_challenge, scope: 'credits.read credits.spend' })
  const location = new URL(String((await visitor.get(url)).headers.location))
  assert.equal(location.searchParams.get('error'), 'invalid_scope')
  const twice = authorizeUrl(app, { code_challenge, scope: 'credits.read credits.read' })
  assert.equal((await visitor.get(twice)).statusCode, 200)
})

test('hosted storage needs a name of printable characters, and no other storage exists', async () => {
  const hosted = { storage_mode: 'hosted' }
  await assertFault(hosted, 'invalid_request')
  await assertFault({ ...hosted, external_user_id: 'x'.repeat(300) }, 'invalid_request')
  await assertFault({ ...hosted, external_user_id: 'a\r\nb' }, 'invalid_request')
  await assertFault({ storage_mode: 'local' }, 'invalid_request')
})

test('the state comes back as it was sent, with the answer and with a fault; one too long does not', async () => {
  for (const state of ['a b+c%20', '&code=x&iss=y', 'é"<script>', '#/?', 'x'.repeat(1024)]) {
    const fault = await assertFault({ state, scope: 'admin' }, 'invalid_scope')
    assert.equal(fault.get('state'), state)
    assert.deepEqual([fault.getAll('iss').length, fault.getAll('code').length], [1, 0])
    const page = await visitor.fill(authorizeUrl(app, { code_challenge, state }), {
      decision: 'deny',
    })
    const denied = new URL(String(page.headers.location)).searchParams
    assert.deepEqual([denied.get('error'), denied.get('state')], ['access_denied', state])
  }
  const long = await assertFault({ state: 'x'.repeat(1025) }, 'invalid_request')
  assert.equal(long.get('state'), null)
})

test('a question that must not be shown is answered without a page', async () => {
  const silent = authorizeUrl(app, { code_challenge, prompt: 'none' })
  const errorOf = async (one: Visitor) =>
    new URL(String((await one.get(silent)).headers.location)).searchParams.get('error')
  assert.equal(await errorOf(visitor), 'consent_required')
  assert.equal(await errorOf(new Visitor(service)), 'login_required')
})

test('O32: whatever Host says, every address is of the configured issuer', async () => {
  const evil = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
  }
  const url = authorizeUrl(app, { code_challenge })
  const replies = [
    await service.request({ url: '/.well-known/oauth-authorization-server', headers: evil }),
    await visitor.get(url, evil),
    await new Visitor(service).get(url, evil),
    await visitor.get(authorizeUrl(app, { code_challenge, scope: 'admin' }), evil),
    await visitor.get(authorizeUrl(app, { code_challenge, redirect_uri: 'https://x' }), evil),
    await service.request({ url: '/oauth/userinfo', headers: evil }),
  ]
  for (const reply of replies) {
    assert.doesNotMatch(reply.body + JSON.stringify(reply.headers), /evil\.example/)
  }
  assert.equal(replies[0]?.json().issuer, ISSUER)
  assert.equal(replies[0]?.json().token_endpoint, `${ISSUER}/oauth/token`)
  assert.match(String(replies[2]?.headers.location), /^\/oauth\/login\?/)
})
