import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { KEY_ENDPOINTS } from '../../src/keys/restrictions.ts'
import { createApp, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const service = await createApp({
  settings: {
    RATE_LIMIT_PER_MINUTE: '1000',
    TRUST_PROXY: '127.0.0.0/8',
    STEP_UP: 'always',
  },
})
const other = await createApp({ database_url: service.database_url })
const HOUR_MS = 3_600_000

type Headers = Record<string, string>

const change = (bearer: Headers, id: string, payload: object) =>
  service.request({ method: 'PATCH', url: `/developers/keys/${id}`, headers: bearer, payload })
const rotate = (bearer: Headers, id: string, payload?: object) =>
  service.request({
    method: 'POST',
    url: `/developers/keys/${id}/rotate`,
    headers: bearer,
    ...(payload && { payload }),
  })
const describeKey = (key: string, at: TestApp = service) =>
  at.request({ url: '/v1/key', headers: { 'x-api-key': key } })
const use = async (key: string, at?: TestApp) => (await describeKey(key, at)).statusCode

const eventsOf = (account_id: string) =>
  sql<{ kind: string; ip: string | null; session_id: string | null; details: object }>(
    service.database_url,
    'select kind, ip, session_id, details from security_event where account_id = $1 order by id',
    [account_id],
  )
const keyEventsOf = async (account_id: string) =>
  (await eventsOf(account_id)).filter(({ kind }) => kind.startsWith('key_'))

async function newKey(more: object = {}) {
  const { bearer, user_id } = await service.register()
  const { key, id } = await service.createKey(bearer, more)
  return { bearer, user_id, key, id }
}

describe('changing a key', () => {
  test('sets what is given, clears what is null, and leaves the rest', async () => {
    const { bearer, id } = await newKey({ name: 'old', rate_limit_per_minute: 5 })
    const expires_at = new Date(service.clock.now().getTime() + HOUR_MS).toISOString()
    const wanted = {
      name: 'new',
      expires_at,
      spend_limit_credits: 500,
      spend_limit_period: 'day',
      allowed_endpoints: ['/v1/balance'],
      allowed_ips: ['203.0.113.7/24', '203.0.113.0/24', '2001:DB8::1'],
    }
    const changed = (await change(bearer, id, wanted)).json()
    assert.deepEqual(
      { ...changed, created_at: '', prefix: '', period_resets_at: '' },
      {
        ...wanted,
        id,
        billing_mode: 'developer',
        client_id: null,
        prefix: '',
        created_at: '',
        last_used_at: null,
        rate_limit_per_minute: 5,
        allowed_ips: ['203.0.113.0/24', '2001:db8::1/128'],
        previous_secret_until: null,
        spent_period_credits: 0,
        period_resets_at: '',
      },
    )
    const list = await service.request({ url: '/developers/keys', headers: bearer })
    assert.deepEqual(list.json().data, [changed])
    const cleared = (
      await change(bearer, id, {
        expires_at: null,
        rate_limit_per_minute: null,
        spend_limit_credits: null,
        allowed_endpoints: null,
        allowed_ips: null,
      })
    ).json()
    assert.equal(cleared.name, 'new')
    for (const name of ['expires_at', 'rate_limit_per_minute', 'spend_limit_credits']) {
      assert.equal(cleared[name], null, name)
    }
    for (const name of ['spend_limit_period', 'allowed_endpoints', 'allowed_ips']) {
      assert.equal(cleared[name], null, name)
    }
  })

  test('reaches this process at once and the others within a second', async () => {
    const { bearer, key, id } = await newKey({ name: 'before' })
    const nameAt = async (at: TestApp) => (await describeKey(key, at)).json().name
    assert.deepEqual([await nameAt(service), await nameAt(other)], ['before', 'before'])
    await change(bearer, id, { name: 'after' })
    assert.equal(await nameAt(service), 'after')
    await eventually(
      'the other process knows',
      async () => (await nameAt(other)) === 'after',
      1_000,
    )
  })

  test('a spend limit keeps its period when only the amount changes, and is never half a limit', async () => {
    const { bearer, id } = await newKey()
    const limits = async (body: object) => {
      const reply = await change(bearer, id, body)
      const { spend_limit_credits: credits, spend_limit_period: period } = reply.json()
      return [reply.statusCode, credits, period]
    }
    const refused = [400, undefined, undefined]
    assert.deepEqual(await limits({ spend_limit_credits: 5 }), refused)
    assert.deepEqual(await limits({ spend_limit_period: 'day' }), refused)
    assert.deepEqual(await limits({ spend_limit_credits: 5, spend_limit_period: null }), refused)
    assert.deepEqual(await limits({ spend_limit_credits: 5, spend_limit_period: 'day' }), [
      200,
      5,
      'day',
    ])
    assert.deepEqual(await limits({ spend_limit_credits: 6 }), [200, 6, 'day'])
    assert.deepEqual(await limits({ spend_limit_period: 'month' }), [200, 6, 'month'])
    assert.deepEqual(await limits({ spend_limit_period: null }), [200, null, null])
  })

  test('refuses what makes no sense, and changes nothing', async () => {
    const { bearer, user_id, id } = await newKey({ name: 'same' })
    for (const wrong of [
      {},
      { billing_mode: 'user' },
      { name: '' },
      { name: null },
      { expires_at: '2001-01-01T00:00:00Z' },
      { expires_at: '2030-12-31T23:59:60Z' },
      { rate_limit_per_minute: 1001 },
      { rate_limit_per_minute: 0 },
      { allowed_endpoints: [] },
      { allowed_endpoints: ['/v1/nothing'] },
      { allowed_endpoints: ['/v1/balance', '/v1/balance'] },
      { allowed_ips: [] },
      { allowed_ips: ['10.0.0.0/33'] },
      { allowed_ips: ['here'] },
      { allowed_ips: Array.from({ length: 51 }, (_, i) => `10.0.0.${i}`) },
    ]) {
      const reply = await change(bearer, id, wrong)
      assert.equal(reply.statusCode, 400, JSON.stringify(wrong))
      assert.equal(reply.json().error.code, 'bad_request')
    }
    const list = await service.request({ url: '/developers/keys', headers: bearer })
    assert.equal(list.json().data[0].name, 'same')
    assert.deepEqual((await keyEventsOf(user_id)).length, 1)
  })

  test('another’s key, a deleted one and an id that is none are 404, to change and to rotate', async () => {
    const [mine, theirs] = [await newKey(), await newKey()]
    await service.request({
      method: 'DELETE',
      url: `/developers/keys/${mine.id}`,
      headers: mine.bearer,
    })
    for (const id of [theirs.id, mine.id, 'nonsense', '%00']) {
      for (const reply of [
        await change(mine.bearer, id, { name: 'x' }),
        await rotate(mine.bearer, id),
      ]) {
        assert.deepEqual([reply.statusCode, reply.json().error.code], [404, 'not_found'], id)
      }
    }
    assert.equal((await describeKey(theirs.key)).json().name, 'test')
  })

  test('a key cannot change or rotate itself', async () => {
    const { key, id } = await newKey()
    const headers = { 'x-api-key': key }
    for (const reply of [await change(headers, id, { name: 'x' }), await rotate(headers, id)]) {
      assert.equal(reply.statusCode, 401)
    }
  })
})

describe('rotating a key', () => {
  test('without an overlap ends the old secret at once, on every process, and keeps the key', async () => {
    const more = { name: 'n', rate_limit_per_minute: 900, allowed_ips: ['127.0.0.1'] }
    const { bearer, key, id } = await newKey(more)
    assert.equal(await use(key, other), 200)
    const reply = await rotate(bearer, id)
    assert.equal(reply.statusCode, 200)
    const rotated = reply.json()
    assert.match(rotated.key, /^sk-svc-[0-9A-Za-z]{32}$/)
    assert.notEqual(rotated.key, key)
    assert.deepEqual(
      [rotated.id, rotated.name, rotated.rate_limit_per_minute, rotated.allowed_ips],
      [id, 'n', 900, ['127.0.0.1/32']],
    )
    assert.deepEqual(
      [rotated.prefix, rotated.previous_secret_until],
      [rotated.key.slice(0, 12), null],
    )
    assert.deepEqual([await use(key), await use(rotated.key)], [401, 200])
    await eventually('it ends elsewhere', async () => (await use(key, other)) === 401, 1_000)
    assert.equal(await use(rotated.key, other), 200)
  })

  test('with an overlap lets both secrets work until it ends, also out of the cache', async () => {
    const { bearer, key, id } = await newKey()
    const { key: next, previous_secret_until } = (
      await rotate(bearer, id, { overlap_hours: 2 })
    ).json()
    const until = new Date(service.clock.now().getTime() + 2 * HOUR_MS).toISOString()
    assert.equal(previous_secret_until, until)
    assert.equal((await describeKey(key)).json().expires_at, until)
    assert.equal((await describeKey(next)).json().expires_at, null)
    assert.equal((await describeKey(key)).json().id, (await describeKey(next)).json().id)
    service.clock.advance(2 * HOUR_MS - 1)
    assert.deepEqual([await use(key), await use(next)], [200, 200])
    service.clock.advance(1)
    assert.deepEqual([await use(key), await use(next)], [401, 200])
    const list = await service.request({ url: '/developers/keys', headers: bearer })
    assert.equal(list.json().data[0].previous_secret_until, null)
  })

  test('twice within an overlap keeps the newest two secrets', async () => {
    const { bearer, key: first, id } = await newKey()
    const second = (await rotate(bearer, id, { overlap_hours: 72 })).json().key
    const third = (await rotate(bearer, id, { overlap_hours: 72 })).json().key
    assert.deepEqual([await use(first), await use(second), await use(third)], [401, 200, 200])
    const last = (await rotate(bearer, id)).json().key
    assert.deepEqual([await use(second), await use(third), await use(last)], [401, 401, 200])
  })

  test('many times at once leaves exactly the last two secrets', async () => {
    const { bearer, key, id } = await newKey()
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => rotate(bearer, id, { overlap_hours: 1 })),
    )
    const secrets = [key, ...replies.map((reply) => reply.json().key)]
    const codes = await Promise.all(secrets.map((secret) => use(secret)))
    assert.equal(codes.filter((code) => code === 200).length, 2)
  })

  test('cannot outlive the key: its own expiry comes first, and deleting it ends both secrets', async () => {
    const expires_at = new Date(service.clock.now().getTime() + HOUR_MS).toISOString()
    const { bearer, key, id } = await newKey({ expires_at })
    const next = (await rotate(bearer, id, { overlap_hours: 72 })).json().key
    assert.equal((await describeKey(key)).json().expires_at, expires_at)
    await service.request({ method: 'DELETE', url: `/developers/keys/${id}`, headers: bearer })
    assert.deepEqual([await use(key), await use(next)], [401, 401])
  })

  test('refuses an overlap of more than 72 hours, of part of one, or of less than none', async () => {
    const { bearer, key, id } = await newKey()
    for (const overlap_hours of [73, -1, 1.5, '1', null]) {
      assert.equal((await rotate(bearer, id, { overlap_hours })).statusCode, 400)
    }
    assert.equal(await use(key), 200)
  })
})

describe('a key with a list of endpoints', () => {
  test('works for those, also for a linked user, and is 403 with a hint elsewhere', async () => {
    const { key, bearer, id } = await newKey({ allowed_endpoints: ['/v1/balance'] })
    const headers = { 'x-api-key': key }
    const get = (url: string) => service.request({ url, headers })
    assert.equal((await get('/v1/balance')).statusCode, 200)
    // Let in, and only then refused because this key's developer pays.
    assert.equal((await get('/v1/users/nobody/balance')).statusCode, 400)
    for (const url of ['/v1/key', '/v1/models']) assert.equal((await get(url)).statusCode, 200, url)
    for (const url of [
      '/v1/chat/completions',
      '/v1/users/u/chat/completions',
      '/v1/funding/credit',
    ]) {
      const reply = await service.post(url, {}, headers)
      assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], url)
      assert.match(reply.json().error.hint, /allowed_endpoints/)
    }
    const messages = await service.post('/v1/messages', {}, headers)
    assert.deepEqual([messages.statusCode, messages.json().error.type], [403, 'forbidden'])
    await change(bearer, id, { allowed_endpoints: ['/v1/generations/:id'] })
    assert.equal((await get('/v1/balance')).statusCode, 403)
    assert.equal((await get('/v1/generations/gen_nothing')).statusCode, 404)
    await change(bearer, id, { allowed_endpoints: null })
    assert.equal((await get('/v1/balance')).statusCode, 200)
  })

  test('can be limited to every endpoint that takes a key, and to no other', async () => {
    const { paths } = (await service.request({ url: '/openapi.json' })).json<{
      paths: Record<string, Record<string, { security?: object[] }>>
    }>()
    const takes_key = Object.entries(paths).flatMap(([path, methods]) =>
      Object.values(methods).some(({ security = [] }) => security.some((one) => 'api_key' in one))
        ? [path.replaceAll(/\{(\w+)\}/g, ':$1').replace('/users/:external_user_id/', '/')]
        : [],
    )
    assert.deepEqual([...new Set(takes_key)].sort(), ['/v1/key', ...KEY_ENDPOINTS].sort())
  })
})

describe('a key with address ranges', () => {
  const from = (ip: string, key: string, url = '/v1/key') =>
    service.request({ url, headers: { 'x-api-key': key, 'x-forwarded-for': ip } })

  test('works from those, as the trusted proxy names the caller, and is 403 from elsewhere', async () => {
    const { key } = await newKey({ allowed_ips: ['203.0.113.0/24', '2001:db8:1::/48'] })
    for (const ip of ['203.0.113.1', '203.0.113.255', '::ffff:203.0.113.1', '2001:db8:1:2::3']) {
      assert.equal((await from(ip, key)).statusCode, 200, ip)
    }
    for (const ip of ['203.0.114.1', '127.0.0.1', '2001:db8:2::1', 'made-up']) {
      const reply = await from(ip, key, '/v1/balance')
      assert.deepEqual([reply.statusCode, reply.json().error.code], [403, 'forbidden'], ip)
      assert.match(reply.json().error.hint, /allowed_ips/)
    }
  })

  test('is not used up from elsewhere', async () => {
    const { key } = await newKey({ allowed_ips: ['203.0.113.7'], rate_limit_per_minute: 2 })
    for (let i = 0; i < 5; i++) assert.equal((await from('198.51.100.9', key)).statusCode, 403)
    assert.equal((await from('203.0.113.7', key)).headers['x-ratelimit-remaining'], '1')
  })

  test('does not believe an address that its caller made up', async () => {
    const direct = await createApp({ database_url: service.database_url })
    const { key } = await newKey({ allowed_ips: ['203.0.113.7'] })
    const headers = { 'x-api-key': key, 'x-forwarded-for': '203.0.113.7' }
    assert.equal((await direct.request({ url: '/v1/key', headers })).statusCode, 403)
  })
})

test('a session whose last proof is older than 15 minutes can neither rotate a key nor take its spend limit away', async () => {
  const limit = { spend_limit_credits: 5, spend_limit_period: 'day' }
  const { bearer, key, id } = await newKey(limit)
  service.clock.advance(15 * 60_000 + 1)
  const refused = [
    await rotate(bearer, id),
    await change(bearer, id, { spend_limit_credits: null }),
    await change(bearer, id, { spend_limit_period: null }),
  ]
  for (const reply of refused) assert.equal(reply.statusCode, 403)
  assert.equal((await change(bearer, id, { name: 'renamed' })).statusCode, 200)
  const { name, spend_limit_credits } = (await describeKey(key)).json()
  assert.deepEqual([name, spend_limit_credits], ['renamed', 5])
})

test('every change of a key is an event of its owner, with who did it and without a secret', async () => {
  const { bearer, user_id, id, key } = await newKey({ name: 'mine' })
  service.clock.advance(1)
  await change(bearer, id, { name: 'renamed', allowed_ips: ['10.0.0.0/8'] })
  service.clock.advance(1)
  const rotated = (await rotate(bearer, id, { overlap_hours: 1 })).json()
  service.clock.advance(1)
  await service.request({ method: 'DELETE', url: `/developers/keys/${id}`, headers: bearer })
  const events = await keyEventsOf(user_id)
  const named = { key_id: id, name: 'renamed' }
  assert.deepEqual(
    events.map(({ kind, details }) => [kind, details]),
    [
      ['key_created', { key_id: id, name: 'mine', prefix: key.slice(0, 12) }],
      ['key_changed', { ...named, prefix: key.slice(0, 12), changed: 'allowed_ips, name' }],
      ['key_rotated', { ...named, prefix: rotated.prefix, overlap_hours: 1 }],
      ['key_deleted', { ...named, prefix: rotated.prefix }],
    ],
  )
  for (const { ip, session_id } of events) {
    assert.equal(ip, '127.0.0.1')
    assert.notEqual(session_id, null)
  }
})

test('a key that is asked for while its session is being ended is not made', async () => {
  const { bearer, user_id } = await service.register()
  let asked: ReturnType<typeof service.post> | undefined
  await service.parts.db.transaction(async (tx) => {
    const lock = { name: 'test.lock', text: 'select 1 from account where id = $1::uuid for update' }
    const end = { name: 'test.end', text: 'delete from session where account_id = $1::uuid' }
    await tx.run(lock, [user_id])
    asked = service.post('/developers/keys', { name: 'late', billing_mode: 'developer' }, bearer)
    asked.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 200))
    await tx.run(end, [user_id])
  })
  assert.equal((await asked)?.statusCode, 401)
})
