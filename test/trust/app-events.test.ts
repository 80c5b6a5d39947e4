// What concerns apps and what they may spend is in the security log of whom it concerns, with who did it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  allow,
  authorizeUrl,
  connect,
  connectHosted,
  createOAuthApp,
  csrfOf,
  makePkce,
  type Person,
  postForm,
  signIn,
} from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()

type Event = {
  kind: string
  details: Record<string, unknown>
  ip: string | null
  session_id: string | null
}

/** As they were written: the clock stands still, and ids of one moment have no order. */
async function eventsOf(person: Person, client_id: string): Promise<Event[]> {
  return await sql<Event>(
    service.database_url,
    `select kind, details, ip, session_id from security_event
     where account_id = $1 and details ->> 'client_id' = $2 order by ctid`,
    [person.user_id, client_id],
  )
}

const remove = (person: Person, url: string) =>
  service.request({ method: 'DELETE', url, headers: person.bearer })

test('an app’s registration and deletion are told to its developer', async () => {
  const app = await createOAuthApp(service, developer, { name: 'Short lived' })
  await remove(developer, `/developers/apps/${app.id}`)
  const events = await eventsOf(developer, app.client_id)
  assert.deepEqual(
    events.map(({ kind, details, ip }) => [kind, details, ip]),
    ['app_created', 'app_deleted'].map((kind) => [
      kind,
      { client_id: app.client_id, app_name: 'Short lived' },
      '127.0.0.1',
    ]),
  )
  for (const event of events) assert.notEqual(event.session_id, null)
})

test('a consent is told with app, scopes and cap; a change of the cap and the end as well', async () => {
  const app = await createOAuthApp(service, developer)
  const { client_id, name: app_name } = app
  const user = await service.register()
  const visitor = await signIn(service, user)
  const fields = { cap: 'monthly', cap_usd: '5' }
  await connect(service, { app, user, visitor, fields })
  const url = `/account/connections/${client_id}`
  await service.request({
    method: 'PATCH',
    url,
    headers: { ...user.bearer, 'content-type': 'application/json' },
    payload: '{"cap_credits":null}',
  })
  const page = await visitor.get('/oauth/connections')
  const form = { csrf: csrfOf(page.body), client_id, cap_period: 'day', cap_usd: '2' }
  assert.equal((await visitor.submit('/oauth/connections/cap', form)).statusCode, 303)
  await remove(user, url)
  const events = await eventsOf(user, client_id)
  assert.deepEqual(
    events.map(({ kind, details }) => [kind, details]),
    [
      [
        'consent_given',
        {
          client_id,
          app_name,
          scopes: 'credits.read credits.spend',
          cap_credits: 5_000_000,
          cap_period: 'month',
        },
      ],
      ['cap_changed', { client_id, app_name, cap_credits: null, cap_period: 'month' }],
      ['cap_changed', { client_id, app_name, cap_credits: 2_000_000, cap_period: 'day' }],
      ['consent_ended', { client_id, app_name }],
    ],
  )
  for (const event of events) {
    assert.equal(event.ip, '127.0.0.1')
    assert.notEqual(event.session_id, null)
  }
})

test('a consent that spends nothing tells of no cap, a hosted one under which name', async () => {
  const app = await createOAuthApp(service, developer)
  const user = await service.register()
  const parameters = { scope: 'credits.read' }
  await connectHosted(service, { app, user, external_user_id: 'reader', parameters })
  const { client_id, name: app_name } = app
  const [given] = await eventsOf(user, client_id)
  assert.deepEqual(given?.details, {
    client_id,
    app_name,
    scopes: 'credits.read',
    external_user_id: 'reader',
  })
})

test('the end of the last grant by the app is told without a place: the user did not do it', async () => {
  const app = await createOAuthApp(service, developer)
  const user = await service.register()
  const { refresh_token } = await connect(service, { app, user })
  const { client_id, client_secret } = app
  await postForm(service, '/oauth/revoke', { token: refresh_token, client_id, client_secret })
  const [, ended] = await eventsOf(user, client_id)
  assert.deepEqual([ended?.kind, ended?.ip, ended?.session_id], ['consent_ended', null, null])
})

test('a refused form and a denied wish tell of nothing', async () => {
  const app = await createOAuthApp(service, developer)
  const user = await service.register()
  const visitor = await signIn(service, user)
  const url = authorizeUrl(app, { code_challenge: makePkce().code_challenge })
  await visitor.fill(url, { decision: 'deny' })
  await assert.rejects(allow(visitor, url, { cap: 'monthly', cap_usd: 'much' }))
  assert.deepEqual(await eventsOf(user, app.client_id), [])
})
