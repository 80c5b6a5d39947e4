// Who may call /operator/…, and what everybody else is told: that there is nothing there.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setOperator, suspend } from '../../src/operators/accounts.ts'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'
import { connect, createOAuthApp } from '../support/oauth.ts'
import { actsOf, makeOperator, operatorRoutes, withBody } from './support.ts'

const service = await createApp()
const routes = await operatorRoutes(service)
const MINUTE_MS = 60_000

const VARIES = [
  'x-request-id',
  'date',
  'content-length',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
]

/** What a client sees, but for what differs from one request to the next. Node sends no body in answer to HEAD. */
function shapeOf(
  reply: Awaited<ReturnType<TestApp['request']>>,
  asked: { method: string; url: string },
) {
  const headers = Object.entries(reply.headers).map(([name, value]) => [
    name,
    VARIES.includes(name) ? 'some' : value,
  ])
  const id = String(reply.headers['x-request-id'])
  const body = reply.body.replaceAll(id, 'ID').replaceAll(asked.url, 'URL')
  return {
    status: reply.statusCode,
    headers: Object.fromEntries(headers),
    body: asked.method === 'HEAD' ? '' : body,
  }
}

test('there are routes to ask', () => {
  assert.ok(routes.length >= 20, String(routes.length))
})

test('to everybody else every address answers as one that does not exist, with any method and body', async () => {
  const person = await service.register()
  const suspended = await makeOperator(service)
  await suspend(service.parts, suspended.email, { who: 'test', reason: 'gone' })
  const developer = await service.register()
  const app = await createOAuthApp(service, developer)
  const token = await connect(service, { app, user: person })
  const key = await service.createKey(developer.bearer)
  const callers = {
    nobody: {},
    'a session': person.bearer,
    'a cookie': { cookie: `svc_session=${person.token}` },
    'a key': { authorization: `Bearer ${key.key}` },
    'a token': { authorization: `Bearer ${token.access_token}` },
    'a made-up session': { authorization: `Bearer sess_${'x'.repeat(43)}` },
    'a suspended operator': suspended.bearer,
  }
  await eventually('the suspension holds', async () => {
    const reply = await service.request({ url: '/account', headers: suspended.bearer })
    return reply.statusCode === 403
  })
  for (const [who, headers] of Object.entries(callers)) {
    for (const route of routes) {
      const unknown = { method: route.method, url: '/operatorx/nothing' }
      for (const payload of ['{"reason":"why"}', '{', '']) {
        const [found, missing] = [
          await service.request(withBody(route, payload, headers)),
          await service.request(withBody(unknown, payload, headers)),
        ]
        const about = `${who}: ${route.method} ${route.url} ${payload}`
        assert.deepEqual(shapeOf(found, route), shapeOf(missing, unknown), about)
        if (payload !== '{') assert.equal(found.statusCode, 404, about)
      }
    }
    for (const method of ['PUT', 'DELETE', 'OPTIONS', 'HEAD'] as const) {
      const [there, unknown] = [
        { method, url: '/operator/overview' },
        { method, url: '/operatorx/nothing' },
      ]
      const found = await service.request({ ...there, headers })
      const missing = await service.request({ ...unknown, headers })
      assert.deepEqual(shapeOf(found, there), shapeOf(missing, unknown), `${who}: ${method}`)
    }
  }
})

test('an operator is answered with the bearer and with the cookie, and told which methods there are', async () => {
  const operator = await makeOperator(service)
  const cookie = { cookie: `svc_session=${operator.token}` }
  for (const headers of [operator.bearer, cookie]) {
    const reply = await service.request({ url: '/operator/overview', headers })
    assert.equal(reply.statusCode, 200, reply.body)
  }
  const put = await service.request({
    method: 'PUT',
    url: '/operator/overview',
    headers: operator.bearer,
  })
  assert.deepEqual([put.statusCode, put.headers['allow']], [405, 'GET, HEAD'])
})

test('being an operator reaches open sessions, and ends in them', async () => {
  const person = await service.register()
  const ask = async () =>
    (await service.request({ url: '/operator/audit', headers: person.bearer })).statusCode
  assert.equal(await ask(), 404)
  await setOperator(service.parts, person.email, { who: 'test', is_operator: true })
  await eventually('the session is an operator’s', async () => (await ask()) === 200)
  await setOperator(service.parts, person.email, { who: 'test', is_operator: false })
  await eventually('it is not any more', async () => (await ask()) === 404)
})

test('a page of another site writes nothing with the cookie', async () => {
  const operator = await makeOperator(service)
  const person = await service.register()
  const headers = { cookie: `svc_session=${operator.token}`, origin: 'https://evil.example' }
  const url = `/operator/users/${person.user_id}/suspend`
  const reply = await service.post(url, { reason: 'why' }, headers)
  assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'])
  assert.deepEqual(await actsOf(service, operator), [])
})

for (const STEP_UP of ['always', 'with_second_factor']) {
  test(`every write needs a proof of the last 15 minutes where STEP_UP is ${STEP_UP}`, async () => {
    const strict = await createApp({ settings: { STEP_UP } })
    const operator = await makeOperator(strict)
    strict.clock.advance(16 * MINUTE_MS)
    const writes = routes.filter(({ method }) => method !== 'GET')
    assert.ok(writes.length >= 10)
    for (const route of writes) {
      const body = {
        reason: 'why',
        credits: 1,
        rate_limit_per_minute: 1,
        dry_run: false,
        expected_total_cents: 1,
        since: '2026-11-15T09:30:00.000Z',
      }
      const headers = { ...operator.bearer, 'idempotency-key': 'k' }
      const reply = await strict.request(withBody(route, JSON.stringify(body), headers))
      const about = `${route.method} ${route.url} ${reply.body}`
      assert.equal(reply.statusCode, 403, about)
      assert.equal(reply.json().error.code, 'step_up_required', about)
    }
    assert.deepEqual(await actsOf(strict, operator), [])
    const proved = await strict.post('/auth/step-up', { password: PASSWORD }, operator.bearer)
    assert.equal(proved.statusCode, 200)
    const person = await strict.register()
    const reply = await operator.act(`/operator/users/${person.user_id}/suspend`, {})
    assert.equal(reply.statusCode, 200, reply.body)
  })
}

test('every write needs a reason of 1 to 500 characters in one line', async () => {
  const operator = await makeOperator(service)
  const person = await service.register()
  const url = `/operator/users/${person.user_id}/suspend`
  for (const reason of [undefined, '', ' ', 'x'.repeat(501), 'two\nlines', 7]) {
    const reply = await operator.act(url, { reason })
    assert.equal(reply.statusCode, 400, JSON.stringify(reason))
  }
  for (const route of routes.filter(({ method }) => method !== 'GET')) {
    const headers = { ...operator.bearer, 'idempotency-key': 'k' }
    const body = {
      credits: 1,
      rate_limit_per_minute: 1,
      dry_run: false,
      since: '2026-11-15T09:30:00Z',
    }
    const reply = await service.request(withBody(route, JSON.stringify(body), headers))
    assert.equal(reply.statusCode, 400, `${route.url} ${reply.body}`)
    assert.match(reply.json().error.message, /reason/, route.url)
  }
  assert.deepEqual(await actsOf(service, operator), [])
})
