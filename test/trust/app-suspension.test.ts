// A suspended app: nothing new starts through it, whoever asks is told why, and what runs ends as it would have.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resumeApp, suspendApp } from '../../src/oauth/suspension.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  authorizeUrl,
  connect,
  connectHosted,
  createOAuthApp,
  makePkce,
  type OAuthApp,
  obtainCode,
  postForm,
  postToken,
  signIn,
} from '../support/oauth.ts'

const REASON = 'Reported for phishing.'

const service = await createApp()
// A second process, as far as memory goes.
const other = await createApp({ database_url: service.database_url })
const developer = await service.register()
const { key } = await service.createKey(developer.bearer)

const suspend = (app: OAuthApp, reason = REASON) =>
  service.parts.db.transaction((tx) =>
    suspendApp(service.parts, tx, { client_id: app.client_id, reason }),
  )
const resume = (app: OAuthApp) =>
  service.parts.db.transaction((tx) => resumeApp(service.parts, tx, app.client_id))

const chat = (headers: Record<string, string>, by = service, content = 'Hello.') =>
  by.post(
    '/v1/chat/completions',
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content }] },
    headers,
  )

/** One user of one app, and every way to make a call through it. */
async function connected() {
  const app = await createOAuthApp(service, developer)
  const user = await service.register()
  const external_user_id = `user of ${app.id}`
  const { access_token, refresh_token } = await connect(service, { app, user })
  await connectHosted(service, { app, user, external_user_id })
  const client_id = app.client_id
  const bound = await service.createKey(developer.bearer, { client_id })
  const user_key = await service.createKey(developer.bearer, { billing_mode: 'user' })
  const authorization = `Bearer ${access_token}`
  const calls: Record<string, string>[] = [
    { authorization },
    { 'x-api-key': user_key.key, authorization },
    { 'x-api-key': bound.key },
    { 'x-api-key': key, 'x-svc-user': external_user_id },
  ]
  return { app, user, refresh_token, external_user_id, calls }
}

async function balanceOf(person: { bearer: Record<string, string> }): Promise<number> {
  return (await service.request({ url: '/auth/me', headers: person.bearer })).json().balance
}

test('O37: calls with its tokens, its keys and its links are 403 with the reason, and cost nothing', async () => {
  const { app, user, calls } = await connected()
  for (const headers of calls) assert.equal((await chat(headers)).statusCode, 200)
  const paid = [await balanceOf(user), await balanceOf(developer)]
  await suspend(app)
  for (const headers of calls) {
    for (let i = 0; i < 2; i++) {
      const reply = await chat(headers)
      assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], reply.body)
      assert.match(reply.json().error.message, /suspended: Reported for phishing\./)
    }
  }
  for (const url of ['/v1/balance', '/oauth/userinfo']) {
    const reply = await service.request({ url, headers: calls[0] ?? {} })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], url)
  }
  assert.deepEqual([await balanceOf(user), await balanceOf(developer)], paid)
  // What is open to everybody is open to it, and the developer's other keys go on.
  assert.equal(
    (await service.request({ url: '/v1/models', headers: calls[0] ?? {} })).statusCode,
    200,
  )
  assert.equal((await chat({ 'x-api-key': key })).statusCode, 200)
  await resume(app)
  for (const headers of calls) assert.equal((await chat(headers)).statusCode, 200)
})

test('O37: another process that had it all in memory refuses within a second', async () => {
  const { app, calls } = await connected()
  for (const headers of calls) assert.equal((await chat(headers, other)).statusCode, 200)
  await suspend(app)
  const refused = async () => {
    const replies = await Promise.all(calls.map((headers) => chat(headers, other)))
    return replies.every((reply) => reply.statusCode === 403)
  }
  await eventually('every call is refused', refused, 5_000)
})

test('O37: the user is not asked, and sees why', async () => {
  const { app, user } = await connected()
  const visitor = await signIn(service, user)
  const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge })
  const shown = await visitor.get(url)
  assert.equal(shown.statusCode, 200)
  await suspend(app)
  const csrf = /name="csrf" value="([^"]+)"/.exec(shown.body)?.[1] ?? ''
  const pages = [
    await visitor.get(url),
    await visitor.submit(url, { csrf, decision: 'allow' }),
    await (await signIn(service, user)).get(`${url}&prompt=none`),
  ]
  for (const page of pages) {
    assert.equal(page.statusCode, 403, page.body)
    assert.equal(page.headers.location, undefined)
    assert.match(page.body, /suspended: Reported for phishing\./)
  }
  const program = await service.request({ url, headers: { accept: 'application/json' } })
  assert.deepEqual([program.statusCode, program.json().error.code], [403, 'forbidden'])
})

test('O37: the token endpoint says unauthorized_client and burns nothing; revoking goes on', async () => {
  const { app, user, refresh_token } = await connected()
  const { code, code_verifier } = await obtainCode(service, { app, user })
  await suspend(app)
  const forms = [
    { grant_type: 'authorization_code', code, code_verifier },
    { grant_type: 'refresh_token', refresh_token },
  ]
  for (const fields of forms) {
    const reply = await postToken(service, app, fields)
    assert.deepEqual([reply.statusCode, reply.json().error], [400, 'unauthorized_client'])
    assert.match(reply.json().error_description, /suspended: Reported for phishing\./)
  }
  // Whoever does not know the secret learns nothing.
  const guess = await postToken(service, { ...app, client_secret: 'x' }, forms[0] ?? {})
  assert.deepEqual([guess.statusCode, guess.json().error], [401, 'invalid_client'])
  await resume(app)
  for (const fields of forms) assert.equal((await postToken(service, app, fields)).statusCode, 200)
  await suspend(app)
  const { client_id, client_secret } = app
  const revoke = await postForm(service, '/oauth/revoke', {
    token: refresh_token,
    client_id,
    client_secret,
  })
  assert.equal(revoke.statusCode, 200)
})

test('O37: a call that runs when its app is suspended ends, and is charged', async () => {
  const { app, user, calls } = await connected()
  const before = await balanceOf(user)
  const running = chat(calls[0] ?? {}, service, '[[sandbox:slow=1500]] Hello.')
  const held = async () => {
    const rows = await sql(service.database_url, 'select 1 from hold where wallet_id = $1', [
      user.user_id,
    ])
    return rows.length > 0
  }
  await eventually('the call holds credits', held, 5_000)
  await suspend(app)
  const reply = await running
  assert.equal(reply.statusCode, 200, reply.body)
  assert.ok((await balanceOf(user)) < before)
  assert.equal((await chat(calls[0] ?? {})).statusCode, 403)
})

test('its developer reads the reason and is told; both may still end things', async () => {
  const { app, user } = await connected()
  await suspend(app, 'First reason.')
  await suspend(app)
  const url = `/developers/apps/${app.id}`
  const read = async () => (await service.request({ url, headers: developer.bearer })).json()
  assert.equal((await read()).suspended_reason, REASON)
  assert.notEqual((await read()).suspended_at, null)
  const connection = `/account/connections/${app.client_id}`
  const ended = await service.request({ method: 'DELETE', url: connection, headers: user.bearer })
  assert.equal(ended.statusCode, 200)
  await resume(app)
  assert.deepEqual([(await read()).suspended_reason, (await read()).suspended_at], [null, null])
  const kinds = await sql<{ kind: string }>(
    service.database_url,
    `select kind from security_event where account_id = $1 and details ->> 'client_id' = $2
     and kind like 'app_%ed' and kind <> 'app_created' order by kind desc`,
    [developer.user_id, app.client_id],
  )
  assert.deepEqual(
    kinds.map((row) => row.kind),
    ['app_suspended', 'app_suspended', 'app_resumed'],
  )
})

test('an app that is not there is not found, and a suspension has a reason', async () => {
  const app = await createOAuthApp(service, developer)
  const nobody = { ...app, client_id: 'svc_client_nobody' }
  await assert.rejects(suspend(nobody), { code: 'not_found' })
  await assert.rejects(resume(nobody), { code: 'not_found' })
  await assert.rejects(resume(app), { code: 'not_found' })
  for (const reason of ['', '  ', 'x'.repeat(501), 'a\u0000b']) {
    await assert.rejects(suspend(app, reason), { code: 'bad_request' })
  }
})
