import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createApp } from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'
import { Db } from '../platform/db.ts'
import { mintApiKey } from '../platform/tokens.ts'

const service = await createApp()
const { database_url } = service

const use = (key: string) => service.request({ url: '/v1/key', headers: { 'x-api-key': key } })
const list = (headers: Record<string, string>, query = '') =>
  service.request({ url: `/developers/keys${query}`, headers })
const revoke = (headers: Record<string, string>, id: string) =>
  service.request({ method: 'DELETE', url: `/developers/keys/${id}`, headers })

describe('creating a key', () => {
  test('shows the secret once: sk-svc- and 32 characters, and the record beside it', async () => {
    const { bearer } = await service.register()
    const now = service.clock.now().toISOString()
    const reply = await service.post(
      '/developers/keys',
      { name: 'prod', billing_mode: 'user' },
      bearer,
    )
    assert.equal(reply.statusCode, 201)
    const { key, id, ...rest } = reply.json()
    assert.match(key, /^sk-svc-[0-9A-Za-z]{32}$/)
    assert.match(id, /^[0-9a-f-]{36}$/)
    assert.deepEqual(rest, {
      name: 'prod',
      billing_mode: 'user',
      client_id: null,
      prefix: key.slice(0, 12),
      created_at: now,
      last_used_at: null,
      expires_at: null,
      rate_limit_per_minute: null,
      spend_limit_credits: null,
      spend_limit_period: null,
      allowed_endpoints: null,
      allowed_ips: null,
      previous_secret_until: null,
      spent_period_credits: null,
      period_resets_at: null,
    })
  })

  test('keeps the optional limits exactly, up to the largest number of credits', async () => {
    const { bearer } = await service.register()
    const expires_at = new Date(service.clock.now().getTime() + 3_600_000).toISOString()
    const wanted = {
      expires_at,
      rate_limit_per_minute: 7,
      spend_limit_credits: Number.MAX_SAFE_INTEGER,
      spend_limit_period: 'month',
    }
    const { id } = await service.createKey(bearer, wanted)
    const [record] = (await list(bearer)).json().data
    const { rate_limit_per_minute, spend_limit_credits, spend_limit_period } = record
    assert.deepEqual(
      {
        id: record.id,
        expires_at: record.expires_at,
        rate_limit_per_minute,
        spend_limit_credits,
        spend_limit_period,
      },
      { id, ...wanted },
    )
  })

  test('refuses what makes no sense, and creates nothing', async () => {
    const { bearer } = await service.register()
    const fine = { name: 'x', billing_mode: 'developer' }
    for (const wrong of [
      { billing_mode: 'admin' },
      { billing_mode: undefined },
      { billing_mode: ['developer'] },
      { name: '' },
      { name: undefined },
      { name: 'a\u0000b' },
      { name: 'x'.repeat(201) },
      { name: 5 },
      { expires_at: 'tomorrow' },
      { expires_at: '2001-01-01T00:00:00Z' },
      { expires_at: '2030-12-31T23:59:60Z' },
      { expires_at: '9999-12-31T23:59:59-23:59' },
      { rate_limit_per_minute: 0 },
      { rate_limit_per_minute: 1.5 },
      { rate_limit_per_minute: 2_000_000 },
      { spend_limit_credits: 5 },
      { spend_limit_period: 'day' },
      { spend_limit_credits: 0, spend_limit_period: 'day' },
      { spend_limit_credits: 2 ** 53, spend_limit_period: 'day' },
      { spend_limit_credits: '5', spend_limit_period: 'day' },
      { spend_limit_credits: 5, spend_limit_period: 'week' },
    ]) {
      const reply = await service.post('/developers/keys', { ...fine, ...wrong }, bearer)
      assert.equal(reply.statusCode, 400, JSON.stringify(wrong))
      assert.equal(reply.json().error.code, 'bad_request', JSON.stringify(wrong))
    }
    assert.deepEqual((await list(bearer)).json().data, [])
  })

  test('a limit above the service’s own is refused, because only the operator may raise it', async () => {
    const tight = await createApp({ settings: { RATE_LIMIT_PER_MINUTE: '50' } })
    const { bearer } = await tight.register()
    const body = { name: 'x', billing_mode: 'developer', rate_limit_per_minute: 51 }
    const reply = await tight.post('/developers/keys', body, bearer)
    assert.equal(reply.statusCode, 400)
    assert.match(reply.json().error.hint, /operator/)
  })

  test('an account has a bounded number of keys, also when they are made at once', async () => {
    const small = await createApp({ settings: { KEYS_PER_ACCOUNT_MAX: '5' } })
    const { bearer } = await small.register()
    const replies = await Promise.all(
      Array.from({ length: 12 }, () =>
        small.post('/developers/keys', { name: 'x', billing_mode: 'developer' }, bearer),
      ),
    )
    assert.equal(replies.filter((reply) => reply.statusCode === 201).length, 5)
    assert.equal(replies.filter((reply) => reply.statusCode === 400).length, 7)
  })

  test('an API key is no session: it cannot make, list or revoke keys', async () => {
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer)
    for (const headers of [{ authorization: `Bearer ${key}` }, { 'x-api-key': key }]) {
      const made = await service.post(
        '/developers/keys',
        { name: 'x', billing_mode: 'developer' },
        headers,
      )
      for (const reply of [made, await list(headers), await revoke(headers, id)]) {
        assert.equal(reply.statusCode, 401)
        assert.equal(reply.json().error.code, 'invalid_api_key')
      }
    }
  })
})

describe('listing keys', () => {
  test('shows the newest first, in pages, without any secret', async () => {
    const { bearer } = await service.register()
    const made: string[] = []
    for (let i = 0; i < 5; i++) {
      service.clock.advance(1000)
      made.unshift((await service.createKey(bearer, { name: `key ${i}` })).id)
    }
    const seen: string[] = []
    let query = '?limit=2'
    for (;;) {
      const page = (await list(bearer, query)).json()
      seen.push(...page.data.map((row: { id: string }) => row.id))
      assert.equal(page.has_more, page.next_cursor !== null)
      if (!page.has_more) break
      query = `?limit=2&cursor=${page.next_cursor}`
    }
    assert.deepEqual(seen, made)
    const body = (await list(bearer)).body
    assert.doesNotMatch(body, /sk-svc-[0-9A-Za-z]{6}/)
    assert.doesNotMatch(body, /digest|"key"/)
  })

  test('a wrong page is refused with 400', async () => {
    const { bearer } = await service.register()
    for (const query of ['?limit=0', '?limit=101', '?limit=x', '?cursor=zzz', '?limit=1&limit=2']) {
      assert.equal((await list(bearer, query)).statusCode, 400, query)
    }
  })

  test('shows nobody else’s keys', async () => {
    const [one, two] = [await service.register(), await service.register()]
    await service.createKey(one.bearer)
    assert.deepEqual((await list(two.bearer)).json().data, [])
  })
})

describe('revoking a key', () => {
  test('takes effect before the answer arrives, and once', async () => {
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer)
    assert.equal((await use(key)).statusCode, 200)
    assert.deepEqual((await revoke(bearer, id)).json(), { success: true })
    const after = await use(key)
    assert.deepEqual([after.statusCode, after.json().error.code], [401, 'invalid_api_key'])
    assert.equal((await revoke(bearer, id)).statusCode, 404)
    assert.deepEqual((await list(bearer)).json().data, [])
  })

  test('takes effect in another process within a second', async () => {
    const other = await createApp({ database_url })
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer)
    const used = () =>
      other.request({ url: '/v1/key', headers: { authorization: `Bearer ${key}` } })
    assert.equal((await used()).statusCode, 200)
    const started = performance.now()
    await revoke(bearer, id)
    while ((await used()).statusCode === 200) assert.ok(performance.now() - started < 1000)
  })

  test('somebody else’s key, an unknown one and an id that is none are all 404', async () => {
    const [one, two] = [await service.register(), await service.register()]
    const { key, id } = await service.createKey(one.bearer)
    for (const target of [
      id,
      '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10',
      'nonsense',
      '%00',
      "'; drop table",
    ]) {
      const reply = await revoke(two.bearer, encodeURIComponent(target))
      assert.equal(reply.statusCode, 404, target)
      assert.equal(reply.json().error.code, 'not_found')
    }
    assert.equal((await use(key)).statusCode, 200)
  })
})

describe('using a key', () => {
  test('works as bearer and as X-API-Key, and says which key it is', async () => {
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer, { name: 'mine' })
    const first = await use(key)
    const second = await service.request({
      url: '/v1/key',
      headers: { authorization: `Bearer ${key}` },
    })
    assert.deepEqual(first.json(), second.json())
    assert.equal(first.json().id, id)
    assert.equal(first.json().name, 'mine')
  })

  test('a key that cannot be ours is refused without asking the database', async () => {
    const { bearer } = await service.register()
    const { key } = await service.createKey(bearer)
    const changed = `${key.slice(0, 20)}${key[20] === 'A' ? 'B' : 'A'}${key.slice(21)}`
    const count = async () =>
      (await service.parts.metrics.db_statements.get()).values
        .filter((value) => value.labels.statement === 'keys.find_key_by_digest')
        .find((value) => value.metricName?.endsWith('_count'))?.value ?? 0
    const before = await count()
    for (const junk of [changed, `sk-svc-${'A'.repeat(32)}`, `sk-svc-${'x'.repeat(10_000)}`, 'x']) {
      assert.equal((await use(junk)).json().error.code, 'invalid_api_key')
    }
    assert.equal(await count(), before)
    assert.equal((await use(mintApiKey())).statusCode, 401)
    assert.equal(await count(), before + 1)
  })

  test('an expired key is refused, also out of the cache', async () => {
    const { bearer } = await service.register()
    const expires_at = new Date(service.clock.now().getTime() + 60_000).toISOString()
    const { key } = await service.createKey(bearer, { expires_at })
    assert.equal((await use(key)).statusCode, 200)
    service.clock.advance(60_000)
    assert.equal((await use(key)).statusCode, 401)
  })

  test('a session token is no API key', async () => {
    const { bearer } = await service.register()
    const reply = await service.request({ url: '/v1/key', headers: bearer })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [401, 'invalid_api_key'])
  })

  test('last use is remembered without a write per request', async () => {
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer)
    const read = async () =>
      (await list(bearer)).json().data.find((row: { id: string }) => row.id === id).last_used_at
    for (let i = 0; i < 20; i++) await use(key)
    assert.equal(await read(), null)
    const at = service.clock.now().toISOString()
    await service.parts.last_used.flush(service.parts.db)
    assert.equal(await read(), at)
  })

  test('a last use that could not be written is written the next time', async () => {
    const { bearer } = await service.register()
    const { key, id } = await service.createKey(bearer)
    await use(key)
    const broken = new Db({
      url: 'postgres://127.0.0.1:1/none',
      pool_size: 1,
      application_name: 'x',
    })
    await assert.rejects(service.parts.last_used.flush(broken))
    await broken.close()
    await service.parts.last_used.flush(service.parts.db)
    const record = (await list(bearer)).json().data.find((row: { id: string }) => row.id === id)
    assert.notEqual(record.last_used_at, null)
  })

  test('only a hash is stored: the secret is nowhere in the database', async () => {
    const { bearer, token } = await service.register()
    const { key } = await service.createKey(bearer)
    const tables = await sql<{ name: string }>(
      database_url,
      "select tablename as name from pg_tables where schemaname = 'public'",
    )
    assert.ok(tables.length >= 6)
    for (const { name } of tables) {
      for (const secret of [key, key.slice(12), token, token.slice(5)]) {
        const found = await sql(
          database_url,
          `select 1 from "${name}" as row where row::text like $1`,
          [`%${secret}%`],
        )
        assert.equal(found.length, 0, `${name} holds a secret`)
      }
    }
  })
})
