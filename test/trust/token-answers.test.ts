// What the token endpoint says about itself: how long a token lasts, and that a client which asks again after a change
// of its app is still an honest one.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import {
  connect,
  createOAuthApp,
  type OAuthApp,
  postToken,
  type TokenReply,
} from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()

const refresh = (app: OAuthApp, refresh_token: string, fields: Record<string, string> = {}) =>
  postToken(service, app, { grant_type: 'refresh_token', refresh_token, ...fields })

const change = (app: OAuthApp, body: object) =>
  service.request({
    method: 'PATCH',
    url: `/developers/apps/${app.id}`,
    headers: { ...developer.bearer, 'content-type': 'application/json' },
    payload: JSON.stringify(body),
  })

/** A clock that goes on while a request is answered, as real ones do. */
async function withRunningClock<Result>(work: () => Promise<Result>): Promise<Result> {
  const { clock } = service
  const now = clock.now.bind(clock)
  clock.now = () => {
    clock.advance(1)
    return now()
  }
  try {
    return await work()
  } finally {
    clock.now = now
  }
}

test('a fresh access token lasts an hour by its own words, however long the answer took', async () => {
  const app = await createOAuthApp(service, developer)
  const user = await service.register()
  const first = await withRunningClock(() => connect(service, { app, user }))
  assert.equal(first.expires_in, 3600)
  const reply = await withRunningClock(() => refresh(app, first.refresh_token))
  assert.equal(reply.json().expires_in, 3600)
  service.clock.advance(20_000)
  const again = await refresh(app, first.refresh_token)
  assert.equal(again.json().access_token, reply.json().access_token)
  const { expires_in } = again.json<TokenReply>()
  assert.ok(expires_in >= 3579 && expires_in <= 3581, String(expires_in))
})

for (const [what, before, after] of [
  ['narrowed', ['credits.read', 'credits.spend'], ['credits.read']],
  ['narrowed to another scope', ['credits.spend'], ['credits.read']],
  ['widened', ['credits.read'], ['credits.read', 'credits.spend']],
] as const) {
  test(`a client that asks again after its app's scopes were ${what} gets the same tokens`, async () => {
    const app = await createOAuthApp(service, developer)
    const user = await service.register()
    const first = await connect(service, { app, user })
    await change(app, { allowed_scopes: before })
    const second = (await refresh(app, first.refresh_token)).json<TokenReply>()
    assert.equal(second.scope, before.join(' '))
    await change(app, { allowed_scopes: after })
    const again = await refresh(app, first.refresh_token)
    assert.equal(again.statusCode, 200, again.body)
    assert.equal(again.json().refresh_token, second.refresh_token)
    assert.equal(again.json().access_token, second.access_token)
    // The grant lives, with what is allowed now.
    const third = await refresh(app, second.refresh_token)
    assert.deepEqual([third.statusCode, third.json().scope], [200, after.join(' ')])
  })
}

test('O20: after such a change another wish still ends the grant', async () => {
  const app = await createOAuthApp(service, developer)
  const first = await connect(service, { app, user: await service.register() })
  const second = (await refresh(app, first.refresh_token)).json<TokenReply>()
  await change(app, { allowed_scopes: ['credits.read'] })
  const thief = await refresh(app, first.refresh_token, { scope: 'credits.read' })
  assert.deepEqual([thief.statusCode, thief.json().error], [400, 'invalid_grant'])
  assert.equal((await refresh(app, second.refresh_token)).json().error, 'invalid_grant')
})

test('an app that may do nothing is refused, at its registration and later', async () => {
  const app = await createOAuthApp(service, developer)
  const body = { name: 'x', redirect_uris: ['https://app.example/callback'], allowed_scopes: [] }
  for (const reply of [
    await service.post('/developers/apps', body, developer.bearer),
    await change(app, { allowed_scopes: [] }),
  ]) {
    assert.equal(reply.statusCode, 400, reply.body)
    assert.equal(reply.json().error.param, 'allowed_scopes')
  }
})
