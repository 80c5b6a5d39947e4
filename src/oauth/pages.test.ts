import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import {
  authorizeUrl,
  createOAuthApp,
  csrfOf,
  makePkce,
  Visitor,
} from '../../test/support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const app = await createOAuthApp(service, developer)
const consent = () => authorizeUrl(app, { code_challenge: makePkce().code_challenge })

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"

async function signedIn(): Promise<Visitor> {
  const visitor = new Visitor(service)
  await visitor.login(developer.email)
  return visitor
}

type Answer = Awaited<ReturnType<Visitor['get']>>

function assertHeaders(reply: Answer, expected: { policy: string; referrer: string }): void {
  assert.deepEqual(
    {
      policy: reply.headers['content-security-policy'],
      referrer: reply.headers['referrer-policy'],
      frame: reply.headers['x-frame-options'],
      sniff: reply.headers['x-content-type-options'],
      cache: reply.headers['cache-control'],
      type: reply.headers['content-type'],
    },
    {
      ...expected,
      frame: 'DENY',
      sniff: 'nosniff',
      cache: 'no-store',
      type: 'text/html; charset=utf-8',
    },
  )
}

test('pages with forms keep to themselves, are kept by nobody, and know the window that opened them', async () => {
  const visitor = await signedIn()
  const stranger = new Visitor(service)
  const pages = [
    await stranger.get('/oauth/login'),
    await stranger.get('/oauth/register'),
    await stranger.fill('/oauth/login', { email: developer.email, password: 'wrong' }),
    await stranger.fill('/oauth/register', { email: developer.email, password: 'long enough' }),
    await visitor.get('/oauth/connections'),
    await visitor.submit('/oauth/connections/cap', {
      csrf: csrfOf((await visitor.get('/oauth/connections')).body),
      client_id: app.client_id,
      cap_usd: 'lots',
    }),
  ]
  assert.deepEqual(
    pages.map((page) => page.statusCode),
    [200, 200, 401, 409, 200, 400],
  )
  for (const page of pages) {
    assertHeaders(page, { policy: `${POLICY}; form-action 'self'`, referrer: 'same-origin' })
    assert.equal(page.headers['cross-origin-opener-policy'], undefined)
  }
})

test('consent lets its form lead back to the app, and nothing else be loaded', async () => {
  const visitor = await signedIn()
  const url = consent()
  const pages = [
    await visitor.get(url),
    await visitor.fill(url, { decision: 'allow', cap: 'monthly', cap_usd: 'lots' }),
  ]
  for (const page of pages) {
    assertHeaders(page, { policy: POLICY, referrer: 'same-origin' })
    assert.equal(page.headers['cross-origin-opener-policy'], undefined)
  }
  const denied = await visitor.fill(url, { decision: 'deny' })
  assert.equal(denied.headers['referrer-policy'], 'no-referrer')
  assert.equal(denied.headers['cache-control'], 'no-store')
})

test('pages that refuse cannot be framed, kept, or made to send anything, and leave a popup its opener', async () => {
  const visitor = new Visitor(service)
  const pages = [
    await visitor.get('/oauth/authorize?client_id=nobody'),
    await visitor.get(authorizeUrl(app, { redirect_uri: 'https://evil.example/' })),
    await visitor.submit('/oauth/login', { email: 'a@example.com', password: 'no proof' }),
  ]
  assert.deepEqual(
    pages.map((page) => page.statusCode),
    [401, 400, 403],
  )
  for (const page of pages) {
    assertHeaders(page, { policy: `${POLICY}; form-action 'self'`, referrer: 'same-origin' })
    assert.equal(page.headers['cross-origin-opener-policy'], undefined)
    assert.equal(page.headers.location, undefined)
  }
})

test('Enter in the amount allows: the first button of the form is Allow', async () => {
  const visitor = await signedIn()
  const { body } = await visitor.get(consent())
  assert.deepEqual(
    [...body.matchAll(/<button[^>]* value="(\w+)"/g)].map(([, value]) => value),
    ['allow', 'deny'],
  )
})

test('an amount that was typed beside “No cap” is asked about; the proposed one is not', async () => {
  const visitor = await signedIn()
  const url = consent()
  const shown = { decision: 'allow', cap: 'none', cap_shown: '10.00' }
  const asked = await visitor.fill(url, { ...shown, cap_usd: '4' })
  assert.equal(asked.statusCode, 400)
  assert.match(asked.body, /value="monthly" checked/)
  assert.match(asked.body, /name="cap_shown" value="4"/)
  assert.equal((await visitor.fill(url, { ...shown, cap_usd: '' })).statusCode, 303)
  assert.equal((await visitor.fill(url, { ...shown, cap_usd: '10.00' })).statusCode, 303)
})
