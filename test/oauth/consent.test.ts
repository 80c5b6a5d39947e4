// The page between an app and a user's money: what is shown is what is approved, by the one who looked at it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createApp, PASSWORD } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  authorizeUrl,
  createOAuthApp,
  csrfOf,
  makePkce,
  signIn,
  Visitor,
} from '../support/oauth.ts'

const service = await createApp({ settings: { PUBLIC_URL: 'https://svc.example' } })
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer)
const { code_challenge } = makePkce()
const url = authorizeUrl(app, { code_challenge })

async function grants(): Promise<number> {
  const rows = await sql(service.database_url, 'select 1 from oauth_grant')
  return rows.length
}

describe('O11: consent is refused, and nothing is granted,', async () => {
  const visitor = await signIn(service, user)
  const csrf = csrfOf((await visitor.get(url)).body)

  async function assertForbidden(
    fields: Record<string, string>,
    options: { headers?: Record<string, string>; to?: string; by?: Visitor } = {},
  ): Promise<void> {
    const { headers = {}, to = url, by = visitor } = options
    const reply = await by.submit(to, { decision: 'allow', ...fields }, headers)
    assert.equal(reply.statusCode, 403)
    assert.equal(reply.headers.location, undefined)
    assert.match(reply.body, /<code>forbidden<\/code>/)
    assert.equal(await grants(), 0)
  }

  test('without the proof of the form, or with a broken one', async () => {
    await assertForbidden({})
    for (const broken of ['x', csrf.slice(0, -1), `${csrf}A`, `9${csrf.slice(1)}`]) {
      await assertForbidden({ csrf: broken })
    }
  })

  test('with the proof of another session, also of the same user', async () => {
    for (const other of [await signIn(service, developer), await signIn(service, user)]) {
      await assertForbidden({ csrf: csrfOf((await other.get(url)).body) })
      await assertForbidden({ csrf }, { by: other })
    }
  })

  test('with the proof of the sign-in page or of another form', async () => {
    const stranger = new Visitor(service)
    await assertForbidden({ csrf: csrfOf((await stranger.get('/oauth/login')).body) })
    await assertForbidden({ csrf: csrfOf((await visitor.get('/oauth/connections')).body) })
  })

  test('with the proof of another request: each part of what was shown counts', async () => {
    const uris = ['https://app.example/callback', 'https://app.example/other']
    const wide = await createOAuthApp(service, developer, { redirect_uris: uris })
    const hosted = { storage_mode: 'hosted', external_user_id: 'u-1' }
    const shown = { code_challenge, scope: 'credits.read', ...hosted }
    const proof = csrfOf((await visitor.get(authorizeUrl(wide, shown))).body)
    assert.notEqual(proof, '')
    for (const changed of [
      { scope: 'credits.read credits.spend' },
      { redirect_uri: 'https://app.example/other' },
      { code_challenge: makePkce().code_challenge },
      { state: 'another' },
      { external_user_id: 'u-2' },
      { storage_mode: '' },
    ]) {
      await assertForbidden({ csrf: proof }, { to: authorizeUrl(wide, { ...shown, ...changed }) })
    }
    await assertForbidden({ csrf: proof }, { to: authorizeUrl(app, shown) })
  })

  test('from another site, whichever header says so', async () => {
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site', origin: 'https://svc.example' },
      { 'sec-fetch-site': 'none', origin: 'https://evil.example' },
      { 'sec-fetch-site': 'none', origin: 'https://svc.example.evil.example' },
    ]) {
      await assertForbidden({ csrf }, { headers })
    }
  })

  test('O34: from a sandboxed frame, whose origin is null and which no fetch metadata vouches for', async () => {
    const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const post = (to: string, origin: string) =>
      service.request({
        method: 'POST',
        url: to,
        headers: { 'content-type': 'application/x-www-form-urlencoded', cookie, origin },
        payload: new URLSearchParams({ csrf, decision: 'allow' }).toString(),
      })
    for (const to of [url, '/oauth/login', '/oauth/register', '/oauth/connections/cap']) {
      for (const origin of ['null', 'https://evil.example']) {
        const reply = await post(to, origin)
        assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], to)
      }
    }
    assert.equal(await grants(), 0)
  })

  test('ten minutes after the page was shown', async () => {
    const page = await visitor.get(url)
    service.clock.advance(10 * 60_000)
    await assertForbidden({ csrf: csrfOf(page.body) })
  })

  test('after the session has ended', async () => {
    const leaving = await signIn(service, user)
    const proof = csrfOf((await leaving.get(url)).body)
    const token = leaving.cookies.get('svc_session') ?? ''
    await service.post('/auth/logout', {}, { authorization: `Bearer ${token}` })
    const reply = await leaving.submit(url, { decision: 'allow', csrf: proof })
    assert.match(String(reply.headers.location), /^\/oauth\/login\?/)
    assert.equal(await grants(), 0)
  })

  test('unless the form is the one that was shown; and looking alone grants nothing', async () => {
    const page = await visitor.get(url)
    await visitor.send({ method: 'HEAD', url })
    assert.equal(await grants(), 0)
    const proof = csrfOf(page.body)
    const undecided = await visitor.submit(url, { csrf: proof, decision: 'perhaps' })
    assert.equal(undecided.statusCode, 400)
    const denied = await visitor.submit(url, { csrf: proof, decision: 'deny' })
    assert.match(
      String(denied.headers.location),
      /^https:\/\/app\.example\/callback\?error=access_/,
    )
    assert.equal(await grants(), 0)
    const allowed = await visitor.submit(url, { csrf: proof, decision: 'allow' })
    assert.equal(allowed.statusCode, 303)
    assert.equal(allowed.headers['referrer-policy'], 'no-referrer')
    assert.equal(allowed.headers['cache-control'], 'no-store')
    assert.equal(await grants(), 1)
  })
})

const MARKUP = '"><img src=x onerror=alert(1)>\'&'

test('O10: names with HTML in them are text on every page', async () => {
  const email = "o'neil&co=&lt@example.com"
  await service.register(email)
  const evil = await createOAuthApp(service, developer, { name: MARKUP })
  const asked = authorizeUrl(evil, {
    code_challenge,
    state: MARKUP,
    storage_mode: 'hosted',
    external_user_id: MARKUP,
  })
  const visitor = new Visitor(service)
  const login = String((await visitor.get(asked)).headers.location)
  const pages = [
    await visitor.get(login),
    await visitor.get(login.replace('/oauth/login', '/oauth/register')),
    await visitor.fill(login, { email: MARKUP, password: MARKUP }),
  ]
  const entered = await visitor.fill(login, { email, password: PASSWORD })
  const consent = await visitor.get(String(entered.headers.location))
  const fields = { csrf: csrfOf(consent.body), decision: 'allow' }
  const faulty = await visitor.submit(asked, { ...fields, cap: 'monthly', cap_usd: MARKUP })
  await visitor.submit(asked, fields)
  pages.push(consent, faulty, await visitor.get('/oauth/connections'))
  pages.push(await visitor.get(`/oauth/authorize?client_id=${encodeURIComponent(MARKUP)}`))
  for (const page of pages) {
    assert.match(String(page.headers['content-type']), /^text\/html/)
    assert.doesNotMatch(page.body, /<img|<b>x|onerror=alert\(1\)>'/)
    assert.doesNotMatch(page.body, /<script/)
  }
  assert.match(consent.body, /&quot;&gt;&lt;img src=x onerror=alert\(1\)&gt;/)
  assert.match(consent.body, /o&#39;neil&amp;co=&amp;lt@example\.com/)
  assert.equal(faulty.statusCode, 400)
})

test('O12: no page of ours can be put in a frame, cached, or made to load or leak anything', async () => {
  const visitor = await signIn(service, user)
  const stranger = new Visitor(service)
  const pages = {
    consent: await visitor.get(url),
    login: await stranger.get('/oauth/login'),
    register: await stranger.get('/oauth/register'),
    connections: await visitor.get('/oauth/connections'),
    fault: await visitor.get('/oauth/authorize'),
    refused: await visitor.submit(url, { decision: 'allow' }),
  }
  for (const [name, { headers }] of Object.entries(pages)) {
    const policy = String(headers['content-security-policy'])
    assert.match(policy, /frame-ancestors 'none'/, name)
    assert.match(policy, /default-src 'none'/, name)
    assert.doesNotMatch(policy, /script-src|unsafe/, name)
    assert.equal(/form-action 'self'/.test(policy), name !== 'consent', name)
    assert.equal(headers['x-frame-options'], 'DENY', name)
    assert.equal(headers['x-content-type-options'], 'nosniff', name)
    assert.equal(headers['cache-control'], 'no-store', name)
    assert.match(String(headers['referrer-policy']), /^(same-origin|no-referrer)$/, name)
  }
  for (const name of ['consent', 'login', 'register', 'connections'] as const) {
    assert.equal(pages[name].headers['referrer-policy'], 'same-origin', name)
    assert.equal(pages[name].headers['cross-origin-opener-policy'], undefined, name)
  }
})
