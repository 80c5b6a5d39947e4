// Fault: `external_user_id` is a value in the address bar. Whoever changes theirs to somebody else's name must not
// get that somebody's link.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  connectHosted,
  createOAuthApp,
  type OAuthApp,
  obtainCode,
  type Person,
  postToken,
} from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const app = await createOAuthApp(service, developer)
const { key } = await service.createKey(developer.bearer)

const ask = (external_user_id: string) =>
  service.post(
    '/v1/chat/completions',
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] },
    { 'x-api-key': key, 'x-svc-user': external_user_id },
  )

async function balanceOf(person: Person): Promise<number> {
  return (await service.request({ url: '/auth/me', headers: person.bearer })).json().balance
}

/** A call under that name is paid by this person, and by nobody else of these. */
async function assertPays(external_user_id: string, payer: Person, others: readonly Person[]) {
  const before = await Promise.all([payer, ...others].map(balanceOf))
  const reply = await ask(external_user_id)
  assert.equal(reply.statusCode, 200, reply.body)
  const after = await Promise.all([payer, ...others].map(balanceOf))
  assert.ok((after[0] ?? 0) < (before[0] ?? 0), 'the payer paid')
  assert.deepEqual(after.slice(1), before.slice(1), 'nobody else did')
}

/** The user consents in the browser to a request that names this id. */
const consent = (user: Person, external_user_id: string, of: OAuthApp = app) =>
  obtainCode(service, {
    app: of,
    user,
    parameters: { storage_mode: 'hosted', external_user_id },
  })

const exchange = (
  { code, code_verifier }: { code: string; code_verifier: string },
  fields: Record<string, string> = {},
  of: OAuthApp = app,
) => postToken(service, of, { grant_type: 'authorization_code', code, code_verifier, ...fields })

async function liveGrantsOf(person: Person): Promise<number> {
  const rows = await sql(
    service.database_url,
    `select 1 from oauth_grant g join app_connection c on c.id = g.connection_id
     where c.account_id = $1 and g.activated_at is not null and g.ended_at is null`,
    [person.user_id],
  )
  return rows.length
}

async function eventsOf(person: Person): Promise<string[]> {
  const rows = await sql<{ kind: string }>(
    service.database_url,
    `select kind from outbox where wallet_id = $1 and kind::text like 'user.%' order by id`,
    [person.user_id],
  )
  return rows.map((row) => row.kind)
}

test('O35: who writes somebody else’s name into the address bar does not get their link', async () => {
  const [alice, mallory] = [await service.register(), await service.register()]
  await connectHosted(service, { app, user: alice, external_user_id: 'alice' })
  const stolen = await consent(mallory, 'alice')

  // The app says whose session it was: Mallory's own name is not the one in the request.
  const honest = await exchange(stolen, { external_user_id: 'mallory' })
  assert.deepEqual([honest.statusCode, honest.json().error], [400, 'invalid_grant'])
  assert.match(honest.json().error_description, /external_user_id/)
  // An app that says nothing is told to.
  const silent = await exchange(stolen)
  assert.deepEqual([silent.statusCode, silent.json().error], [400, 'invalid_grant'])
  assert.match(silent.json().error_description, /Send external_user_id/)

  await assertPays('alice', alice, [mallory])
  assert.equal(await liveGrantsOf(alice), 1)
  assert.equal(await liveGrantsOf(mallory), 0)
  assert.deepEqual(await eventsOf(alice), ['user.connected'])
  assert.deepEqual(await eventsOf(mallory), [])
  const list = await service.request({ url: '/account/connections', headers: mallory.bearer })
  assert.deepEqual(list.json().data, [])
})

test('O35: nor through another app of the same developer, whose newer link would count', async () => {
  const [alice, mallory] = [await service.register(), await service.register()]
  const other = await createOAuthApp(service, developer, { name: 'Other' })
  await connectHosted(service, { app, user: alice, external_user_id: 'shared-alice' })
  service.clock.advance(1_000)
  const silent = await exchange(await consent(mallory, 'shared-alice', other), {}, other)
  assert.deepEqual([silent.statusCode, silent.json().error], [400, 'invalid_grant'])
  await assertPays('shared-alice', alice, [mallory])
})

test('O35: a refusal for the name burns nothing: the right one is still good, once', async () => {
  const user = await service.register()
  const code = await consent(user, 'right')
  const wrong = await exchange(code, { external_user_id: 'wrong' })
  assert.deepEqual([wrong.statusCode, wrong.json().error], [400, 'invalid_grant'])
  const right = await exchange(code, { external_user_id: 'right' })
  assert.equal(right.statusCode, 200, right.body)
  assert.equal(right.json().external_user_id, 'right')
  // After its use a wrong name still changes nothing, and a second use ends the grant as ever.
  assert.equal((await exchange(code, { external_user_id: 'wrong' })).json().error, 'invalid_grant')
  assert.equal(await liveGrantsOf(user), 1)
  assert.equal((await exchange(code, { external_user_id: 'right' })).json().error, 'invalid_grant')
  assert.equal(await liveGrantsOf(user), 0)
})

test('a link of another account is replaced where the app confirms the name', async () => {
  const [old, young] = [await service.register(), await service.register()]
  await connectHosted(service, { app, user: old, external_user_id: 'seat' })
  const confirmed = await exchange(await consent(young, 'seat'), { external_user_id: 'seat' })
  assert.equal(confirmed.statusCode, 200, confirmed.body)
  await assertPays('seat', young, [old])
  assert.deepEqual(await eventsOf(old), ['user.connected', 'user.disconnected'])
})

test('the same account links again without confirmation, and so does whoever follows an ended link', async () => {
  const [first, next] = [await service.register(), await service.register()]
  await connectHosted(service, { app, user: first, external_user_id: 'again' })
  assert.equal((await exchange(await consent(first, 'again'))).statusCode, 200)
  await assertPays('again', first, [next])
  const url = `/account/connections/${app.client_id}`
  await service.request({ method: 'DELETE', url, headers: first.bearer })
  assert.equal((await exchange(await consent(next, 'again'))).statusCode, 200)
  await assertPays('again', next, [first])
})

test('the link of an account that is gone keeps nobody out', async () => {
  const [gone, next] = [await service.register(), await service.register()]
  await connectHosted(service, { app, user: gone, external_user_id: 'empty' })
  await sql(service.database_url, 'delete from account where id = $1', [gone.user_id])
  assert.equal((await exchange(await consent(next, 'empty'))).statusCode, 200)
  await assertPays('empty', next, [])
})

test('a name beside a code that has none is refused: the request was not hosted', async () => {
  const user = await service.register()
  const plain = await obtainCode(service, { app, user })
  const reply = await exchange(plain, { external_user_id: 'alice' })
  assert.deepEqual([reply.statusCode, reply.json().error], [400, 'invalid_grant'])
  assert.equal((await exchange(plain)).statusCode, 200)
})

test('an app that requires the confirmation links nobody without it', async () => {
  const strict = await createOAuthApp(service, developer, { require_external_user_id: true })
  const url = `/developers/apps/${strict.id}`
  const read = async () => (await service.request({ url, headers: developer.bearer })).json()
  assert.equal((await read()).require_external_user_id, true)
  const user = await service.register()
  const code = await consent(user, 'first-time', strict)
  const silent = await exchange(code, {}, strict)
  assert.deepEqual([silent.statusCode, silent.json().error], [400, 'invalid_grant'])
  assert.match(silent.json().error_description, /Send external_user_id/)
  assert.equal((await ask('first-time')).statusCode, 404)
  const confirmed = await exchange(code, { external_user_id: 'first-time' }, strict)
  assert.equal(confirmed.statusCode, 200, confirmed.body)
  // Only links are confirmed: an app that keeps its own tokens names nobody.
  const plain = await obtainCode(service, { app: strict, user })
  assert.equal((await exchange(plain, {}, strict)).statusCode, 200)

  const change = await service.request({
    method: 'PATCH',
    url,
    headers: { ...developer.bearer, 'content-type': 'application/json' },
    payload: '{"require_external_user_id":false}',
  })
  assert.equal(change.json().require_external_user_id, false)
  const other = await service.register()
  assert.equal((await exchange(await consent(other, 'lax', strict), {}, strict)).statusCode, 200)
  const default_app = await service.request({
    url: `/developers/apps/${app.id}`,
    headers: developer.bearer,
  })
  assert.equal(default_app.json().require_external_user_id, false)
})
