// A whole life of an account and of a connection to an app, with every log line written: no secret is ever in
// one, nor in the database.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp, PASSWORD, sendQueuedMail, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  authorizeUrl,
  connectHosted,
  createOAuthApp,
  csrfOf,
  makePkce,
  obtainCode,
  postToken,
  signIn,
  type TokenReply,
} from '../support/oauth.ts'

test('no log line of a full flow holds a secret, at the most talkative level', async () => {
  const service = await createApp({
    log_level: 'trace',
    app: {
      addRoutes: (app) => {
        app.get('/bug', { config: { access: 'key' } }, (request) => {
          throw new Error(`failed for ${request.headers.authorization}`)
        })
      },
    },
  })
  const { bearer, email, token } = await service.register()
  const { key, id } = await service.createKey(bearer)
  await service.request({ url: '/v1/key', headers: { 'x-api-key': key } })
  await service.request({ url: '/bug', headers: { authorization: `Bearer ${key}` } })
  await service.request({ url: `/auth/verify?token=svc_verify_${'a'.repeat(43)}` })
  await service.post('/auth/login', { email, password: 'a wrong password' })
  await service.post('/auth/send-verification', {}, bearer)
  await service.post('/auth/forgot-password', { email })
  await sendQueuedMail(service)
  await service.post('/auth/reset-password', {
    token: 'svc_reset_abc',
    new_password: 'new password',
  })
  const change = { current_password: PASSWORD, new_password: 'another good one' }
  await service.post('/auth/change-password', change, bearer)
  await service.request({ method: 'DELETE', url: `/developers/keys/${id}`, headers: bearer })
  await service.request({ method: 'POST', url: '/auth/logout', headers: bearer })

  const lines = service.log_lines.join('')
  assert.ok(service.log_lines.length >= 12)
  assert.match(lines, /failed for/)
  for (const secret of [
    key,
    token,
    PASSWORD,
    'a wrong password',
    'another good one',
    'new password',
  ]) {
    assert.ok(!lines.includes(secret), `a log line holds ${secret}`)
  }
  assert.doesNotMatch(lines, /(sk-svc-|sess_|svc_verify_|svc_reset_)[A-Za-z0-9_-]{4}/)
})

/** Consent, exchange, refresh, reuse, wrong guesses, revocation; and every secret that came up on the way. */
async function liveThroughOAuth(service: TestApp) {
  const [developer, user] = [await service.register(), await service.register()]
  const app = await createOAuthApp(service, developer)
  const visitor = await signIn(service, user)
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
  const exchange = { grant_type: 'authorization_code', code, code_verifier }
  await postToken(service, app, { ...exchange, code_verifier: makePkce().code_verifier })
  const first = (await postToken(service, app, exchange)).json<TokenReply>()
  const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
  const second = (await postToken(service, app, refresh)).json<TokenReply>()
  const hosted = await connectHosted(service, { app, user, visitor, external_user_id: 'u' })
  const bearer = { authorization: `Bearer ${second.access_token}` }
  await service.request({ url: '/oauth/userinfo', headers: bearer })
  await service.request({ url: '/bug', headers: bearer })
  const wrong = { ...app, client_secret: `${app.client_secret.slice(0, -1)}_` }
  await postToken(service, wrong, refresh)
  await service.request({ url: `/oauth/authorize?code=${code}&token=${second.access_token}` })
  const page = await visitor.get(authorizeUrl(app, makePkce()))
  const secrets = [
    app.client_secret,
    wrong.client_secret,
    code,
    code_verifier,
    ...[first, second].flatMap((tokens) => [tokens.access_token, tokens.refresh_token]),
    hosted.access_token,
    ...visitor.cookies.values(),
    csrfOf(page.body),
    user.token,
    PASSWORD,
  ]
  return { secrets, /** Again, as a thief would. */ reuse: () => postToken(service, app, refresh) }
}

test('O31: no log line of sign-in, consent, tokens and their reuse holds a secret', async () => {
  const service = await createApp({
    log_level: 'trace',
    app: {
      addRoutes: (app) => {
        app.get('/bug', { config: { access: 'token' } }, (request) => {
          throw new Error(`failed for ${request.headers.authorization}`)
        })
      },
    },
  })
  const { secrets, reuse } = await liveThroughOAuth(service)
  service.clock.advance(60_000)
  await reuse()

  const lines = service.log_lines.join('')
  assert.ok(service.log_lines.length >= 15)
  assert.match(lines, /failed for/)
  assert.match(lines, /refresh_token_reused/)
  assert.equal(secrets.includes(''), false)
  for (const secret of secrets) assert.ok(!lines.includes(secret), `a log line holds ${secret}`)
  assert.doesNotMatch(lines, /(sess_|svc_(token|refresh|secret|code|verify|reset)_)[\w-]{4}/)
})

test('K3: nothing that we issue stands in the database, as text or as bytes', async () => {
  const service = await createApp()
  const { secrets } = await liveThroughOAuth(service)
  const { bearer, email } = await service.register()
  await service.post('/auth/forgot-password', { email })
  await sendQueuedMail(service)
  const issued = [...secrets, (await service.createKey(bearer)).key]
  const tables = await sql<{ name: string }>(
    service.database_url,
    "select tablename as name from pg_tables where schemaname = 'public'",
  )
  const dump: string[] = []
  for (const { name } of tables) {
    const rows = await sql<{ row: string }>(
      service.database_url,
      `select row::text as row from "${name}" as row`,
    )
    dump.push(...rows.map(({ row }) => row))
  }
  const text = dump.join('\n')
  assert.ok(text.includes(email), 'the dump has what is no secret')
  for (const secret of issued) {
    const body = secret.replace(/^(sk-svc-|[a-z]+_([a-z]+_)?)/, '')
    for (const form of [
      body,
      Buffer.from(secret).toString('hex'),
      Buffer.from(body).toString('hex'),
    ]) {
      assert.ok(!text.includes(form), `${secret.slice(0, 12)} is in the database`)
    }
    assert.ok(!text.includes(Buffer.from(body, 'base64url').toString('hex')), 'decoded')
  }
})
