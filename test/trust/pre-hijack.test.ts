// Somebody registers an address that is not theirs, leaves keys, apps and connections behind, and waits for its owner.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createApp, PASSWORD } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { resetPassword, verifyAddress } from '../support/mails.ts'
import {
  connect,
  connectHosted,
  createOAuthApp,
  obtainCode,
  type Person,
  postToken,
} from '../support/oauth.ts'

const service = await createApp()
const other = await createApp({ database_url: service.database_url })

const NEW_PASSWORD = 'the owner’s own words'

const status = async (url: string, headers: Record<string, string>, process = service) =>
  (await process.request({ url, headers })).statusCode

const balanceOf = async (account_id: string) =>
  (
    await sql<{ posted: string }>(
      service.database_url,
      'select posted::text from wallet where id = $1',
      [account_id],
    )
  )[0]?.posted

/** Every way in that somebody with a session can leave behind. */
async function layTraps(owner: Person) {
  const accomplice = await service.register()
  const foreign_app = await createOAuthApp(service, accomplice)
  const accomplice_key = await service.createKey(accomplice.bearer, { billing_mode: 'user' })
  const own_app = await createOAuthApp(service, owner)
  const key = await service.createKey(owner.bearer)
  const bound_key = await service.createKey(owner.bearer, {
    billing_mode: 'user',
    client_id: own_app.client_id,
  })
  const tokens = await connect(service, { app: foreign_app, user: owner })
  await connectHosted(service, { app: foreign_app, user: owner, external_user_id: 'mallory' })
  const pending = await obtainCode(service, { app: foreign_app, user: owner })
  const own_tokens = await connect(service, { app: own_app, user: owner })
  const second = await service.post('/auth/login', { email: owner.email, password: PASSWORD })
  return {
    accomplice,
    foreign_app,
    own_app,
    pending,
    refresh_token: tokens.refresh_token,
    ways: {
      session: ['/auth/me', owner.bearer],
      second_session: ['/auth/me', { authorization: `Bearer ${second.json().session_token}` }],
      key: ['/v1/balance', { 'x-api-key': key.key }],
      bound_key: ['/v1/key', { 'x-api-key': bound_key.key }],
      token: ['/v1/balance', { authorization: `Bearer ${tokens.access_token}` }],
      token_of_own_app: ['/v1/balance', { authorization: `Bearer ${own_tokens.access_token}` }],
      hosted_link: ['/v1/users/mallory/balance', { 'x-api-key': accomplice_key.key }],
    } satisfies Record<string, [string, Record<string, string>]>,
  }
}

type Traps = Awaited<ReturnType<typeof layTraps>>

async function opened(traps: Traps, process = service): Promise<string[]> {
  const open: string[] = []
  for (const [name, [url, headers]] of Object.entries(traps.ways)) {
    if ((await status(url, headers, process)) === 200) open.push(name)
  }
  return open
}

async function exchanged(traps: Traps): Promise<string[]> {
  const { foreign_app, pending, refresh_token } = traps
  const refreshed = await postToken(service, foreign_app, {
    grant_type: 'refresh_token',
    refresh_token,
  })
  const { code, code_verifier } = pending
  const coded = await postToken(service, foreign_app, {
    grant_type: 'authorization_code',
    code,
    code_verifier,
  })
  return [refreshed, coded].map((reply) => (reply.statusCode === 200 ? 'good' : reply.json().error))
}

describe('an address that somebody else registered', () => {
  test('a reset by its owner ends everything that was made before, on every process, and keeps the balance', async () => {
    const victim = await service.register()
    const traps = await layTraps(victim)
    assert.deepEqual(await opened(traps), Object.keys(traps.ways))
    assert.deepEqual(await opened(traps, other), Object.keys(traps.ways))
    const balance = await balanceOf(victim.user_id)

    assert.deepEqual(
      (await resetPassword(service, victim.email, { keep_connections: true })).json(),
      {
        success: true,
      },
    )
    assert.deepEqual(await opened(traps), [])
    const began_at = performance.now()
    while ((await opened(traps, other)).length > 0) {
      assert.ok(performance.now() - began_at < 5000, 'the other process still serves them')
    }
    assert.deepEqual(await exchanged(traps), ['invalid_grant', 'invalid_grant'])
    assert.equal(await balanceOf(victim.user_id), balance)
    const apps = await sql(service.database_url, 'select 1 from app where developer_id = $1', [
      victim.user_id,
    ])
    assert.equal(apps.length, 0)
    const login = await service.post('/auth/login', { email: victim.email, password: NEW_PASSWORD })
    const bearer = { authorization: `Bearer ${login.json().session_token}` }
    assert.deepEqual((await service.post('/auth/send-verification', {}, bearer)).json(), {
      success: true,
      already_verified: true,
    })
  })

  test('apps are told that the user is gone', async () => {
    const victim = await service.register()
    await layTraps(victim)
    await resetPassword(service, victim.email)
    const events = await sql(
      service.database_url,
      `select 1 from outbox where kind = 'user.disconnected' and payload ->> 'user_id' = $1`,
      [victim.user_id],
    )
    assert.ok(events.length >= 1)
  })

  test('the reset is in the security log, and that it confirmed the address', async () => {
    const victim = await service.register()
    await resetPassword(service, victim.email)
    const kinds = await sql<{ kind: string }>(
      service.database_url,
      'select kind from security_event where account_id = $1 order by id',
      [victim.user_id],
    )
    const names = kinds.map((row) => row.kind)
    assert.ok(names.includes('password_reset') && names.includes('email_verified'))
  })
})

test('a request that was begun before the reset, and is finished after it, makes no key', async () => {
  const victim = await service.register()
  const base = await service.app.listen({ port: 0, host: '127.0.0.1' })
  const body = JSON.stringify({ name: 'late', billing_mode: 'developer' })
  const held = request(`${base}/developers/keys`, {
    method: 'POST',
    headers: {
      ...victim.bearer,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  const answered = once(held, 'response')
  held.write(body.slice(0, 5))
  // Long enough for the head of the request to be judged; if it was not, the test proves less and fails never.
  await wait(300)
  await resetPassword(service, victim.email)
  held.end(body.slice(5))
  const [reply] = await answered
  assert.equal(reply.statusCode, 401)
  const keys = await sql(service.database_url, 'select 1 from api_key where account_id = $1', [
    victim.user_id,
  ])
  assert.equal(keys.length, 0)
})

describe('a verified address', () => {
  test('a reset ends keys, consents and sessions, and keeps the apps that its owner made', async () => {
    const owner = await service.register()
    await verifyAddress(service, owner)
    const traps = await layTraps(owner)
    assert.equal((await resetPassword(service, owner.email)).statusCode, 200)
    assert.deepEqual(await opened(traps), [])
    assert.deepEqual(await exchanged(traps), ['invalid_grant', 'invalid_grant'])
    const apps = await sql(service.database_url, 'select 1 from app where developer_id = $1', [
      owner.user_id,
    ])
    assert.equal(apps.length, 1)
  })

  test('who wishes to keep keys and connections keeps them; sessions end all the same', async () => {
    const owner = await service.register()
    await verifyAddress(service, owner)
    const traps = await layTraps(owner)
    await resetPassword(service, owner.email, { keep_connections: true })
    assert.deepEqual(await opened(traps), [
      'key',
      'bound_key',
      'token',
      'token_of_own_app',
      'hosted_link',
    ])
    assert.deepEqual(await exchanged(traps), ['good', 'good'])
  })
})
