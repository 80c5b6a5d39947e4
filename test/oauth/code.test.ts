// The exchange of a code: by the app it was made for, with the verifier of the request that asked, once.

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  CALLBACK,
  createOAuthApp,
  makePkce,
  obtainCode,
  postToken,
  signIn,
  type TokenReply,
  type Visitor,
} from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer)
const other = await createOAuthApp(service, developer)
let visitor: Visitor
beforeEach(async () => {
  visitor ??= await signIn(service, user)
})

const exchange = (fields: Record<string, string>, by = app) =>
  postToken(service, by, { grant_type: 'authorization_code', ...fields })

const userinfo = (token: string) =>
  service.request({ url: '/oauth/userinfo', headers: { authorization: `Bearer ${token}` } })

async function assertInvalidGrant(fields: Record<string, string>, by = app): Promise<string> {
  const reply = await exchange(fields, by)
  assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_grant'], reply.body)
  return reply.json().error_description
}

test('O5: without the verifier of its own request a code is worth nothing, and is not used up', async () => {
  const [mine, another] = [
    await obtainCode(service, { app, user, visitor }),
    await obtainCode(service, { app, user, visitor }),
  ]
  const { code, code_verifier } = mine
  const descriptions = new Set<string>()
  for (const wrong of [
    another.code_verifier,
    makePkce().code_verifier,
    `${code_verifier}A`,
    code_verifier.slice(0, -1),
    code_verifier.toUpperCase(),
    'short',
    `${'a'.repeat(43)}é`,
  ]) {
    descriptions.add(await assertInvalidGrant({ code, code_verifier: wrong }))
  }
  assert.equal(descriptions.size, 1, 'no answer tells what was wrong')
  assert.equal((await exchange({ code, code_verifier })).statusCode, 200)
  await assertInvalidGrant({ code: another.code })
})

test('the challenge itself is no verifier', async () => {
  const { code_challenge } = makePkce()
  const { code } = await obtainCode(service, {
    app,
    user,
    visitor,
    parameters: { code_challenge },
  })
  await assertInvalidGrant({ code, code_verifier: code_challenge })
})

test('O16: a code lasts a minute', async () => {
  const [early, late] = [
    await obtainCode(service, { app, user, visitor }),
    await obtainCode(service, { app, user, visitor }),
  ]
  service.clock.advance(59_000)
  const { answer: _early, ...in_time } = early
  assert.equal((await exchange(in_time)).statusCode, 200)
  service.clock.advance(2_000)
  const { answer: _late, ...too_late } = late
  await assertInvalidGrant(too_late)
})

test('O16: a code is of no use to another app, and that one’s attempt costs its owner nothing', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
  await assertInvalidGrant({ code, code_verifier }, other)
  const reply = await exchange({ code, code_verifier })
  assert.equal(reply.statusCode, 200)
  // Nor can the other app end what came of it, now that the code is used.
  await assertInvalidGrant({ code, code_verifier }, other)
  assert.equal((await userinfo(reply.json().access_token)).statusCode, 200)
})

test('the address of the exchange, if it is sent, is the one of the request', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
  for (const redirect_uri of ['https://evil.example/callback', `${CALLBACK}/`, `${CALLBACK}?x`]) {
    await assertInvalidGrant({ code, code_verifier, redirect_uri })
  }
  assert.equal((await exchange({ code, code_verifier, redirect_uri: CALLBACK })).statusCode, 200)
})

test('O17: a code that comes twice ends everything that came of it, and is told', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
  const first = (await exchange({ code, code_verifier })).json<TokenReply>()
  assert.equal((await userinfo(first.access_token)).statusCode, 200)
  const refresh = { grant_type: 'refresh_token', refresh_token: first.refresh_token }
  const second = (await postToken(service, app, refresh)).json<TokenReply>()
  assert.equal((await userinfo(second.access_token)).statusCode, 200)

  await assertInvalidGrant({ code, code_verifier })
  for (const { access_token, refresh_token } of [first, second]) {
    const reply = await userinfo(access_token)
    assert.deepEqual([reply.statusCode, reply.json().error.code], [401, 'invalid_token'])
    assert.match(String(reply.headers['www-authenticate']), /error="invalid_token"/)
    const again = await postToken(service, app, { grant_type: 'refresh_token', refresh_token })
    assert.equal(again.json().error, 'invalid_grant')
  }
  assert.match(service.log_lines.join(''), /"alarm":"code_reused"/)
})

test('who holds only the code cannot end what came of it', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
  const { access_token } = (await exchange({ code, code_verifier })).json<TokenReply>()
  await assertInvalidGrant({ code, code_verifier: makePkce().code_verifier })
  await assertInvalidGrant({ code, code_verifier, redirect_uri: 'https://evil.example' })
  assert.equal((await userinfo(access_token)).statusCode, 200)
})

test('a code that comes twice ends its hosted link too', async () => {
  const parameters = { storage_mode: 'hosted', external_user_id: 'twice' }
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor, parameters })
  assert.equal((await exchange({ code, code_verifier })).statusCode, 200)
  const { key } = await service.createKey(developer.bearer)
  const headers = { 'x-api-key': key, 'x-svc-user': 'twice' }
  const balance = () => service.request({ url: '/v1/balance', headers })
  assert.equal((await balance()).statusCode, 200)
  await assertInvalidGrant({ code, code_verifier })
  assert.deepEqual((await balance()).json().error.code, 'user_not_found')
})

test('a second use is known for a day, also after the code itself has expired', async () => {
  const { code, code_verifier } = await obtainCode(service, { app, user, visitor })
  const { access_token } = (await exchange({ code, code_verifier })).json<TokenReply>()
  service.clock.advance(10 * 60_000)
  await assertInvalidGrant({ code, code_verifier })
  assert.equal((await userinfo(access_token)).statusCode, 401)
})

test('what is no code of ours is refused without a word about why', async () => {
  const { code_verifier } = makePkce()
  for (const code of [
    'x',
    `svc_code_${'A'.repeat(43)}`,
    "' or ''='",
    `svc_code_${'é'.repeat(43)}`,
  ]) {
    await assertInvalidGrant({ code, code_verifier })
  }
  const codes = await sql(
    service.database_url,
    'select 1 from oauth_code where consumed_at is null',
  )
  assert.ok(codes.length >= 1, 'nothing was used up by guessing')
})
