// The security log: what its owner reads, what is mailed, and “this was not me”.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, test } from 'node:test'
import { describeDevice, describePlace } from '../../src/accounts/client.ts'
import { SECURITY_EVENTS } from '../../src/accounts/security-log/event-kinds.ts'
import { forgetSecurityEventsJob } from '../../src/accounts/security-log/jobs.ts'
import { recordSecurityEvent } from '../../src/accounts/security-log/security-log.ts'
import { createApp, PASSWORD, sendQueuedMail, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { signIn } from '../support/oauth.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const WINDOWS_CHROME =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const MAC_SAFARI =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15'

type Event = {
  id: string
  kind: string
  says: string
  at: string
  ip: string | null
  device: string | null
  session_id: string | null
  current: boolean
  details: Record<string, unknown>
}
type EventPage = { data: Event[]; has_more: boolean; next_cursor: string | null }

async function readEvents(service: TestApp, bearer: Record<string, string>, query = '') {
  const url = `/account/events${query}`
  const reply = await service.request({ method: 'GET', url, headers: bearer })
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<EventPage>()
}

async function logIn(
  service: TestApp,
  email: string,
  from: { ip?: string; user_agent?: string } = {},
) {
  // Events of one millisecond have no order.
  service.clock.advance(1000)
  const reply = await service.request({
    method: 'POST',
    url: '/auth/login',
    remoteAddress: from.ip ?? '127.0.0.1',
    headers: {
      'content-type': 'application/json',
      ...(from.user_agent !== undefined && { 'user-agent': from.user_agent }),
    },
    payload: JSON.stringify({ email, password: PASSWORD }),
  })
  assert.equal(reply.statusCode, 200, reply.body)
  return { authorization: `Bearer ${reply.json<{ session_token: string }>().session_token}` }
}

/** Sends what is queued and answers the mails to this address, decoded. */
async function mailsTo(service: TestApp, email: string): Promise<string[]> {
  await sendQueuedMail(service)
  const folder = path.join(service.data_dir, 'mail')
  const files: string[] = readdirSync(folder)
  return files
    .toSorted((left, right) => left.localeCompare(right))
    .map((file) => readFileSync(path.join(folder, file), 'utf8'))
    .filter((mail) => mail.includes(email))
    .map((mail) => mail.replaceAll('=\r\n', '').replaceAll('=\n', '').replaceAll('=3D', '='))
}

function notMeToken(mail: string | undefined): string {
  return /\/auth\/not-me\?token=(svc_notme_[\w-]{43})/.exec(mail ?? '')?.[1] ?? ''
}

describe('the security log', async () => {
  const service = await createApp({ log_level: 'info' })

  test('is read newest first, in pages, by its owner only', async () => {
    const ada = await service.register()
    const bob = await service.register()
    await logIn(service, ada.email)
    await logIn(service, ada.email, { ip: '203.0.113.7', user_agent: WINDOWS_CHROME })
    const first = await readEvents(service, ada.bearer, '?limit=2')
    assert.deepEqual(
      first.data.map(({ kind, device, ip }) => ({ kind, device, ip })),
      [
        { kind: 'sign_in_from_new_place', device: 'Chrome on Windows', ip: '203.0.113.7' },
        { kind: 'sign_in', device: 'lightMyRequest', ip: '127.0.0.1' },
      ],
    )
    assert.equal(first.has_more, true)
    const rest = await readEvents(service, ada.bearer, `?limit=2&cursor=${first.next_cursor}`)
    assert.equal(rest.data.length, 1)
    assert.deepEqual(
      { kind: rest.data[0]?.kind, says: rest.data[0]?.says, current: rest.data[0]?.current },
      { kind: 'sign_in', says: 'Signed in', current: true },
    )
    assert.equal((await readEvents(service, bob.bearer)).data.length, 1)
    const wrong = await service.request({
      method: 'GET',
      url: '/account/events?cursor=nonsense',
      headers: ada.bearer,
    })
    assert.equal(wrong.statusCode, 400)
  })

  test('a sign-in is from a new place if its address range and its device were not seen together before', async () => {
    const { email, bearer } = await service.register()
    const kinds = async () =>
      (await readEvents(service, bearer)).data.map(({ kind }) => kind).toReversed()
    await logIn(service, email, { ip: '198.51.100.4', user_agent: MAC_SAFARI })
    await logIn(service, email, { ip: '198.51.100.250', user_agent: MAC_SAFARI })
    await logIn(service, email, { ip: '198.51.100.4', user_agent: WINDOWS_CHROME })
    await logIn(service, email, { ip: '2001:db8:1:2::1', user_agent: MAC_SAFARI })
    await logIn(service, email, { ip: '2001:db8:1:ffff::9', user_agent: MAC_SAFARI })
    assert.deepEqual(await kinds(), [
      'sign_in',
      'sign_in_from_new_place',
      'sign_in',
      'sign_in_from_new_place',
      'sign_in_from_new_place',
      'sign_in',
    ])
    const mails = await mailsTo(service, email)
    assert.equal(mails.length, 3)
    assert.match(mails[0] ?? '', /Subject: Signed in from a place or device not seen before/)
    assert.match(mails[0] ?? '', /Safari on macOS, address 198\.51\.100\.4/)
  })

  test('a failed sign-in opens no session and says nothing of success', async () => {
    const { email, bearer } = await service.register()
    service.clock.advance(1000)
    await service.post('/auth/login', { email, password: 'wrong wrong wrong' })
    const { data } = await readEvents(service, bearer)
    assert.ok(!data.some(({ kind }, index) => index < data.length - 1 && kind === 'sign_in'))
  })

  test('mails of one kind are bounded to five a day for an account', async () => {
    const { email, bearer } = await service.register()
    for (let place = 0; place < 8; place++) await logIn(service, email, { ip: `192.0.${place}.1` })
    assert.equal((await mailsTo(service, email)).length, 5)
    assert.equal((await readEvents(service, bearer)).data.length, 9)
    service.clock.advance(DAY_MS + 1000)
    await logIn(service, email, { ip: '192.1.0.1' })
    assert.equal((await mailsTo(service, email)).length, 6)
  })

  test('every event is one line of the log with its account, and no line holds a secret', async () => {
    const from_line = service.log_lines.length
    const { email, user_id, token, bearer } = await service.register()
    const other = await logIn(service, email, { ip: '203.0.113.99', user_agent: WINDOWS_CHROME })
    await service.request({ method: 'DELETE', url: '/account/sessions', headers: bearer })
    const [mail] = await mailsTo(service, email)
    const not_me = notMeToken(mail)
    assert.notEqual(not_me, '')
    await service.post('/auth/not-me', { token: not_me })
    const lines = service.log_lines.slice(from_line)
    const told = lines
      .map((line): Record<string, unknown> => JSON.parse(line))
      .filter((line) => line['msg'] === 'security')
    assert.deepEqual(
      told.map((line) => [line['security_event'], line['account_id']]),
      ['sign_in', 'sign_in_from_new_place', 'sessions_ended', 'sessions_ended'].map((kind) => [
        kind,
        user_id,
      ]),
    )
    const text = lines.join('')
    for (const secret of [token, other.authorization.slice(7), not_me, PASSWORD]) {
      assert.ok(!text.includes(secret))
    }
    const rows = await sql<{ row: string }>(
      service.database_url,
      `select row_to_json(e)::text as row from security_event e where account_id = '${user_id}'`,
    )
    assert.equal(rows.length, 4)
    for (const { row } of rows) assert.doesNotMatch(row, /sess_|sk-svc-|svc_notme_|password/)
  })

  test('events are kept for 400 days and then deleted, with the places', async () => {
    const { email, user_id } = await service.register()
    const count = async () => {
      const [row] = await sql<{ events: string; places: string }>(
        service.database_url,
        `select (select count(*) from security_event where account_id = '${user_id}') as events,
                (select count(*) from known_place where account_id = '${user_id}') as places`,
      )
      return row
    }
    await logIn(service, email)
    const job = forgetSecurityEventsJob(service.parts)
    service.clock.advance(400 * DAY_MS - 1000)
    await job.run(new AbortController().signal)
    assert.deepEqual(await count(), { events: '2', places: '1' })
    service.clock.advance(2000)
    await job.run(new AbortController().signal)
    assert.deepEqual(await count(), { events: '0', places: '0' })
  })

  test('the page of events shows them, and asks who is not signed in to sign in', async () => {
    const person = await service.register()
    const visitor = await signIn(service, person)
    const page = await visitor.get('/oauth/events')
    assert.equal(page.statusCode, 200)
    assert.match(page.body, /Signed in/)
    assert.match(page.body, /this browser/)
    const stranger = await service.request({ method: 'GET', url: '/oauth/events' })
    assert.equal(stranger.headers.location, '/oauth/login')
  })
})

describe('“this was not me”', async () => {
  const service = await createApp()

  async function alarmed() {
    const person = await service.register()
    const key = await service.createKey(person.bearer)
    const thief = await logIn(service, person.email, { ip: '203.0.113.200' })
    const mail = (await mailsTo(service, person.email)).find((text) => text.includes('not-me'))
    return { ...person, key, thief, link: notMeToken(mail) }
  }

  const statusOf = async (headers: Record<string, string>, url = '/auth/me') =>
    (await service.request({ method: 'GET', url, headers })).statusCode

  test('looking at the link changes nothing; the button ends sessions and keys and mails a reset link', async () => {
    const { email, user_id, bearer, thief, key, link } = await alarmed()
    const page = await service.request({ method: 'GET', url: `/auth/not-me?token=${link}` })
    assert.equal(page.statusCode, 200)
    assert.match(page.body, /<form method="post" action="\/auth\/not-me">/)
    assert.equal(await statusOf(thief), 200)

    service.clock.advance(1000)
    const reply = await service.request({
      method: 'POST',
      url: '/auth/not-me',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'text/html',
      },
      payload: `token=${link}`,
    })
    assert.equal(reply.statusCode, 200, reply.body)
    assert.match(reply.body, /All sessions and API keys have ended/)
    assert.equal(await statusOf(thief), 401)
    assert.equal(await statusOf(bearer), 401)
    assert.equal(await statusOf({ authorization: `Bearer ${key.key}` }, '/v1/key'), 401)
    const mails = await mailsTo(service, email)
    assert.ok(mails.some((mail) => mail.includes('/auth/reset-password?token=svc_reset_')))
    const [ended] = await sql<Event>(
      service.database_url,
      `select kind, details from security_event where account_id = '${user_id}' order by id desc limit 1`,
    )
    assert.equal(ended?.kind, 'sessions_ended')
    assert.deepEqual(ended?.details, {
      because: 'this was not me',
      sessions: 2,
      keys: 1,
      factors: 0,
    })
  })

  test('the link works once, for seven days, and a token of another kind never', async () => {
    const one = await alarmed()
    assert.equal((await service.post('/auth/not-me', { token: one.link })).statusCode, 200)
    const again = await service.post('/auth/not-me', { token: one.link })
    assert.equal(again.statusCode, 400)
    assert.equal(again.json<{ error: { code: string } }>().error.code, 'invalid_request')

    const late = await alarmed()
    service.clock.advance(7 * DAY_MS)
    assert.equal((await service.post('/auth/not-me', { token: late.link })).statusCode, 400)
    for (const token of ['', 'svc_notme_', late.token, 'x'.repeat(300)]) {
      assert.equal((await service.post('/auth/not-me', { token })).statusCode, 400)
    }
  })

  test('a kind that an operator causes is told without a link', async () => {
    const { user_id, email } = await service.register()
    const at = service.clock.now()
    await service.parts.db.transaction((tx) =>
      recordSecurityEvent(service.parts, tx, {
        account_id: user_id,
        kind: 'account_suspended',
        at,
        details: { reason: 'spam\nand worse' },
      }),
    )
    const [mail] = await mailsTo(service, email)
    assert.match(mail ?? '', /The account was suspended/)
    assert.match(mail ?? '', /reason: spam and worse/)
    assert.doesNotMatch(mail ?? '', /not-me/)
  })
})

test('every kind has a sentence', () => {
  for (const [kind, { says }] of Object.entries(SECURITY_EVENTS)) assert.match(says, /^[A-Z]/, kind)
})

test('a device is described in a few words, whatever a client says of itself', () => {
  for (const [user_agent, says] of [
    [WINDOWS_CHROME, 'Chrome on Windows'],
    [`${WINDOWS_CHROME} Edg/131.0.0.0`, 'Edge on Windows'],
    [MAC_SAFARI, 'Safari on macOS'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/131 Mobile/15E148 Safari/604.1',
      'Chrome on iPhone',
    ],
    ['curl/8.5.0', 'curl'],
    ['python-requests/2.32', 'python-requests'],
    ['Mozilla/5.0', 'unknown device'],
    ['<script>alert(1)</script>', 'unknown device'],
    ['', 'unknown device'],
    [undefined, 'unknown device'],
  ] as const) {
    assert.equal(describeDevice(user_agent), says)
  }
})

test('a place is the range of an address', () => {
  assert.equal(describePlace('203.0.113.77'), '203.0.113.0/24')
  assert.equal(describePlace('::ffff:203.0.113.77'), '203.0.113.0/24')
  assert.equal(describePlace('2001:db8:1:2:3:4:5:6'), '2001:db8:1::/48')
  assert.equal(describePlace('nonsense'), 'unknown')
  assert.equal(describePlace(null), 'unknown')
})
