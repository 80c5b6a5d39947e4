import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from 'pg'
import { createApp, PASSWORD } from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

test('a hash verifies its own password only, and two hashes of one password differ', async () => {
  const [first, second] = [await hashPassword('pässword ☃'), await hashPassword('pässword ☃')]
  assert.notEqual(first, second)
  assert.equal(await verifyPassword('pässword ☃', first), true)
  assert.equal(await verifyPassword('pässword ☃ ', first), false)
  assert.equal(await verifyPassword('anything', undefined), false)
})

test('the whole password counts: nothing is cut off after 72 bytes', async () => {
  const stored = await hashPassword(`${'a'.repeat(100)}1`)
  assert.equal(await verifyPassword(`${'a'.repeat(100)}2`, stored), false)
})

test('past the queue, hashing is refused with 429 instead of piling up', async () => {
  const outcomes = await Promise.allSettled(
    Array.from({ length: 80 }, () => verifyPassword('x', undefined)),
  )
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  assert.ok(refused.length > 0 && refused.length < 80)
  for (const { reason } of refused) {
    assert.equal(reason.code, 'rate_limit_exceeded')
    assert.ok(reason.headers['retry-after'])
  }
})

describe('changing the password', async () => {
  const service = await createApp({ settings: { PASSWORD_LIMIT_PER_15_MINUTES: '5' } })
  const change = (
    headers: Record<string, string>,
    current_password: string,
    new_password: string,
  ) => service.post('/auth/change-password', { current_password, new_password }, headers)

  test('sets the new one, keeps this session and ends every other', async () => {
    const { email, bearer } = await service.register()
    const other = await service.post('/auth/login', { email, password: PASSWORD })
    const other_bearer = { authorization: `Bearer ${other.json().session_token}` }
    assert.equal(
      (await service.request({ url: '/auth/me', headers: other_bearer })).statusCode,
      200,
    )
    const reply = await change(bearer, PASSWORD, 'another good one')
    assert.deepEqual([reply.statusCode, reply.json()], [200, { success: true }])
    assert.equal((await service.request({ url: '/auth/me', headers: bearer })).statusCode, 200)
    assert.equal(
      (await service.request({ url: '/auth/me', headers: other_bearer })).statusCode,
      401,
    )
    assert.equal((await service.post('/auth/login', { email, password: PASSWORD })).statusCode, 401)
    const again = await service.post('/auth/login', { email, password: 'another good one' })
    assert.equal(again.statusCode, 200)
  })

  test('a wrong current password is invalid_credentials, a short new one weak_password', async () => {
    const { bearer } = await service.register()
    const wrong = await change(bearer, 'not my password', 'another good one')
    assert.deepEqual([wrong.statusCode, wrong.json().error.code], [401, 'invalid_credentials'])
    const short = await change(bearer, PASSWORD, 'short')
    assert.deepEqual([short.statusCode, short.json().error.code], [400, 'weak_password'])
  })

  test('wrong attempts use up slots: the sixth in 15 minutes is rate_limited, even if right', async () => {
    const { bearer } = await service.register()
    for (let i = 0; i < 5; i++)
      assert.equal((await change(bearer, 'wrong', 'whatever it is')).statusCode, 401)
    const sixth = await change(bearer, PASSWORD, 'another good one')
    assert.deepEqual([sixth.statusCode, sixth.json().error.code], [429, 'rate_limited'])
    assert.ok(Number(sixth.headers['retry-after']) > 0)
    const other = await service.register()
    assert.equal((await change(other.bearer, PASSWORD, 'another good one')).statusCode, 200)
  })

  test('a login that verified the old password while it was being changed opens no session', async () => {
    const { email, bearer, user_id } = await service.register()
    // Holds the account's row, so that the login stands between its check and its session.
    const blocker = new Client({ connectionString: service.database_url })
    await blocker.connect()
    await blocker.query('begin')
    await blocker.query('select 1 from account where id = $1 for update', [user_id])
    const login = service.post('/auth/login', { email, password: PASSWORD })
    const waiting =
      "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    await eventually(
      'the login waits',
      async () => (await sql(service.database_url, waiting)).length > 0,
    )
    await blocker.query('update account set password_hash = $1 where id = $2', [
      await hashPassword('another good one'),
      user_id,
    ])
    await blocker.query('commit')
    await blocker.end()
    const reply = await login
    assert.deepEqual([reply.statusCode, reply.json().error.code], [401, 'invalid_credentials'])
    assert.equal((await service.request({ url: '/auth/me', headers: bearer })).statusCode, 200)
  })
})
