// Refresh tokens rotate. A client that lost an answer gets it again; a thief ends the family.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { oauthJobs } from '../../src/oauth/jobs.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  connect,
  createOAuthApp,
  postForm,
  postToken,
  signIn,
  type TokenReply,
} from '../support/oauth.ts'

const DAY_MS = 24 * 3600 * 1000

const service = await createApp()
const developer = await service.register()
const user = await service.register()
const app = await createOAuthApp(service, developer)

/** In a browser that signs in anew: time passes in this file, and sessions end. */
const start = async (parameters: Record<string, string> = {}) =>
  await connect(service, { app, user, visitor: await signIn(service, user), parameters })

const refresh = (refresh_token: string, fields: Record<string, string> = {}, by = app) =>
  postToken(service, by, { grant_type: 'refresh_token', refresh_token, ...fields })

async function refreshed(token: string): Promise<TokenReply> {
  const reply = await refresh(token)
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<TokenReply>()
}

const statusOf = async (access_token: string) => {
  const headers = { authorization: `Bearer ${access_token}` }
  return (await service.request({ url: '/oauth/userinfo', headers })).statusCode
}

async function assertRefused(refresh_token: string): Promise<void> {
  const reply = await refresh(refresh_token)
  assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_grant'])
}

async function assertFamilyDead(family: readonly TokenReply[]): Promise<void> {
  for (const { access_token, refresh_token } of family) {
    assert.equal(await statusOf(access_token), 401)
    await assertRefused(refresh_token)
  }
}

test('a client that lost the answer gets the same one again for 30 seconds', async () => {
  const first = await start()
  const second = await refreshed(first.refresh_token)
  service.clock.advance(30_000)
  const again = await refreshed(first.refresh_token)
  assert.deepEqual({ ...again, expires_in: 0 }, { ...second, expires_in: 0 })
  assert.equal(again.expires_in, 3570, 'what is left, not an hour anew')
  await refreshed(second.refresh_token)
})

test('O20: an old refresh token after 31 seconds ends the whole family, and is told', async () => {
  const first = await start()
  const second = await refreshed(first.refresh_token)
  for (const { access_token } of [first, second]) assert.equal(await statusOf(access_token), 200)
  service.clock.advance(31_000)
  await assertRefused(first.refresh_token)
  await assertFamilyDead([first, second])
  assert.match(service.log_lines.join(''), /"alarm":"refresh_token_reused"/)
})

test('O20: an old refresh token whose successor was used ends the whole family at once', async () => {
  const first = await start()
  const second = await refreshed(first.refresh_token)
  const third = await refreshed(second.refresh_token)
  await assertRefused(first.refresh_token)
  await assertFamilyDead([first, second, third])
})

test('a second use with another wish is no lost answer: the family ends', async () => {
  for (const scope of ['credits.read', 'credits.read admin']) {
    const first = await start()
    const second = await refreshed(first.refresh_token)
    const reply = await refresh(first.refresh_token, { scope })
    assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_grant'], scope)
    await assertFamilyDead([first, second])
  }
})

test('one family’s end leaves the user’s other families alone, and nobody is told of a departure', async () => {
  const [stolen, safe] = [await start(), await start()]
  await refreshed(stolen.refresh_token)
  service.clock.advance(31_000)
  await assertRefused(stolen.refresh_token)
  assert.equal(await statusOf(safe.access_token), 200)
  await refreshed(safe.refresh_token)
  const [last] = await sql<{ kind: string }>(
    service.database_url,
    'select kind from outbox where wallet_id = $1 and kind::text like $2 order by id desc limit 1',
    [user.user_id, 'user.%'],
  )
  assert.equal(last?.kind, 'user.connected')
})

test('O21: another app, no credentials or a wider scope get nothing, and the token stays good', async () => {
  const other = await createOAuthApp(service, developer)
  const { refresh_token } = await start({ scope: 'credits.read' })
  const foreign = await refresh(refresh_token, {}, other)
  assert.deepEqual([foreign.statusCode, foreign.json().error], [400, 'invalid_grant'])
  const nobody = { grant_type: 'refresh_token', refresh_token }
  for (const fields of [nobody, { ...nobody, client_id: app.client_id }]) {
    const reply = await postForm(service, '/oauth/token', fields)
    assert.deepEqual([reply.statusCode, reply.json().error], [401, 'invalid_client'])
  }
  for (const scope of ['credits.read credits.spend', 'credits.spend', 'admin', 'x'.repeat(5000)]) {
    const wider = await refresh(refresh_token, { scope })
    assert.deepEqual([wider.statusCode, wider.json().error], [400, 'invalid_scope'], scope)
  }
  const good = await refreshed(refresh_token)
  assert.equal(good.scope, 'credits.read')
  // Another app's knowledge of a used token ends nothing either.
  await refreshed(good.refresh_token)
  await refresh(good.refresh_token, {}, other)
  assert.equal(await statusOf(good.access_token), 200)
})

test('a narrower scope is of the new access token only: the next refresh has all that was granted', async () => {
  const first = await start()
  const narrow = (await refresh(first.refresh_token, { scope: 'credits.read' })).json<TokenReply>()
  assert.equal(narrow.scope, 'credits.read')
  assert.equal((await refreshed(narrow.refresh_token)).scope, 'credits.read credits.spend')
})

test('a refresh token that nobody uses ends after 30 days, a family after 180 in any case', async () => {
  const idle = await start()
  service.clock.advance(30 * DAY_MS)
  await assertRefused(idle.refresh_token)
  let { refresh_token } = await start()
  for (let day = 0; day + 29 < 180; day += 29) {
    service.clock.advance(29 * DAY_MS)
    refresh_token = (await refreshed(refresh_token)).refresh_token
  }
  service.clock.advance(7 * DAY_MS)
  await assertRefused(refresh_token)
})

test('an access token ends after an hour, also out of memory', async () => {
  const { access_token } = await start()
  assert.equal(await statusOf(access_token), 200)
  service.clock.advance(3_599_000)
  assert.equal(await statusOf(access_token), 200)
  service.clock.advance(1_000)
  assert.equal(await statusOf(access_token), 401)
})

test('tokens of one kind are no good in the place of the other', async () => {
  const { access_token, refresh_token } = await start()
  await assertRefused(access_token)
  assert.equal(await statusOf(refresh_token), 401)
  const headers = { 'x-api-key': refresh_token }
  const reply = await service.request({ url: '/v1/balance', headers })
  assert.equal(reply.statusCode, 401)
})

test('a scope that the app may not have any more is not given again, and the token stays good', async () => {
  const owner = await service.register()
  const owned = await createOAuthApp(service, owner)
  const { refresh_token } = await connect(service, { app: owned, user: await service.register() })
  await service.request({
    method: 'PATCH',
    url: `/developers/apps/${owned.id}`,
    headers: { ...owner.bearer, 'content-type': 'application/json' },
    payload: '{"allowed_scopes":["credits.read"]}',
  })
  const wider = await refresh(refresh_token, { scope: 'credits.spend' }, owned)
  assert.deepEqual([wider.statusCode, wider.json().error], [400, 'invalid_scope'])
  assert.equal((await refresh(refresh_token, {}, owned)).json().scope, 'credits.read')
})

test('the sealed answer is kept no longer than it can be asked for', async () => {
  const { refresh_token } = await start()
  await refreshed(refresh_token)
  const sealed = async () => {
    const [row] = await sql(
      service.database_url,
      'select count(*)::int as rows from oauth_refresh_token where replay is not null',
    )
    return row?.['rows']
  }
  assert.notEqual(await sealed(), 0)
  service.clock.advance(61_000)
  for (const job of oauthJobs(service.parts)) await job.run(new AbortController().signal)
  assert.equal(await sealed(), 0)
})
