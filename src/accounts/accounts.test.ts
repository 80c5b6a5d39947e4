import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createApp, PASSWORD } from '../../test/support/app.ts'
import { sql } from '../../test/support/database.ts'

const DAY_MS = 24 * 60 * 60 * 1000

describe('registration', async () => {
  const service = await createApp({ settings: { WELCOME_CREDITS: '12345' } })

  test('a new account gets its welcome credits, a session of 24 hours and the cookie', async () => {
    const now = service.clock.now()
    const reply = await service.post('/auth/register', { email: 'ada@x.test', password: PASSWORD })
    assert.equal(reply.statusCode, 201)
    const body = reply.json()
    assert.deepEqual(Object.keys(body).sort(), ['expires_at', 'session_token', 'user'])
    assert.deepEqual({ ...body.user, id: '' }, { id: '', email: 'ada@x.test', balance: 12345 })
    assert.match(body.user.id, /^[0-9a-f-]{36}$/)
    assert.match(body.session_token, /^sess_[A-Za-z0-9_-]{43}$/)
    assert.equal(body.expires_at, new Date(now.getTime() + DAY_MS).toISOString())
    const [cookie] = [reply.headers['set-cookie']].flat()
    assert.equal(
      cookie,
      `svc_session=${body.session_token}; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax`,
    )
  })

  test('an address is taken whatever its case and spaces', async () => {
    await service.register('grace@x.test')
    for (const email of ['grace@x.test', ' GRACE@x.TEST ', 'Grace@X.test']) {
      const reply = await service.post('/auth/register', { email, password: PASSWORD })
      assert.equal(reply.statusCode, 409)
      assert.equal(reply.json().error.code, 'email_exists')
    }
  })

  test('of two registrations of one address at once exactly one succeeds, with one welcome', async () => {
    const replies = await Promise.all(
      Array.from({ length: 4 }, () =>
        service.post('/auth/register', { email: 'race@x.test', password: PASSWORD }),
      ),
    )
    const codes = replies.map((reply) => reply.statusCode).sort((left, right) => left - right)
    assert.deepEqual(codes, [201, 409, 409, 409])
    const [row] = await sql<{ accounts: string; credits: string }>(
      service.database_url,
      `select count(distinct account.id) as accounts, sum(wallet.posted) as credits
       from account join wallet on wallet.id = account.id where email_key = 'race@x.test'`,
    )
    assert.deepEqual(row, { accounts: '1', credits: '12345' })
  })

  test('an address without @, with spaces, line breaks or NUL is invalid_email', async () => {
    for (const email of [
      '',
      'nobody',
      '@',
      'a@',
      '@b',
      'a b@c',
      'a@b\r\nBcc: x@y',
      'a@b\u0000',
      'a@b@c',
    ]) {
      const reply = await service.post('/auth/register', { email, password: PASSWORD })
      assert.equal(reply.statusCode, 400, JSON.stringify(email))
      assert.equal(reply.json().error.code, 'invalid_email', JSON.stringify(email))
    }
  })

  test('seven characters are weak, eight emoji are not, a megabyte is refused before hashing', async () => {
    const weak = await service.post('/auth/register', { email: 'w1@x.test', password: '1234567' })
    assert.equal(weak.json().error.code, 'weak_password')
    const emoji = await service.post('/auth/register', {
      email: 'w2@x.test',
      password: '😀'.repeat(8),
    })
    assert.equal(emoji.statusCode, 201)
    const seven = await service.post('/auth/register', {
      email: 'w3@x.test',
      password: '😀'.repeat(7),
    })
    assert.equal(seven.json().error.code, 'weak_password')
    const long = await service.post('/auth/register', {
      email: 'w4@x.test',
      password: 'x'.repeat(1_000_000),
    })
    assert.equal(long.statusCode, 400)
    assert.equal(long.json().error.code, 'bad_request')
  })

  test('a field of the wrong type or missing is bad_request and names the field', async () => {
    for (const [field, value] of Object.entries({ email: 5, password: ['x'] })) {
      const body = { email: 'a@b', password: PASSWORD, [field]: value }
      const reply = await service.post('/auth/register', body)
      assert.equal(reply.statusCode, 400)
      assert.equal(reply.json().error.code, 'bad_request')
      assert.match(reply.json().error.message, new RegExp(field))
    }
    const missing = await service.post('/auth/register', { email: 'a@b' })
    assert.equal(missing.statusCode, 400)
    assert.match(missing.json().error.message, /password/)
  })

  test('over https the cookie is Secure', async () => {
    const secure = await createApp({ settings: { PUBLIC_URL: 'https://svc.example' } })
    const reply = await secure.post('/auth/register', { email: 'a@b', password: PASSWORD })
    for (const cookie of [reply.headers['set-cookie']].flat())
      assert.match(cookie ?? '', /; Secure$/)
    assert.match(String(reply.headers['strict-transport-security']), /max-age=/)
  })
})

describe('login', async () => {
  const service = await createApp()

  test('the right password opens a new session with the same shape as registration', async () => {
    const { email, user_id } = await service.register()
    const reply = await service.post('/auth/login', {
      email: ` ${email.toUpperCase()}`,
      password: PASSWORD,
    })
    assert.equal(reply.statusCode, 200)
    const body = reply.json()
    assert.equal(body.user.id, user_id)
    assert.equal(body.user.balance, 1_000_000)
    const me = await service.request({
      url: '/auth/me',
      headers: { authorization: `Bearer ${body.session_token}` },
    })
    assert.deepEqual(me.json(), { id: user_id, email, balance: 1_000_000 })
  })

  test('an unknown address and a wrong password get the same answer, to the letter', async () => {
    const { email } = await service.register()
    const wrong = await service.post('/auth/login', { email, password: 'not this one' })
    const unknown = await service.post('/auth/login', {
      email: 'no@x.test',
      password: 'not this one',
    })
    assert.equal(wrong.statusCode, 401)
    const strip = (body: string) => body.replace(/req_\w+/, '')
    assert.equal(strip(wrong.body), strip(unknown.body))
    assert.equal(wrong.json().error.code, 'invalid_credentials')
  })

  test('an unknown address costs as much hashing as a wrong password', async () => {
    const { email } = await service.register()
    const cpu = async (address: string) => {
      const before = process.cpuUsage()
      for (let i = 0; i < 5; i++)
        await service.post('/auth/login', { email: address, password: 'wrong one' })
      const used = process.cpuUsage(before)
      return used.user + used.system
    }
    await cpu(email)
    const [known, unknown] = [await cpu(email), await cpu('nobody@x.test')]
    // One argon2id is ~40 ms of CPU; without it an unknown address would cost next to nothing.
    assert.ok(unknown > known / 2, `known ${known} µs, unknown ${unknown} µs`)
  })

  test('a session planted before the login is dead after it', async () => {
    const { email, token } = await service.register()
    const reply = await service.post(
      '/auth/login',
      { email, password: PASSWORD },
      { cookie: `svc_session=${token}` },
    )
    assert.equal(reply.statusCode, 200)
    assert.notEqual(reply.json().session_token, token)
    const old = await service.request({
      url: '/auth/me',
      headers: { authorization: `Bearer ${token}` },
    })
    assert.equal(old.statusCode, 401)
  })

  test('a hash made with weaker parameters is replaced at login', async () => {
    const { email, user_id } = await service.register()
    const { argon2Sync } = await import('node:crypto')
    const nonce = Buffer.alloc(16, 7)
    const tag = argon2Sync('argon2id', {
      message: PASSWORD,
      nonce,
      parallelism: 1,
      tagLength: 32,
      memory: 1024,
      passes: 1,
    })
    const text = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')
    const weak = `$argon2id$v=19$m=1024,t=1,p=1$${text(nonce)}$${text(tag)}`
    await sql(service.database_url, 'update account set password_hash = $1 where id = $2', [
      weak,
      user_id,
    ])
    assert.equal((await service.post('/auth/login', { email, password: PASSWORD })).statusCode, 200)
    const [row] = await sql<{ password_hash: string }>(
      service.database_url,
      'select password_hash from account where id = $1',
      [user_id],
    )
    assert.match(row?.password_hash ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    assert.equal((await service.post('/auth/login', { email, password: PASSWORD })).statusCode, 200)
  })
})

describe('sessions', async () => {
  const service = await createApp()
  const me = (headers: Record<string, string>) => service.request({ url: '/auth/me', headers })

  test('logout ends the session at once and clears the cookie', async () => {
    const { bearer } = await service.register()
    assert.equal((await me(bearer)).statusCode, 200)
    const reply = await service.request({ method: 'POST', url: '/auth/logout', headers: bearer })
    assert.deepEqual(reply.json(), { success: true })
    assert.match(String(reply.headers['set-cookie']), /^svc_session=; .*Max-Age=0/)
    const after = await me(bearer)
    assert.equal(after.statusCode, 401)
    assert.equal(after.json().error.code, 'invalid_api_key')
  })

  test('a session ends after 24 hours, also in the cache', async () => {
    const { bearer } = await service.register()
    assert.equal((await me(bearer)).statusCode, 200)
    service.clock.advance(DAY_MS - 1)
    assert.equal((await me(bearer)).statusCode, 200)
    service.clock.advance(1)
    assert.equal((await me(bearer)).statusCode, 401)
  })

  test('the cookie works like the bearer, two of them like none', async () => {
    const { token } = await service.register()
    assert.equal((await me({ cookie: `a=b; svc_session=${token}; c=d` })).statusCode, 200)
    assert.equal(
      (await me({ cookie: `svc_session=${token}; svc_session=${token}` })).statusCode,
      401,
    )
  })

  test('a cookie write asked for by another site is forbidden, a read or a bearer write is not', async () => {
    const { token } = await service.register()
    const cookie = `svc_session=${token}`
    const write = (headers: Record<string, string>) =>
      service.post('/auth/send-verification', {}, headers)
    for (const evil of [
      { cookie, origin: 'https://evil.example' },
      { cookie, origin: 'null' },
      { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'none' },
      { cookie, 'sec-fetch-site': 'cross-site' },
      { cookie, 'sec-fetch-site': 'same-site' },
      { cookie, 'sec-fetch-site': 'cross-site', origin: 'http://localhost:8080' },
    ]) {
      const reply = await write(evil)
      assert.equal(reply.statusCode, 403, JSON.stringify(evil))
      assert.equal(reply.json().error.code, 'forbidden')
    }
    for (const fine of [
      { cookie },
      { cookie, origin: 'http://localhost:8080' },
      { cookie, origin: 'http://localhost:8080', 'sec-fetch-site': 'same-origin' },
      { authorization: `Bearer ${token}`, origin: 'https://evil.example' },
    ]) {
      assert.equal((await write(fine)).statusCode, 200, JSON.stringify(fine))
    }
    assert.equal((await me({ cookie, origin: 'https://evil.example' })).statusCode, 200)
  })

  test('credentials of other kinds and junk are refused where a session is needed', async () => {
    const { bearer } = await service.register()
    const { key } = await service.createKey(bearer)
    for (const authorization of [
      `Bearer ${key}`,
      'Bearer svc_token_abc',
      'Bearer whsec_abc',
      'Bearer sess_short',
      `Bearer sess_${'A'.repeat(43)}`,
      'Bearer',
      'Basic abc',
      `Bearer ${'x'.repeat(10_000)}`,
    ]) {
      const reply = await me({ authorization })
      assert.equal(reply.statusCode, 401, authorization.slice(0, 30))
      assert.equal(reply.json().error.code, 'invalid_api_key')
      assert.match(reply.json().error.hint, /session token/)
    }
  })
})
