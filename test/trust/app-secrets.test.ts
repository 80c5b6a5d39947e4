// The secret of an app is replaced without a gap, by somebody who has lately shown who they are.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { createOAuthApp, type OAuthApp, postToken } from '../support/oauth.ts'

const HOUR_MS = 3_600_000

const service = await createApp({ settings: { STEP_UP: 'always' } })
const developer = await service.register()

const rotate = (app: OAuthApp, body?: unknown) =>
  service.request({
    method: 'POST',
    url: `/developers/apps/${app.id}/rotate-secret`,
    headers: {
      ...developer.bearer,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { payload: JSON.stringify(body) }),
  })

/** The endpoint knows the secret if it goes on to judge the token. */
async function isGood(app: OAuthApp, client_secret: string): Promise<boolean> {
  const fields = { grant_type: 'refresh_token', refresh_token: 'x' }
  const { error } = (await postToken(service, { ...app, client_secret }, fields)).json()
  assert.ok(error === 'invalid_grant' || error === 'invalid_client', error)
  return error === 'invalid_grant'
}

const readApp = async (app: OAuthApp) =>
  (await service.request({ url: `/developers/apps/${app.id}`, headers: developer.bearer })).json()

async function login(): Promise<void> {
  const credentials = { email: developer.email, password: 'correct horse battery' }
  const reply = await service.post('/auth/login', credentials)
  developer.bearer = { authorization: `Bearer ${reply.json().session_token}` }
}

test('without a word about it the old secret dies at once, also without a body', async () => {
  for (const body of [undefined, {}, { overlap_hours: 0 }]) {
    const app = await createOAuthApp(service, developer)
    const reply = await rotate(app, body)
    assert.equal(reply.statusCode, 200, reply.body)
    assert.equal(reply.json().previous_secret_expires_at, null)
    assert.equal(await isGood(app, app.client_secret), false)
    assert.equal(await isGood(app, reply.json().client_secret), true)
  }
})

test('during the overlap both secrets are good, and at its end the old one is none', async () => {
  const app = await createOAuthApp(service, developer)
  const reply = await rotate(app, { overlap_hours: 2 })
  const until = new Date(service.clock.now().getTime() + 2 * HOUR_MS).toISOString()
  assert.equal(reply.json().previous_secret_expires_at, until)
  assert.equal((await readApp(app)).previous_secret_expires_at, until)
  const { client_secret } = reply.json()
  service.clock.advance(2 * HOUR_MS - 1)
  assert.equal(await isGood(app, app.client_secret), true)
  assert.equal(await isGood(app, client_secret), true)
  service.clock.advance(1)
  assert.equal(await isGood(app, app.client_secret), false)
  assert.equal(await isGood(app, client_secret), true)
  assert.equal((await readApp(app)).previous_secret_expires_at, null)
  await login()
})

test('a second rotation during the overlap keeps the newest two, or only the newest', async () => {
  const app = await createOAuthApp(service, developer)
  const second = (await rotate(app, { overlap_hours: 24 })).json().client_secret
  const third = (await rotate(app, { overlap_hours: 24 })).json().client_secret
  const good = () => Promise.all([app.client_secret, second, third].map((one) => isGood(app, one)))
  assert.deepEqual(await good(), [false, true, true])
  await rotate(app)
  assert.deepEqual(await good(), [false, false, false])
})

test('an overlap is whole hours, 72 at most', async () => {
  const app = await createOAuthApp(service, developer)
  for (const overlap_hours of [-1, 0.5, 73, '1', null]) {
    const reply = await rotate(app, { overlap_hours })
    assert.equal(reply.statusCode, 400, reply.body)
  }
  assert.equal(await isGood(app, app.client_secret), true)
  assert.equal((await rotate(app, { overlap_hours: 72 })).statusCode, 200)
})

test('a session whose last proof is older than a quarter of an hour rotates nothing', async () => {
  const app = await createOAuthApp(service, developer)
  service.clock.advance(16 * 60_000)
  const reply = await rotate(app)
  assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'step_up_required'])
  assert.equal(await isGood(app, app.client_secret), true)
  await login()
  assert.equal((await rotate(app)).statusCode, 200)
})

test('a rotation is in the security log of the owner, without the secret', async () => {
  const app = await createOAuthApp(service, developer)
  const { client_secret } = (await rotate(app, { overlap_hours: 3 })).json()
  const rows = await sql<{ kind: string; details: object; session_id: string | null }>(
    service.database_url,
    `select kind, details, session_id from security_event
     where account_id = $1 and details ->> 'client_id' = $2 order by ctid`,
    [developer.user_id, app.client_id],
  )
  assert.deepEqual(
    rows.map((row) => row.kind),
    ['app_created', 'app_secret_rotated'],
  )
  const { client_id } = app
  assert.deepEqual(rows[1]?.details, { client_id, app_name: app.name, overlap_hours: 3 })
  assert.notEqual(rows[1]?.session_id, null)
  assert.ok(!JSON.stringify(rows).includes(client_secret))
})
