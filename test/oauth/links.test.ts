// Users under the developer's own names: who can bill whom, and from when.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import {
  connect,
  connectHosted,
  createOAuthApp,
  obtainCode,
  type Person,
  postToken,
} from '../support/oauth.ts'

const service = await createApp()
const developer = await service.register()
const app = await createOAuthApp(service, developer, { name: 'First' })
const second_app = await createOAuthApp(service, developer, { name: 'Second' })
const { key } = await service.createKey(developer.bearer)

const chat = (headers: Record<string, string>) =>
  service.post(
    '/v1/chat/completions',
    { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] },
    headers,
  )
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const named = (external_user_id: string, of = key) => ({
  'x-api-key': of,
  'x-svc-user': external_user_id,
})

async function balanceOf(person: Person): Promise<number> {
  const reply = await service.request({ url: '/auth/me', headers: person.bearer })
  return reply.json().balance
}

/** Who pays, seen from the wallets. */
async function payerOf(headers: Record<string, string>, people: Record<string, Person>) {
  const before = new Map<string, number>()
  for (const [name, person] of Object.entries(people)) before.set(name, await balanceOf(person))
  const reply = await chat(headers)
  assert.equal(reply.statusCode, 200, reply.body)
  const paid: string[] = []
  for (const [name, person] of Object.entries(people)) {
    if ((await balanceOf(person)) !== before.get(name)) paid.push(name)
  }
  return paid.join()
}

async function eventsOf(...people: Person[]): Promise<string[]> {
  const rows = await sql<{ kind: string; wallet_id: string; client_id: string }>(
    service.database_url,
    `select kind, wallet_id, payload ->> 'client_id' as client_id from outbox
     where wallet_id = any ($1) and kind::text like 'user.%' order by id`,
    [people.map((person) => person.user_id)],
  )
  return rows.map((row) => {
    const who = people.findIndex((person) => person.user_id === row.wallet_id)
    return `${row.kind.slice('user.'.length)} ${who} ${row.client_id === app.client_id ? 1 : 2}`
  })
}

test('O29: consent alone bills nobody: without the exchange there is no link', async () => {
  const victim = await service.register()
  const parameters = { storage_mode: 'hosted', external_user_id: 'mallory' }
  const { code, code_verifier } = await obtainCode(service, { app, user: victim, parameters })
  for (let i = 0; i < 2; i++) {
    const reply = await chat(named('mallory'))
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'user_not_found'])
  }
  // Mallory began the walk, but the code is bound to the verifier that the app kept for its own browser.
  const stolen = { grant_type: 'authorization_code', code, code_verifier: 'm'.repeat(43) }
  assert.equal((await postToken(service, app, stolen)).json().error, 'invalid_grant')
  service.clock.advance(61_000)
  const late = { ...stolen, code_verifier }
  assert.equal((await postToken(service, app, late)).json().error, 'invalid_grant')
  assert.equal((await chat(named('mallory'))).statusCode, 404)
  assert.equal(await balanceOf(victim), 1_000_000)
  assert.deepEqual(await eventsOf(victim), [])
  const list = await service.request({ url: '/account/connections', headers: victim.bearer })
  assert.deepEqual(list.json().data, [])
})

test('O30: an id that is linked is taken over by an exchange that confirms it only, with two events', async () => {
  const [old, young] = [await service.register(), await service.register()]
  const people = { old, young }
  const first = await connectHosted(service, { app, user: old, external_user_id: 'seat' })
  assert.equal(await payerOf(named('seat'), people), 'old')

  const parameters = { storage_mode: 'hosted', external_user_id: 'seat' }
  const { code, code_verifier } = await obtainCode(service, { app, user: young, parameters })
  assert.equal(await payerOf(named('seat'), people), 'old')
  assert.deepEqual(await eventsOf(old, young), ['connected 0 1'])

  const exchange = { grant_type: 'authorization_code', code, code_verifier }
  assert.equal((await postToken(service, app, exchange)).json().error, 'invalid_grant')
  assert.equal(await payerOf(named('seat'), people), 'old')
  const confirmed = { ...exchange, external_user_id: 'seat' }
  assert.equal((await postToken(service, app, confirmed)).statusCode, 200)
  assert.equal(await payerOf(named('seat'), people), 'young')
  assert.equal((await chat(bearer(first.access_token))).json().error.code, 'invalid_token')
  assert.deepEqual(await eventsOf(old, young), [
    'connected 0 1',
    'disconnected 0 1',
    'connected 1 1',
  ])
})

test('O30: through another app of the developer the newest link counts, after its exchange', async () => {
  const [old, young] = [await service.register(), await service.register()]
  const people = { old, young }
  const [bound_first, bound_second] = [
    await service.createKey(developer.bearer, { client_id: app.client_id }),
    await service.createKey(developer.bearer, { client_id: second_app.client_id }),
  ]
  await connectHosted(service, { app, user: old, external_user_id: 'desk' })
  service.clock.advance(1_000)
  assert.equal((await chat(named('desk', bound_second.key))).statusCode, 404)

  const parameters = { storage_mode: 'hosted', external_user_id: 'desk' }
  const asked = { app: second_app, user: young, parameters }
  const { code, code_verifier } = await obtainCode(service, asked)
  assert.equal(await payerOf(named('desk'), people), 'old')
  const external_user_id = 'desk'
  const exchange = { grant_type: 'authorization_code', code, code_verifier, external_user_id }
  assert.equal((await postToken(service, second_app, exchange)).statusCode, 200)

  assert.equal(await payerOf(named('desk'), people), 'young')
  assert.equal(await payerOf(named('desk', bound_first.key), people), 'old')
  assert.equal(await payerOf(named('desk', bound_second.key), people), 'young')
  assert.deepEqual(await eventsOf(old, young), ['connected 0 1', 'connected 1 2'])

  // The newer one leaves, and the older is found again.
  const url = `/account/connections/${second_app.client_id}`
  await service.request({ method: 'DELETE', url, headers: young.bearer })
  assert.equal(await payerOf(named('desk'), people), 'old')
})

test('a user who connects twice is connected once, and gone with the last of both', async () => {
  const user = await service.register()
  const own = { client_id: app.client_id, client_secret: app.client_secret }
  const [one, two] = [await connect(service, { app, user }), await connect(service, { app, user })]
  assert.deepEqual(await eventsOf(user), ['connected 0 1'])
  for (const { refresh_token } of [one, two]) {
    await service.request({
      method: 'POST',
      url: '/oauth/revoke',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams({ token: refresh_token, ...own }).toString(),
    })
  }
  assert.deepEqual(await eventsOf(user), ['connected 0 1', 'disconnected 0 1'])
})

test('K10: another developer’s user is not found, and a token needs no name beside it', async () => {
  const [stranger, user] = [await service.register(), await service.register()]
  const { access_token } = await connectHosted(service, { app, user, external_user_id: 'mine' })
  for (const billing_mode of ['developer', 'user']) {
    const foreign = await service.createKey(stranger.bearer, { billing_mode })
    const reply = await chat(named('mine', foreign.key))
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'user_not_found'])
  }
  for (const name of ['x-svc-user', 'x-external-user-id']) {
    const reply = await chat({ ...bearer(access_token), [name]: 'mine' })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
  }
  assert.equal(await balanceOf(user), 1_000_000)
})

test('K9: a key acts with tokens of its own developer’s apps, bound keys with those of their app', async () => {
  const user = await service.register()
  const { access_token } = await connect(service, { app, user })
  const stranger = await service.register()
  const foreign = await service.createKey(stranger.bearer, { billing_mode: 'user' })
  const wanted = { billing_mode: 'user', client_id: second_app.client_id }
  const bound = await service.createKey(developer.bearer, wanted)
  for (const one of [foreign.key, bound.key]) {
    const reply = await chat({ 'x-api-key': one, ...bearer(access_token) })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [401, 'invalid_token'])
  }
  const other_app = { name: 'x', billing_mode: 'user', client_id: app.client_id }
  const stolen = await service.post('/developers/keys', other_app, stranger.bearer)
  assert.ok(stolen.statusCode === 400 || stolen.statusCode === 404, stolen.body)
})

test('O27: without the scope a token or a link gives nothing, and the answer names the scope', async () => {
  const user = await service.register()
  const reader = await connectHosted(service, {
    app,
    user,
    external_user_id: 'reader',
    parameters: { scope: 'credits.read' },
  })
  const spender = await connect(service, { app, user, parameters: { scope: 'credits.spend' } })
  const balance = (headers: Record<string, string>) =>
    service.request({ url: '/v1/balance', headers })
  const user_key = await service.createKey(developer.bearer, { billing_mode: 'user' })
  for (const [reply, scope] of [
    [await chat(bearer(reader.access_token)), 'credits.spend'],
    [await chat(named('reader')), 'credits.spend'],
    [await chat({ 'x-api-key': user_key.key, ...bearer(reader.access_token) }), 'credits.spend'],
    [await balance(bearer(spender.access_token)), 'credits.read'],
  ] as const) {
    assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'insufficient_scope'])
    const challenge = String(reply.headers['www-authenticate'])
    assert.match(challenge, new RegExp(`^Bearer error="insufficient_scope", scope="${scope}"$`))
  }
  assert.equal((await balance(bearer(reader.access_token))).statusCode, 200)
  assert.equal((await chat(bearer(spender.access_token))).statusCode, 200)
  const info = await service.request({
    url: '/oauth/userinfo',
    headers: bearer(spender.access_token),
  })
  assert.equal(info.json().balance, undefined)
})

test('O28: the token of an account that is gone leads to no user, whoever asks', async () => {
  const user = await service.register()
  const { access_token } = await connectHosted(service, { app, user, external_user_id: 'gone' })
  // Accounts are deleted by the operator, in the database.
  await sql(service.database_url, 'delete from account where id = $1', [user.user_id])
  const asked = { url: '/oauth/userinfo', headers: bearer(access_token) }
  for (const reply of [
    await service.request(asked),
    await service.request({ ...asked, url: '/v1/balance' }),
    await chat(bearer(access_token)),
    await chat(named('gone')),
  ]) {
    assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'user_not_found'])
  }
  // It is counted like any other, and what is open to everybody is open to it.
  const models = { url: '/v1/models', headers: bearer(access_token) }
  const [first, second] = [await service.request(models), await service.request(models)]
  assert.deepEqual([first.statusCode, second.statusCode], [200, 200])
  const remaining = (reply: typeof first) => Number(reply.headers['x-ratelimit-remaining'])
  assert.equal(remaining(first) - remaining(second), 1)
})
