import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'
import { linkUser } from '../../test/support/links.ts'

const service = await createApp({ settings: { WELCOME_CREDITS: '1000' } })
let keys = 0

async function pair() {
  const [developer, user] = [await service.register(), await service.register()]
  const external_user_id = `u-${user.user_id}`
  await linkUser(service, { developer, user, external_user_id })
  const { key } = await service.createKey(developer.bearer)
  const fund = (body: object, idempotency_key: string | null = `key-${++keys}`) =>
    service.post('/v1/funding/credit', body, {
      'x-api-key': key,
      ...(idempotency_key !== null && { 'idempotency-key': idempotency_key }),
    })
  const balances = async () =>
    await Promise.all(
      [developer, user].map(async ({ bearer }) =>
        Number((await service.request({ url: '/auth/me', headers: bearer })).json().balance),
      ),
    )
  return { developer, user, external_user_id, fund, balances, key }
}

test('credits move from the developer to the linked user, and both see it in their statement', async () => {
  const { developer, user, external_user_id, fund, balances } = await pair()
  const reply = await fund({ amount: 300, external_user_id, description: 'a gift' })
  assert.equal(reply.statusCode, 200)
  const { id, created_at, ...rest } = reply.json()
  assert.deepEqual(rest, {
    amount: 300,
    user_id: user.user_id,
    external_user_id,
    developer_balance: 700,
    user_balance: 1300,
  })
  assert.match(id, /^[0-9a-f-]{36}$/)
  assert.equal(created_at, service.clock.now().toISOString())
  assert.deepEqual(await balances(), [700, 1300])
  const statement = async (bearer: Record<string, string>) =>
    (await service.request({ url: '/account/transactions', headers: bearer })).json().data[0]
  const [out, into] = [await statement(developer.bearer), await statement(user.bearer)]
  assert.deepEqual(
    [out.kind, out.amount, out.balance_before, out.balance_after],
    ['transfer_out', -300, 1000, 700],
  )
  assert.deepEqual(
    [into.kind, into.amount, into.balance_before, into.balance_after],
    ['transfer_in', 300, 1000, 1300],
  )
  assert.deepEqual([out.description, into.description], ['a gift', 'a gift'])
})

test('the user may be named by our id instead, and by exactly one of the two', async () => {
  const { user, external_user_id, fund, balances } = await pair()
  assert.equal((await fund({ amount: 1, user_id: user.user_id })).statusCode, 200)
  for (const body of [{ amount: 1 }, { amount: 1, user_id: user.user_id, external_user_id }]) {
    const reply = await fund(body)
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
  }
  assert.deepEqual(await balances(), [999, 1001])
})

test('fifty identical requests at once move the credits once and get equal answers', async () => {
  const { external_user_id, fund, balances } = await pair()
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => fund({ amount: 10, external_user_id }, 'same')),
  )
  assert.deepEqual([...new Set(replies.map((reply) => reply.statusCode))], [200])
  assert.equal(new Set(replies.map((reply) => reply.body)).size, 1)
  const replayed = replies.filter((reply) => reply.headers['idempotent-replayed'] === 'true')
  assert.equal(replayed.length, 49)
  assert.deepEqual(await balances(), [990, 1010])
})

test('the same key with another body is 400 and moves nothing; another developer’s same key is their own', async () => {
  const [one, two] = [await pair(), await pair()]
  await one.fund({ amount: 10, external_user_id: one.external_user_id }, 'shared')
  const reply = await one.fund({ amount: 11, external_user_id: one.external_user_id }, 'shared')
  assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'])
  assert.deepEqual(await one.balances(), [990, 1010])
  const other = await two.fund({ amount: 5, external_user_id: two.external_user_id }, 'shared')
  assert.equal(other.statusCode, 200)
  assert.deepEqual(await two.balances(), [995, 1005])
})

test('a 402 is not remembered: after a top-up the same key works', async () => {
  const { developer, external_user_id, fund, balances } = await pair()
  const first = await fund({ amount: 1001, external_user_id }, 'retry')
  assert.deepEqual([first.statusCode, first.json().error.code], [402, 'insufficient_credits'])
  assert.deepEqual(await balances(), [1000, 1000])
  const rich = await pair()
  await linkUser(service, { developer: rich.developer, user: developer, external_user_id: 'dev' })
  assert.equal((await rich.fund({ amount: 1, external_user_id: 'dev' })).statusCode, 200)
  assert.equal((await fund({ amount: 1001, external_user_id }, 'retry')).statusCode, 200)
  assert.deepEqual(await balances(), [0, 2001])
})

test('amounts that are no amount are 400 and move nothing', async () => {
  const { external_user_id, fund, balances } = await pair()
  for (const amount of [0, -1, 1.5, '5', null, 2 ** 53, 1e300, true, [1], undefined]) {
    const reply = await fund({ amount, external_user_id })
    assert.deepEqual(
      [reply.statusCode, reply.json().error.code],
      [400, 'bad_request'],
      String(amount),
    )
  }
  const largest = await fund({ amount: Number.MAX_SAFE_INTEGER, external_user_id })
  assert.equal(largest.json().error.code, 'insufficient_credits')
  assert.deepEqual(await balances(), [1000, 1000])
})

test('an unknown, unlinked or formerly linked user is 404 and nothing moves', async () => {
  const { developer, fund, balances } = await pair()
  const stranger = await service.register()
  await linkUser(service, { developer, user: stranger, external_user_id: 'ended', ended: true })
  for (const body of [
    { external_user_id: 'nobody' },
    { external_user_id: 'ended' },
    { user_id: stranger.user_id },
    { user_id: '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10' },
    { user_id: 'nonsense' },
  ]) {
    const reply = await fund({ amount: 1, ...body })
    assert.deepEqual(
      [reply.statusCode, reply.json().error.code],
      [404, 'user_not_found'],
      JSON.stringify(body),
    )
  }
  assert.deepEqual(await balances(), [1000, 1000])
  assert.equal(
    (await sql(service.database_url, 'select 1 from idempotency where status is null')).length,
    0,
  )
})

test('a missing or broken Idempotency-Key is 400', async () => {
  const { external_user_id, fund } = await pair()
  for (const key of [null, '', 'x'.repeat(256), 'tab\there']) {
    const reply = await fund({ amount: 1, external_user_id }, key)
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'bad_request'], String(key))
  }
})

test('nobody credits themselves', async () => {
  const { developer, fund } = await pair()
  await linkUser(service, { developer, user: developer, external_user_id: 'me' })
  assert.equal((await fund({ amount: 1, external_user_id: 'me' })).statusCode, 400)
})

test('funding has a limit of its own for each key', async () => {
  const tight = await createApp({ settings: { FUNDING_LIMIT_PER_MINUTE: '2' } })
  const { bearer } = await tight.register()
  const { key } = await tight.createKey(bearer)
  const codes: number[] = []
  for (let i = 0; i < 3; i++) {
    const reply = await tight.post(
      '/v1/funding/credit',
      { amount: 1, external_user_id: 'nobody' },
      { 'x-api-key': key, 'idempotency-key': `k${i}` },
    )
    codes.push(reply.statusCode)
  }
  assert.deepEqual(codes, [404, 404, 429])
})
