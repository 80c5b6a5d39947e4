// Somebody gives their account up, and may come back for thirty days.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { deleteClosed } from '../../src/accounts/closing/closing.ts'
import { accessEnder } from '../../src/end-access.ts'
import { readOpenEarnings } from '../../src/open-earnings.ts'
import { checkLedger } from '../../src/wallet/check.ts'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { connect, connectHosted, createOAuthApp, type Person } from '../support/oauth.ts'

const DAY_MS = 24 * 60 * 60_000
const service = await createApp()
const { database_url } = service

const leave = (person: Person) =>
  service.request({ method: 'DELETE', url: '/account', headers: person.bearer })
const login = (email: string) => service.post('/auth/login', { email, password: PASSWORD })
const restore = (email: string, password = PASSWORD) =>
  service.post('/account/restore', { email, password })

async function runDeletion({ parts }: Pick<TestApp, 'parts'>): Promise<void> {
  const wanted = { ...parts, readOpenEarnings, endAccess: accessEnder(parts) }
  await deleteClosed(wanted, new AbortController().signal)
}

const count = async (query: string, id: string) => (await sql(database_url, query, [id])).length

describe('an account that its owner gives up', () => {
  test('ends sessions, keys and consents at once, names what is left, and tells the apps', async () => {
    const [person, developer] = [await service.register(), await service.register()]
    const app = await createOAuthApp(service, developer)
    const own_app = await createOAuthApp(service, person)
    const { key } = await service.createKey(person.bearer)
    const { access_token } = await connect(service, { app, user: person })
    const reply = await leave(person)
    assert.equal(reply.statusCode, 200)
    const closes_at = new Date(service.clock.now().getTime() + 30 * DAY_MS)
    assert.deepEqual(reply.json(), {
      closes_at: closes_at.toISOString(),
      balance_credits: 1_000_000,
      earnings: {
        open_credits: 0,
        in_flight_credits: 0,
        not_payable_credits: 0,
        has_payout_account: false,
      },
    })
    const uses = [person.bearer, { 'x-api-key': key }, { authorization: `Bearer ${access_token}` }]
    for (const [index, headers] of uses.entries()) {
      const url = index === 0 ? '/auth/me' : '/v1/balance'
      assert.equal((await service.request({ url, headers })).statusCode, 401)
    }
    const told = `select 1 from outbox where kind = 'user.disconnected' and payload ->> 'user_id' = $1`
    assert.equal(await count(told, person.user_id), 1)
    assert.equal(await count('select 1 from app where id = $1', own_app.id), 1)
  })

  test('is not kept by signing in, but by saying so, and then signs in as before', async () => {
    const person = await service.register()
    await leave(person)
    const refused = await login(person.email)
    assert.deepEqual([refused.statusCode, refused.json().error.code], [403, 'forbidden'])
    assert.match(refused.json().error.message, /to be deleted on/)
    assert.equal((await restore(person.email, 'not the password')).statusCode, 401)
    assert.deepEqual((await restore(person.email)).json(), { success: true })
    assert.equal((await login(person.email)).statusCode, 200)
    service.clock.advance(31 * DAY_MS)
    await runDeletion(service)
    assert.equal(await count('select 1 from account where id = $1', person.user_id), 1)
  })

  test('needs a proof of the last quarter of an hour', async () => {
    const person = await service.register()
    service.clock.advance(16 * 60_000)
    assert.equal((await leave(person)).statusCode, 403)
    assert.equal((await login(person.email)).statusCode, 200)
  })
})

describe('after thirty days', () => {
  test('the account and all that belongs to it is gone, its credits are forfeited, and the books hold', async () => {
    const [person, user] = [await service.register(), await service.register()]
    const app = await createOAuthApp(service, person)
    const key = await service.createKey(person.bearer, { billing_mode: 'user' })
    await connectHosted(service, { app, user, external_user_id: 'ada' })
    await leave(person)
    service.clock.advance(30 * DAY_MS - 1)
    await runDeletion(service)
    assert.equal(await count('select 1 from account where id = $1', person.user_id), 1)
    service.clock.advance(1)
    await Promise.all([runDeletion(service), runDeletion(service)])
    for (const query of [
      'select 1 from account where id = $1',
      'select 1 from session where account_id = $1',
      'select 1 from api_key where account_id = $1',
      'select 1 from app where developer_id = $1',
      'select 1 from hosted_link where developer_id = $1',
      'select 1 from security_event where account_id = $1',
      'select 1 from mail_outbox where account_id = $1',
      'select 1 from wallet where id = $1 and posted <> 0',
    ]) {
      assert.equal(await count(query, person.user_id), 0, query)
    }
    const forfeited = await sql<{ amount: string }>(
      database_url,
      `select amount::text from journal where account = 'forfeited' and owner = $1`,
      [person.user_id],
    )
    assert.deepEqual(forfeited, [{ amount: '1000000' }])
    const used = await service.request({ url: '/v1/key', headers: { 'x-api-key': key.key } })
    assert.equal(used.statusCode, 401)
    assert.equal((await login(person.email)).statusCode, 401)
    // The address is free again.
    await service.register(person.email)
    const report = await checkLedger(service.parts.db)
    assert.deepEqual(
      report.proofs.filter((proof) => proof.differences > 0),
      [],
    )
  })

  test('a wallet with an open hold is left for the next run, and holds up nobody', async () => {
    const [busy, idle] = [await service.register(), await service.register()]
    await leave(busy)
    await leave(idle)
    service.clock.advance(30 * DAY_MS)
    const set = 'update wallet set held = $2 where id = $1'
    await sql(database_url, set, [busy.user_id, 10])
    await runDeletion(service)
    assert.equal(await count('select 1 from account where id = $1', busy.user_id), 1)
    assert.equal(await count('select 1 from account where id = $1', idle.user_id), 0)
    await sql(database_url, set, [busy.user_id, 0])
    await runDeletion(service)
    assert.equal(await count('select 1 from account where id = $1', busy.user_id), 0)
  })

  test('a payout that is under way is waited for', async () => {
    const person = await service.register()
    await leave(person)
    service.clock.advance(30 * DAY_MS)
    const { parts } = service
    let in_flight_credits = 5n
    const wanted = {
      ...parts,
      endAccess: accessEnder(parts),
      readOpenEarnings: async (...given: Parameters<typeof readOpenEarnings>) => ({
        ...(await readOpenEarnings(...given)),
        ...(given[1] === person.user_id && { in_flight_credits }),
      }),
    }
    const { signal } = new AbortController()
    await deleteClosed(wanted, signal)
    assert.equal(await count('select 1 from account where id = $1', person.user_id), 1)
    in_flight_credits = 0n
    await deleteClosed(wanted, signal)
    assert.equal(await count('select 1 from account where id = $1', person.user_id), 0)
  })
})
