// What operators do: suspending accounts and apps, and the record of it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  endSessions,
  resume,
  setOperator,
  showAccount,
  suspend,
} from '../../src/operators/accounts.ts'
import { listActs, recordAct } from '../../src/operators/acts.ts'
import { resumeClient, suspendClient } from '../../src/operators/apps.ts'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  authorizeUrl,
  connect,
  connectHosted,
  createOAuthApp,
  makePkce,
  obtainCode,
  postToken,
  signIn,
} from '../support/oauth.ts'

const BY = { who: 'olga', reason: 'card fraud' }

type ErrorBody = { error: { code: string; message: string; hint?: string } }

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }

async function assertSuspended(service: TestApp, calls: (() => Promise<unknown>)[]) {
  for (const [index, call] of calls.entries()) {
    const reply = (await call()) as { statusCode: number; body: string; json: () => ErrorBody }
    assert.equal(reply.statusCode, 403, `call ${index}: ${reply.body}`)
    assert.equal(reply.json().error.code, 'forbidden')
    assert.match(reply.json().error.message, /card fraud/)
    assert.match(reply.json().error.hint ?? '', /operator/)
  }
  await eventually('memory is trusted', async () => service.parts.feed.trusted)
}

describe('a suspended account', async () => {
  const service = await createApp()
  const second = await createApp({ database_url: service.database_url })
  const { parts } = service

  test('is refused with every credential of it, on every process, until it is resumed', async () => {
    const user = await service.register()
    const developer = await service.register()
    const app = await createOAuthApp(service, developer)
    const token = await connect(service, { app, user })
    await connectHosted(service, { app, user, external_user_id: 'u-1' })
    const own_key = await service.createKey(user.bearer)
    const user_key = await service.createKey(developer.bearer, { billing_mode: 'user' })
    const callsOn = (at: TestApp) => [
      () => at.request({ method: 'GET', url: '/auth/me', headers: user.bearer }),
      () => at.post('/v1/chat/completions', CHAT, { authorization: `Bearer ${own_key.key}` }),
      () =>
        at.post('/v1/chat/completions', CHAT, { authorization: `Bearer ${token.access_token}` }),
      () =>
        at.post('/v1/chat/completions', CHAT, {
          authorization: `Bearer ${user_key.key}`,
          'x-svc-user': 'u-1',
        }),
      () =>
        at.post('/v1/chat/completions', CHAT, {
          authorization: `Bearer ${token.access_token}`,
          'x-api-key': user_key.key,
        }),
      () =>
        at.post(
          '/v1/funding/credit',
          { external_user_id: 'u-1', amount: 1 },
          { authorization: `Bearer ${user_key.key}`, 'idempotency-key': 'f-1' },
        ),
    ]
    // Both processes have everything in memory first.
    for (const at of [service, second]) {
      for (const call of callsOn(at).slice(0, 5)) assert.equal((await call()).statusCode, 200)
    }
    assert.equal(await suspend(parts, user.email, BY), true)
    assert.equal(await suspend(parts, user.email, { who: 'otto', reason: 'again' }), false)
    for (const at of [service, second]) {
      await eventually('the process hears of it', async () => {
        const [call] = callsOn(at)
        return (await call?.())?.statusCode === 403
      })
      await assertSuspended(at, callsOn(at))
    }
    const untouched = { authorization: `Bearer ${user_key.key}` }
    const balance = await service.request({ method: 'GET', url: '/v1/key', headers: untouched })
    assert.equal(balance.statusCode, 200)

    assert.equal(await resume(parts, user.email, { who: 'olga' }), true)
    assert.equal(await resume(parts, user.email, { who: 'olga' }), false)
    await eventually('the account works again', async () => {
      const [call] = callsOn(second)
      return (await call?.())?.statusCode === 200
    })
    for (const call of callsOn(service).slice(0, 5)) assert.equal((await call()).statusCode, 200)
  })

  test('of a developer stops the keys, the users’ tokens and the links of the developer’s apps', async () => {
    const user = await service.register()
    const developer = await service.register()
    const app = await createOAuthApp(service, developer)
    const token = await connect(service, { app, user })
    const key = await service.createKey(developer.bearer, { billing_mode: 'user' })
    await connectHosted(service, { app, user, external_user_id: 'u-2' })
    const calls = [
      () =>
        service.post('/v1/chat/completions', CHAT, {
          authorization: `Bearer ${token.access_token}`,
        }),
      () =>
        service.post('/v1/chat/completions', CHAT, {
          authorization: `Bearer ${key.key}`,
          'x-svc-user': 'u-2',
        }),
    ]
    for (const call of calls) assert.equal((await call()).statusCode, 200)
    await suspend(parts, developer.email, BY)
    await assertSuspended(service, calls)
    const me = await service.request({ method: 'GET', url: '/auth/me', headers: user.bearer })
    assert.equal(me.statusCode, 200)
  })

  test('of a developer asks no user for consent, and exchanges and refreshes nothing, until it is resumed', async () => {
    const user = await service.register()
    const developer = await service.register()
    const app = await createOAuthApp(service, developer)
    const { refresh_token } = await connect(service, { app, user })
    const { code, code_verifier } = await obtainCode(service, { app, user })
    const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge })
    const visitor = await signIn(service, user)
    await suspend(parts, developer.email, BY)
    const page = await visitor.get(url)
    assert.equal(page.statusCode, 403)
    assert.match(page.body, /card fraud/)
    const forms = [
      { grant_type: 'authorization_code', code, code_verifier },
      { grant_type: 'refresh_token', refresh_token },
    ]
    for (const fields of forms) {
      const reply = await postToken(service, app, fields)
      assert.deepEqual([reply.statusCode, reply.json().error], [400, 'unauthorized_client'])
    }
    await resume(parts, developer.email, { who: 'olga' })
    for (const fields of forms) {
      assert.equal((await postToken(service, app, fields)).statusCode, 200)
    }
  })

  test('is told so at sign-in with the right password, and not with a wrong one; pages too', async () => {
    const person = await service.register()
    const visitor = await signIn(service, person)
    await suspend(parts, person.email, BY)
    const right = { email: person.email, password: PASSWORD }
    await assertSuspended(service, [() => service.post('/auth/login', right)])
    const wrong = await service.post('/auth/login', { ...right, password: 'not the password' })
    assert.equal(wrong.statusCode, 401)
    assert.doesNotMatch(wrong.body, /suspended|fraud/i)
    const page = await visitor.get('/oauth/connections')
    assert.equal(page.statusCode, 403)
    assert.match(page.body, /card fraud/)
  })

  test('finishes a call that runs', async () => {
    const person = await service.register()
    const key = await service.createKey(person.bearer)
    const authorization = `Bearer ${key.key}`
    const running = service.post(
      '/v1/chat/completions',
      { ...CHAT, stream: true },
      { authorization },
    )
    await suspend(parts, person.email, BY)
    const reply = await running
    // Either it came before the suspension and is finished, or it never started.
    if (reply.statusCode === 200) assert.match(reply.body, /\[DONE\]/)
    else assert.equal(reply.statusCode, 403)
    await eventually('no hold is open', async () => {
      const rows = await sql<{ n: string }>(
        service.database_url,
        `select count(*) as n from hold where wallet_id = '${person.user_id}'`,
      )
      return rows[0]?.n === '0'
    })
  })
})

describe('a suspended app', async () => {
  const service = await createApp()

  test('starts nothing new until it is resumed; another app of the developer goes on', async () => {
    const user = await service.register()
    const developer = await service.register()
    const app = await createOAuthApp(service, developer)
    const other = await createOAuthApp(service, developer, { name: 'Other' })
    const token = await connect(service, { app, user })
    const other_token = await connect(service, { app: other, user })
    const call = (access_token: string) =>
      service.post('/v1/chat/completions', CHAT, { authorization: `Bearer ${access_token}` })
    assert.equal((await call(token.access_token)).statusCode, 200)
    assert.equal(await suspendClient(service.parts, app.client_id, BY), true)
    await assertSuspended(service, [() => call(token.access_token)])
    assert.equal((await call(other_token.access_token)).statusCode, 200)
    assert.equal(await resumeClient(service.parts, app.client_id, { who: 'olga' }), true)
    assert.equal((await call(token.access_token)).statusCode, 200)
    await assert.rejects(
      suspendClient(service.parts, 'svc_client_none', BY),
      /There is no app svc_client_none/,
    )
  })
})

describe('the record of acts', async () => {
  const service = await createApp()
  const { parts } = service

  test('has who, when, what and why of every act, and what did nothing is not in it', async () => {
    const { email, user_id, bearer } = await service.register()
    await suspend(parts, email, BY)
    await suspend(parts, email, BY)
    service.clock.advance(1000)
    await resume(parts, email, { who: 'otto' })
    service.clock.advance(1000)
    assert.equal(await endSessions(parts, email, { who: 'otto', reason: 'asked by mail' }), 1)
    const me = await service.request({ method: 'GET', url: '/auth/me', headers: bearer })
    assert.equal(me.statusCode, 401)
    service.clock.advance(1000)
    assert.equal(await setOperator(parts, email, { who: 'otto', is_operator: true }), true)
    assert.equal((await showAccount(parts, email)).is_operator, true)
    assert.equal(await setOperator(parts, email, { who: 'otto', is_operator: true }), false)
    const acts = await listActs(parts.db, 10)
    assert.deepEqual(
      acts.map(({ who, act, subject, reason }) => ({ who, act, subject, reason })),
      [
        { who: 'otto', act: 'operator add', subject: email, reason: null },
        { who: 'otto', act: 'account end-sessions', subject: email, reason: 'asked by mail' },
        { who: 'otto', act: 'account resume', subject: email, reason: null },
        { who: 'olga', act: 'account suspend', subject: email, reason: 'card fraud' },
      ],
    )
    assert.deepEqual(acts[0]?.details, { account_id: user_id })
    await assert.rejects(suspend(parts, 'nobody@x.test', BY), /There is no account nobody@x.test/)
  })

  test('takes new rows only', async () => {
    await recordAct(parts.clock, parts.db, { who: 'olga', act: 'test', subject: 'x' })
    for (const change of [
      `update operator_act set who = 'nobody'`,
      'delete from operator_act',
      'truncate operator_act',
    ]) {
      await assert.rejects(sql(service.database_url, change), /append-only/)
    }
  })
})
