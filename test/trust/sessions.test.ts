// The list of sessions, ending them, and the idle time-out.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { csrfOf, signIn } from '../support/oauth.ts'

const MINUTE_MS = 60_000

type SessionList = {
  data: {
    id: string
    created_at: string
    last_seen_at: string
    expires_at: string
    place: string
    device: string
    current: boolean
  }[]
}

async function logIn(service: TestApp, email: string, ip = '203.0.113.9') {
  service.clock.advance(1000)
  const reply = await service.request({
    method: 'POST',
    url: '/auth/login',
    remoteAddress: ip,
    headers: { 'content-type': 'application/json', 'user-agent': 'curl/8.5.0' },
    payload: JSON.stringify({ email, password: PASSWORD }),
  })
  assert.equal(reply.statusCode, 200, reply.body)
  return { authorization: `Bearer ${reply.json<{ session_token: string }>().session_token}` }
}

async function listSessions(service: TestApp, headers: Record<string, string>) {
  const reply = await service.request({ method: 'GET', url: '/account/sessions', headers })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<SessionList>().data
}

async function statusOf(service: TestApp, headers: Record<string, string>) {
  return (await service.request({ method: 'GET', url: '/auth/me', headers })).statusCode
}

describe('sessions', async () => {
  const service = await createApp()
  const remove = (url: string, headers: Record<string, string>) =>
    service.request({ method: 'DELETE', url, headers })

  test('are listed newest first, with place and device, and without their token', async () => {
    const person = await service.register()
    const elsewhere = await logIn(service, person.email)
    const sessions = await listSessions(service, person.bearer)
    assert.deepEqual(
      sessions.map(({ place, device, current }) => ({ place, device, current })),
      [
        { place: '203.0.113.0/24', device: 'curl', current: false },
        { place: '127.0.0.0/24', device: 'lightMyRequest', current: true },
      ],
    )
    assert.doesNotMatch(JSON.stringify(sessions), /sess_|digest/)
    assert.equal((await listSessions(service, elsewhere)).filter((one) => one.current).length, 1)
  })

  test('one is ended by its id, at once, and leaves an event', async () => {
    const person = await service.register()
    const elsewhere = await logIn(service, person.email)
    assert.equal(await statusOf(service, elsewhere), 200)
    const [newest] = await listSessions(service, person.bearer)
    service.clock.advance(1000)
    assert.equal((await remove(`/account/sessions/${newest?.id}`, person.bearer)).statusCode, 200)
    assert.equal(await statusOf(service, elsewhere), 401)
    assert.equal(await statusOf(service, person.bearer), 200)
    const events = await service.request({
      method: 'GET',
      url: '/account/events',
      headers: person.bearer,
    })
    const [event] = events.json<{ data: { kind: string; details: object }[] }>().data
    assert.equal(event?.kind, 'sessions_ended')
    assert.deepEqual(event?.details, { ended_session_id: newest?.id })
  })

  test('somebody else’s, an unknown one and nonsense are not found', async () => {
    const person = await service.register()
    const other = await service.register()
    const [theirs] = await listSessions(service, other.bearer)
    for (const id of [theirs?.id, '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10', 'nonsense', 'x%00']) {
      assert.equal((await remove(`/account/sessions/${id}`, person.bearer)).statusCode, 404)
    }
    assert.equal(await statusOf(service, other.bearer), 200)
  })

  test('signing out everywhere keeps the session that asks, unless it says otherwise', async () => {
    const person = await service.register()
    const others = [await logIn(service, person.email), await logIn(service, person.email)]
    const reply = await remove('/account/sessions', person.bearer)
    assert.deepEqual(reply.json(), { success: true, ended: 2 })
    for (const headers of others) assert.equal(await statusOf(service, headers), 401)
    assert.equal(await statusOf(service, person.bearer), 200)
    const all = await remove('/account/sessions?current=true', person.bearer)
    assert.deepEqual(all.json(), { success: true, ended: 1 })
    assert.match(String(all.headers['set-cookie']), /^svc_session=; Path=\/; Max-Age=0/)
    assert.equal(await statusOf(service, person.bearer), 401)
  })

  test('the page ends one and all others, only by a form of ours', async () => {
    const person = await service.register()
    service.clock.advance(1000)
    const visitor = await signIn(service, person)
    const page = await visitor.get('/oauth/sessions')
    assert.match(page.body, /This browser/)
    const [newest, oldest] = await listSessions(service, person.bearer)
    assert.ok(newest && oldest)
    const forged = await visitor.submit('/oauth/sessions/end', { session_id: oldest.id })
    assert.equal(forged.statusCode, 403)
    assert.equal(await statusOf(service, person.bearer), 200)
    const csrf = csrfOf(page.body)
    const ended = await visitor.submit('/oauth/sessions/end', { csrf, session_id: oldest.id })
    assert.equal(ended.headers.location, '/oauth/sessions?done=ended')
    assert.equal(await statusOf(service, person.bearer), 401)
    const elsewhere = await logIn(service, person.email)
    const others = await visitor.submit('/oauth/sessions/end-others', { csrf })
    assert.equal(others.headers.location, '/oauth/sessions?done=others')
    assert.equal(await statusOf(service, elsewhere), 401)
    const after = await visitor.get('/oauth/sessions?done=others')
    assert.match(after.body, /signed out everywhere else/)
  })

  test('by default a session that nobody uses lasts its 24 hours', async () => {
    const person = await service.register()
    service.clock.advance(24 * 60 * MINUTE_MS - 1)
    assert.equal(await statusOf(service, person.bearer), 200)
    service.clock.advance(1)
    assert.equal(await statusOf(service, person.bearer), 401)
  })
})

describe('the idle time-out', async () => {
  const settings = { SESSION_IDLE_MINUTES: '30' }
  const first = await createApp({ settings })
  const second = await createApp({ settings, database_url: first.database_url })

  test('ends a session that nobody used, and no other; uses are written in batches', async () => {
    const person = await first.register()
    const written = async () => {
      const [row] = await sql<{ last_seen_at: Date }>(
        first.database_url,
        `select last_seen_at from session where account_id = '${person.user_id}'`,
      )
      return row?.last_seen_at.getTime()
    }
    const opened_at = await written()
    for (let minutes = 0; minutes < 60; minutes += 20) {
      first.clock.advance(20 * MINUTE_MS)
      assert.equal(await statusOf(first, person.bearer), 200)
    }
    assert.equal(await written(), opened_at)
    await first.parts.last_seen.flush(first.parts.db)
    assert.equal(await written(), first.clock.now().getTime())
    first.clock.advance(29 * MINUTE_MS)
    assert.equal((await listSessions(first, person.bearer)).length, 1)
    first.clock.advance(32 * MINUTE_MS)
    assert.equal(await statusOf(first, person.bearer), 401)
    // Being refused is no use.
    first.clock.advance(-3 * MINUTE_MS)
    assert.equal(await statusOf(first, person.bearer), 200)
  })

  test('holds on a second process, which hears of uses by the next flush', async () => {
    const person = await first.register()
    const meet = () =>
      second.clock.advance(first.clock.now().getTime() - second.clock.now().getTime())
    meet()
    assert.equal(await statusOf(second, person.bearer), 200)
    for (const minutes of [25, 25]) {
      first.clock.advance(minutes * MINUTE_MS)
      assert.equal(await statusOf(first, person.bearer), 200)
    }
    await first.parts.last_seen.flush(first.parts.db)
    second.parts.sessions.forgetAll()
    meet()
    assert.equal(await statusOf(second, person.bearer), 200)
    second.clock.advance(32 * MINUTE_MS)
    assert.equal(await statusOf(second, person.bearer), 401)
  })
})
