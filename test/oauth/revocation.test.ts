// What one process ends is ended on the other within a second, whatever it had in memory.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Answer } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { mark, openChat, readReply, svcOf } from '../support/gateway.ts'
import {
  connect,
  connectHosted,
  createOAuthApp,
  makePkce,
  obtainCode,
  postForm,
  postToken,
  signIn,
} from '../support/oauth.ts'
import { startTwo } from '../support/remote.ts'
import { PASSWORD } from '../support/service.ts'

const { left, right, database_url } = await startTwo()
const developer = await left.register()
const user = await left.register()
const visitor = await signIn(left, user)

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const ask = (url: string, headers: Record<string, string>) => () => right.request({ url, headers })

/** Known to the other process by heart; then something happens; then it is refused there within a second. */
async function assertEnds(
  checks: readonly (() => Promise<Answer>)[],
  end: () => Promise<Answer>,
  code: string,
): Promise<void> {
  for (const check of [...checks, ...checks]) {
    const reply = await check()
    assert.equal(reply.statusCode, 200, reply.body)
  }
  const ended = await end()
  assert.ok(ended.statusCode < 400, ended.body)
  const within = eventually(
    'it is refused',
    async () => {
      const replies = await Promise.all(checks.map((check) => check()))
      return replies.every((reply) => reply.statusCode !== 200 && reply.json().error.code === code)
    },
    1_000,
  )
  await within
}

test('O25: with an app go its grants, codes and tokens, on every process', async () => {
  const app = await createOAuthApp(left, developer)
  const { access_token, refresh_token } = await connect(left, { app, user, visitor })
  const url = `/developers/apps/${app.id}`
  await assertEnds(
    [ask('/oauth/userinfo', bearer(access_token)), ask('/v1/balance', bearer(access_token))],
    () => left.request({ method: 'DELETE', url, headers: developer.bearer }),
    'invalid_token',
  )
  const gone = await postToken(right, app, { grant_type: 'refresh_token', refresh_token })
  assert.deepEqual([gone.statusCode, gone.json().error], [401, 'invalid_client'])
  const rows = await sql(
    database_url,
    `select 1 from oauth_grant union all select 1 from oauth_code union all
     select 1 from oauth_access_token union all select 1 from oauth_refresh_token`,
  )
  assert.deepEqual(rows, [])
})

test('O25: a link ends with its app, and a key that was bound to it too', async () => {
  const app = await createOAuthApp(left, developer)
  const free = await left.createKey(developer.bearer)
  const bound = await left.createKey(developer.bearer, { client_id: app.client_id })
  await connectHosted(left, { app, user, visitor, external_user_id: 'u' })
  const linked = ask('/v1/balance', { 'x-api-key': free.key, 'x-svc-user': 'u' })
  const url = `/developers/apps/${app.id}`
  const remove = () => left.request({ method: 'DELETE', url, headers: developer.bearer })
  assert.equal((await ask('/v1/key', { 'x-api-key': bound.key })()).statusCode, 200)
  await assertEnds([linked], remove, 'user_not_found')
  const key = await ask('/v1/key', { 'x-api-key': bound.key })()
  assert.equal(key.json().error.code, 'invalid_api_key')
})

test('a user who disconnects is left alone by every process', async () => {
  const app = await createOAuthApp(left, developer)
  const { access_token } = await connect(left, { app, user, visitor })
  const url = `/account/connections/${app.client_id}`
  await assertEnds(
    [ask('/oauth/userinfo', bearer(access_token))],
    () => left.request({ method: 'DELETE', url, headers: user.bearer }),
    'invalid_token',
  )
})

test('a user who disconnects before the code is exchanged has disconnected from that too', async () => {
  const app = await createOAuthApp(left, developer)
  await connect(left, { app, user, visitor })
  const { code, code_verifier } = await obtainCode(left, { app, user, visitor })
  const url = `/account/connections/${app.client_id}`
  await left.request({ method: 'DELETE', url, headers: user.bearer })
  const exchange = { grant_type: 'authorization_code', code, code_verifier }
  assert.equal((await postToken(right, app, exchange)).json().error, 'invalid_grant')
})

test('scopes that an app may use no more are gone from tokens it has', async () => {
  const app = await createOAuthApp(left, developer)
  const { access_token } = await connect(left, { app, user, visitor })
  await assertEnds(
    [ask('/v1/balance', bearer(access_token))],
    () =>
      left.request({
        method: 'PATCH',
        url: `/developers/apps/${app.id}`,
        headers: { ...developer.bearer, 'content-type': 'application/json' },
        payload: JSON.stringify({ allowed_scopes: ['credits.spend'] }),
      }),
    'insufficient_scope',
  )
})

test('revoking (RFC 7009): an access token ends alone, a refresh token with its family, another’s not at all', async () => {
  const app = await createOAuthApp(left, developer)
  const other = await createOAuthApp(left, await left.register())
  const revoke = (token: string, by = app) => {
    const { client_id, client_secret } = by
    return postForm(left, '/oauth/revoke', { token, client_id, client_secret })
  }
  const one = await connect(left, { app, user, visitor })
  const refreshed = await postToken(left, app, {
    grant_type: 'refresh_token',
    refresh_token: one.refresh_token,
  })
  const two = refreshed.json()
  const check = (token: string) => ask('/oauth/userinfo', bearer(token))
  for (const foreign of [two.access_token, two.refresh_token, 'x', makePkce().code_verifier]) {
    const reply = await revoke(foreign, other)
    assert.deepEqual([reply.statusCode, reply.json()], [200, {}])
  }
  await assertEnds([check(one.access_token)], () => revoke(one.access_token), 'invalid_token')
  await assertEnds([check(two.access_token)], () => revoke(two.refresh_token), 'invalid_token')
  assert.equal((await revoke(two.refresh_token)).statusCode, 200)
  const { client_id, client_secret } = app
  const empty = await postForm(left, '/oauth/revoke', { client_id, client_secret })
  assert.deepEqual([empty.statusCode, empty.json().error], [400, 'invalid_request'])
  const nobody = await postForm(left, '/oauth/revoke', { token: 'x' })
  assert.deepEqual([nobody.statusCode, nobody.json().error], [401, 'invalid_client'])
})

test('K4: a key that is revoked during a stream is refused for the next call; the stream is paid', async () => {
  const { key, id } = await left.createKey(developer.bearer)
  const prompt = `${mark()} [[sandbox:tokens=40]] [[sandbox:pace=40]]`
  const asked = { key, model: 'gpt-4o-mini', prompt, stream: true } as const
  const request = openChat(right.server.url, asked)
  const reply = readReply(request)
  await once(request, 'response')
  const url = `/developers/keys/${id}`
  await assertEnds(
    [ask('/v1/key', { 'x-api-key': key })],
    () => left.request({ method: 'DELETE', url, headers: developer.bearer }),
    'invalid_api_key',
  )
  assert.ok(svcOf(await reply).credits_used > 0)
})

test('a token whose app is deleted during a stream is refused for the next call; the stream is paid', async () => {
  const app = await createOAuthApp(left, developer, { markup_percent: 10 })
  const { access_token } = await connect(left, { app, user, visitor })
  const prompt = `${mark()} [[sandbox:tokens=40]] [[sandbox:pace=40]]`
  const request = openChat(right.server.url, {
    key: access_token,
    model: 'gpt-4o-mini',
    prompt,
    stream: true,
  })
  const reply = readReply(request)
  await once(request, 'response')
  const url = `/developers/apps/${app.id}`
  await assertEnds(
    [ask('/oauth/userinfo', bearer(access_token))],
    () => left.request({ method: 'DELETE', url, headers: developer.bearer }),
    'invalid_token',
  )
  assert.ok(svcOf(await reply).credits_used > 0)
})

test('A9: a changed password ends the other sessions on every process', async () => {
  const person = await left.register()
  const other = await left.post('/auth/login', { email: person.email, password: PASSWORD })
  const change = { current_password: PASSWORD, new_password: 'another good one' }
  await assertEnds(
    [ask('/auth/me', bearer(other.json().session_token))],
    () => left.post('/auth/change-password', change, person.bearer),
    'invalid_api_key',
  )
  assert.equal((await ask('/auth/me', person.bearer)()).statusCode, 200)
})
