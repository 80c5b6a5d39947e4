// Whoever was shut out stays out: by “this was not me”, by a reset, by the end of a session, also at the same moment; and
// the owner is never shut out with them.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { deleteClosed } from '../../src/accounts/closing/closing.ts'
import { confirmTotp } from '../../src/accounts/factors/factors.ts'
import { recordSecurityEvent } from '../../src/accounts/security-log/security-log.ts'
import { closeSessions } from '../../src/accounts/sessions.ts'
import { resumeAccount, suspendAccount } from '../../src/accounts/suspension.ts'
import { accessEnder } from '../../src/end-access.ts'
import { createApp as registerApp } from '../../src/oauth/apps.ts'
import { readOpenEarnings } from '../../src/open-earnings.ts'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { addTotp, ask, codeOf } from '../support/factors.ts'
import { mailedToken, resetPassword, verifyAddress } from '../support/mails.ts'
import { connect, createOAuthApp } from '../support/oauth.ts'

const DAY_MS = 24 * 60 * 60_000
const NEW_PASSWORD = 'the owner’s own words'
const THIEF = '203.0.113.200'

type From = { password?: string; address?: string; device?: string }

const signIn = (service: TestApp, email: string, from: From = {}) =>
  service.app.inject({
    method: 'POST',
    url: '/auth/login',
    remoteAddress: from.address ?? '127.0.0.1',
    headers: from.device === undefined ? {} : { cookie: from.device },
    payload: { email, password: from.password ?? PASSWORD },
  })

function deviceOf({ headers }: { headers: Record<string, unknown> }): string {
  const cookies = [headers['set-cookie']].flat().map(String)
  return cookies.find((cookie) => cookie.startsWith('svc_device='))?.split(';')[0] ?? 'none'
}

const sessionIdOf = async (service: TestApp, account_id: string) => {
  const query = 'select id from session where account_id = $1 order by created_at desc limit 1'
  return (await sql<{ id: string }>(service.database_url, query, [account_id]))[0]?.id ?? 'none'
}

describe('“this was not me”', async () => {
  const service = await createApp()

  async function alarmed() {
    const person = await service.register()
    assert.equal((await signIn(service, person.email, { address: THIEF })).statusCode, 200)
    const link = await mailedToken(service, person.email)
    assert.match(link, /^svc_notme_/)
    return { ...person, link }
  }

  test('ends the password that somebody else knows, until the owner has set a new one', async () => {
    const { email, link } = await alarmed()
    assert.equal((await service.post('/auth/not-me', { token: link })).statusCode, 200)
    for (const address of [THIEF, '127.0.0.1']) {
      assert.equal((await signIn(service, email, { address })).statusCode, 401)
    }
    const token = await mailedToken(service, email)
    const reset = { token, new_password: NEW_PASSWORD }
    assert.equal((await service.post('/auth/reset-password', reset)).statusCode, 200)
    assert.equal((await signIn(service, email, { password: NEW_PASSWORD })).statusCode, 200)
  })

  test('ends a second factor that came after what the mail is about, which would keep the owner out', async () => {
    const { email, link, token } = await alarmed()
    const thief = { email, user_id: '', token, bearer: { authorization: `Bearer ${token}` } }
    await addTotp(service, thief)
    assert.equal((await signIn(service, email)).json().error.code, 'second_factor_required')
    assert.equal((await service.post('/auth/not-me', { token: link })).statusCode, 200)
    const reset = { token: await mailedToken(service, email), new_password: NEW_PASSWORD }
    assert.equal((await service.post('/auth/reset-password', reset)).statusCode, 200)
    assert.equal((await signIn(service, email, { password: NEW_PASSWORD })).statusCode, 200)
  })

  test('leaves a second factor that was there before: whoever reads the mail is not past it', async () => {
    const person = await service.register()
    await verifyAddress(service, person)
    await addTotp(service, person)
    service.clock.advance(1_000)
    const { user_id: account_id, email } = person
    const event = { account_id, kind: 'app_secret_rotated', at: service.clock.now() } as const
    await recordSecurityEvent(service.parts, service.parts.db, event)
    const link = await mailedToken(service, email)
    assert.match(link, /^svc_notme_/)
    assert.equal((await service.post('/auth/not-me', { token: link })).statusCode, 200)
    const reset = { token: await mailedToken(service, email), new_password: NEW_PASSWORD }
    assert.equal((await service.post('/auth/reset-password', reset)).statusCode, 200)
    const reply = await signIn(service, email, { password: NEW_PASSWORD })
    assert.equal(reply.json().error.code, 'second_factor_required')
  })

  test('ends what apps may spend', async () => {
    const person = await alarmed()
    const app = await createOAuthApp(service, await service.register())
    const { access_token } = await connect(service, { app, user: person })
    const headers = { authorization: `Bearer ${access_token}` }
    assert.equal((await service.request({ url: '/v1/balance', headers })).statusCode, 200)
    assert.equal((await service.post('/auth/not-me', { token: person.link })).statusCode, 200)
    assert.equal((await service.request({ url: '/v1/balance', headers })).statusCode, 401)
  })

  test('forgets where the other one was, so that they are news if they come again', async () => {
    const { email, link, user_id } = await alarmed()
    await service.post('/auth/not-me', { token: link })
    await resetPassword(service, email)
    await signIn(service, email, { password: NEW_PASSWORD, address: THIEF })
    const query = `select 1 from security_event where account_id = $1 and kind = 'sign_in_from_new_place'`
    assert.equal((await sql(service.database_url, query, [user_id])).length, 2)
  })

  test('of somebody whose address has changed since leaves the password as it is', async () => {
    const { email, link, user_id } = await alarmed()
    const other = `new-${email}`
    await sql(service.database_url, 'update account set email = $2, email_key = $2 where id = $1', [
      user_id,
      other,
    ])
    const reply = await service.post('/auth/not-me', { token: link })
    assert.deepEqual(reply.json(), { success: true, mail_sent: false })
    assert.equal((await signIn(service, other)).statusCode, 200)
  })
})

describe('what a session made at the moment of its end', async () => {
  const service = await createApp()
  const { db, feed, clock } = service.parts
  const client = { ip: THIEF, user_agent: undefined }
  const ended = { code: 'invalid_api_key' }

  test('is waited for by whoever ends it, or is not made', async () => {
    const { user_id } = await service.register()
    const session_id = await sessionIdOf(service, user_id)
    const parts = { ...service.parts, apps_per_account_max: 10, step_up: 'always' } as const
    const wanted = {
      name: 'Trap',
      redirect_uris: ['https://app.example/callback'],
      markup_bps: 0,
      require_external_user_id: false,
      client_type: 'web_server' as const,
      origins: [],
      device_grant: false,
    }
    const owner = { developer_id: user_id, actor: { client, session_id } }
    let trap: Promise<unknown> = Promise.resolve()
    await db.transaction(async (tx) => {
      await closeSessions(feed, tx, { account_id: user_id, except_id: null })
      trap = assert.rejects(registerApp(parts, wanted, owner), ended)
      await wait(200)
    })
    await trap
  })

  test('is no second factor that shuts the owner out', async () => {
    const person = await service.register()
    const doer = { account_id: person.user_id, session_id: '', client }
    doer.session_id = await sessionIdOf(service, person.user_id)
    const begun = await service.post('/account/factors/totp', {}, person.bearer)
    const code = codeOf(begun.json<{ secret: string }>().secret, clock.now())
    await db.transaction((tx) =>
      closeSessions(feed, tx, { account_id: person.user_id, except_id: null }),
    )
    const parts = { ...service.parts, public_url: service.parts.config.PUBLIC_URL }
    await assert.rejects(confirmTotp(parts, doer, code), ended)
    assert.equal((await signIn(service, person.email)).statusCode, 200)
  })
})

describe('under wrong passwords of others', async () => {
  const service = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '5' } })

  async function besiege(email: string) {
    for (let i = 0; i < 6; i++) {
      await signIn(service, email, { address: `198.51.100.${i}`, password: 'wrong one' })
    }
  }

  test('a reset lets its browser in with the new password, wherever it is', async () => {
    const { email } = await service.register()
    await besiege(email)
    const stranger = await signIn(service, email, { address: '192.0.2.30' })
    assert.equal(stranger.statusCode, 429)
    const device = deviceOf(await resetPassword(service, email))
    await besiege(email)
    const from = { address: '192.0.2.31', device, password: NEW_PASSWORD }
    assert.equal((await signIn(service, email, from)).statusCode, 200)
  })

  test('a known device calls the deletion of its account off', async () => {
    const person = await service.register()
    const device = deviceOf(await signIn(service, person.email))
    await service.request({ method: 'DELETE', url: '/account', headers: person.bearer })
    const restore = () =>
      service.app.inject({
        method: 'POST',
        url: '/account/restore',
        remoteAddress: '192.0.2.40',
        headers: { cookie: device },
        payload: { email: person.email, password: PASSWORD },
      })
    for (let i = 0; i < 5; i++) await signIn(service, `x${i}@x.test`, { address: '192.0.2.40' })
    assert.equal((await restore()).statusCode, 200)
  })

  test('a made-up device cookie is counted once, by its address', async () => {
    const device = `svc_device=dev_${'A'.repeat(43)}`
    const statuses: number[] = []
    for (let i = 0; i < 6; i++) {
      const reply = await service.app.inject({
        method: 'POST',
        url: i % 2 === 0 ? '/account/restore' : '/auth/login',
        remoteAddress: '192.0.2.41',
        headers: { cookie: device },
        payload: { email: `y${i}@x.test`, password: PASSWORD },
      })
      statuses.push(reply.statusCode)
    }
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429])
  })
})

test('a sign-in with a second factor forgets the failures before it, as one without does', async () => {
  const service = await createApp()
  const person = await service.register()
  const { secret } = await addTotp(service, person)
  const failures = async () =>
    (await sql(service.database_url, 'select 1 from sign_in_failure')).length
  await signIn(service, person.email, { password: 'wrong one' })
  const counted = await failures()
  const { challenge_id } = await ask(service, person)
  assert.equal(await failures(), counted, 'the password alone forgets nothing')
  service.clock.advance(30_000)
  const totp = codeOf(secret, service.clock.now())
  const reply = await service.post('/auth/login/second-factor', { challenge_id, totp })
  assert.equal(reply.statusCode, 200, reply.body)
  assert.ok((await failures()) < counted)
})

test('an event of an account that is deleted is told to nobody, and fails nothing', async () => {
  const service = await createApp()
  const { user_id } = await service.register()
  await sql(service.database_url, 'delete from account where id = $1', [user_id])
  const at = service.clock.now()
  await service.parts.db.transaction((tx) =>
    recordSecurityEvent(service.parts, tx, { account_id: user_id, kind: 'key_leaked', at }),
  )
  const told = 'select id from security_event union all select id from mail_outbox'
  assert.equal((await sql(service.database_url, told)).length, 0)
})

test('an account that was suspended while it closes is not deleted before its owner could come back', async () => {
  const service = await createApp()
  const { parts, clock } = service
  const person = await service.register()
  const account_id = person.user_id
  const runDeletion = () =>
    deleteClosed(
      { ...parts, readOpenEarnings, endAccess: accessEnder(parts) },
      new AbortController().signal,
    )
  const isThere = async () =>
    (await sql(service.database_url, 'select 1 from account where id = $1', [account_id]))
      .length === 1
  await service.request({ method: 'DELETE', url: '/account', headers: person.bearer })
  clock.advance(10 * DAY_MS)
  await parts.db.transaction((tx) =>
    suspendAccount(parts, tx, { account_id, reason: 'an inquiry', at: clock.now() }),
  )
  clock.advance(40 * DAY_MS)
  await runDeletion()
  assert.ok(await isThere())
  await parts.db.transaction((tx) => resumeAccount(parts, tx, { account_id, at: clock.now() }))
  clock.advance(19 * DAY_MS)
  await runDeletion()
  assert.ok(await isThere())
  clock.advance(2 * DAY_MS)
  await runDeletion()
  assert.ok(!(await isThere()))
})

test('an address with a zero byte is nobody’s, and no fault of ours', async () => {
  const service = await createApp()
  const email = 'a\u0000da@example.com'
  const statuses = []
  for (const url of ['/auth/login', '/account/restore', '/auth/forgot-password']) {
    statuses.push((await service.post(url, { email, password: PASSWORD })).statusCode)
  }
  assert.ok(
    statuses.every((status) => status < 500),
    statuses.join(),
  )
})
