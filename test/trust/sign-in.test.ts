// Failures are counted, not attempts: whoever has the right password gets in, whatever others have tried.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { signInJob } from '../../src/accounts/sign-in/jobs.ts'
import { waitAfter } from '../../src/accounts/sign-in/waits.ts'
import { createApp, PASSWORD, type TestApp } from '../support/app.ts'
import { sql } from '../support/database.ts'

const DAY_MS = 24 * 60 * 60_000

type From = { address?: string; device?: string }

function signIn(service: TestApp, given: { email: string; password?: string } & From) {
  const { email, password = PASSWORD, address = '192.0.2.1', device } = given
  return service.app.inject({
    method: 'POST',
    url: '/auth/login',
    remoteAddress: address,
    headers: device === undefined ? {} : { cookie: device },
    payload: { email, password },
  })
}

/** Registers from an address of their own. */
async function join(service: TestApp, email: string, address: string) {
  const reply = await service.app.inject({
    method: 'POST',
    url: '/auth/register',
    remoteAddress: address,
    payload: { email, password: PASSWORD },
  })
  assert.equal(reply.statusCode, 201, reply.body)
  return {
    email,
    address,
    device: deviceOf(reply),
    id: reply.json<{ user: { id: string } }>().user.id,
  }
}

function deviceOf({ headers }: { headers: Record<string, unknown> }): string {
  const cookies = [headers['set-cookie']].flat().map(String)
  const found = cookies.find((cookie) => cookie.startsWith('svc_device='))
  assert.ok(found, 'no svc_device')
  return found.split(';')[0] ?? ''
}

async function fail(service: TestApp, email: string, addresses: readonly string[]) {
  const statuses: number[] = []
  for (const address of addresses) {
    statuses.push((await signIn(service, { email, address, password: 'wrong one' })).statusCode)
  }
  return statuses
}

const elsewhere = (count: number, network = '198.51.100') =>
  Array.from({ length: count }, (_, i) => `${network}.${i}`)

describe('wrong passwords in a minute', async () => {
  const service = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '5' } })

  test('of strangers throttle strangers, not a device or an address that signed in before', async () => {
    const ada = await join(service, 'ada@x.test', '203.0.113.1')
    assert.deepEqual(await fail(service, ada.email, elsewhere(6)), [401, 401, 401, 401, 401, 429])
    const stranger = await signIn(service, { email: ada.email, address: '192.0.2.9' })
    assert.equal(stranger.statusCode, 429)
    assert.ok(Number(stranger.headers['retry-after']) >= 1)
    assert.equal(stranger.headers['x-ratelimit-limit'], '5')
    const moved = await signIn(service, { ...ada, address: '192.0.2.10' })
    assert.equal(moved.statusCode, 200)
    const { email, address } = ada
    assert.equal((await signIn(service, { email, address })).statusCode, 200)
  })

  test('from an address do not keep out a device behind the same address', async () => {
    const bob = await join(service, 'bob@x.test', '203.0.113.2')
    const shared = Array<string>(6).fill('192.0.2.20')
    const others = await Promise.all(
      shared.map(async (address, i) => (await fail(service, `x${i}@x.test`, [address]))[0]),
    )
    assert.equal(others.filter((status) => status === 401).length, 5)
    assert.equal((await signIn(service, { ...bob, address: '192.0.2.20' })).statusCode, 200)
    const nobody = await signIn(service, { email: bob.email, address: '192.0.2.20' })
    assert.equal(nobody.statusCode, 429)
  })

  test('are counted though many come at once', async () => {
    const cleo = await join(service, 'cleo@x.test', '203.0.113.3')
    const statuses = await Promise.all(
      elsewhere(30, '198.51.101').map(
        async (address) => (await fail(service, cleo.email, [address]))[0],
      ),
    )
    assert.equal(statuses.filter((status) => status === 401).length, 5)
  })

  test('of a device count for it alone, and the right ones use up nothing', async () => {
    const dan = await join(service, 'dan@x.test', '203.0.113.4')
    for (let i = 0; i < 12; i++) assert.equal((await signIn(service, dan)).statusCode, 200)
    for (let i = 0; i < 5; i++) {
      assert.equal((await signIn(service, { ...dan, password: 'wrong one' })).statusCode, 401)
    }
    assert.equal((await signIn(service, { ...dan, password: 'wrong one' })).statusCode, 429)
    const { email } = dan
    assert.equal((await signIn(service, { email, address: '192.0.2.40' })).statusCode, 200)
  })

  test('refused for their address cost no query', async () => {
    const address = '192.0.2.50'
    for (let i = 0; i < 5; i++) await fail(service, `y${i}@x.test`, [address])
    const count = async () => {
      const { values } = await service.parts.metrics.db_statements.get()
      return values
        .filter(({ metricName }) => metricName?.endsWith('_count'))
        .reduce((sum, { value }) => sum + value, 0)
    }
    const before = await count()
    assert.deepEqual(await fail(service, 'ada@x.test', [address]), [429])
    assert.equal(await count(), before)
  })
})

describe('the device cookie', async () => {
  const service = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '5' } })

  test('is random, kept from scripts for a year, stored as a digest, and the same at the next sign-in', async () => {
    const eve = await join(service, 'eve@x.test', '203.0.113.5')
    const reply = await signIn(service, eve)
    assert.equal(deviceOf(reply), eve.device)
    const cookie = [reply.headers['set-cookie']].flat().find((one) => one?.startsWith('svc_device'))
    assert.match(
      String(cookie),
      /^svc_device=dev_[A-Za-z0-9_-]{43}; Path=\/; Max-Age=31536000; HttpOnly; SameSite=Lax$/,
    )
    const rows = await sql<{ stored: string }>(
      service.database_url,
      "select encode(digest, 'escape') as stored from known_device",
    )
    assert.ok(rows.every(({ stored }) => !eve.device.includes(stored)))
  })

  test('of somebody else, or made up, is nobody’s: a new one is given', async () => {
    const one = await join(service, 'fay@x.test', '203.0.113.6')
    const other = await join(service, 'gus@x.test', '203.0.113.7')
    await fail(service, one.email, elsewhere(5, '198.51.102'))
    const borrowed = { email: one.email, address: '192.0.2.60', device: other.device }
    assert.equal((await signIn(service, borrowed)).statusCode, 429)
    const planted = await signIn(service, { ...other, device: one.device })
    assert.notEqual(deviceOf(planted), one.device)
  })

  test('is remembered for twenty devices of an account', async () => {
    const hal = await join(service, 'hal@x.test', '203.0.113.8')
    for (let i = 0; i < 24; i++) {
      service.clock.advance(1_000)
      await signIn(service, { email: hal.email, address: `203.0.113.${100 + i}` })
    }
    const [row] = await sql<{ count: number }>(
      service.database_url,
      `select count(*)::int as count from known_device where account_id = '${hal.id}' and kind = 'device'`,
    )
    assert.equal(row?.count, 20)
  })
})

describe('wrong passwords in a day', async () => {
  test('make strangers wait for a minute from the 20th on, doubled with every five, up to an hour', () => {
    const wait = (failures: number) =>
      waitAfter(failures, { of: 'account', login_limit: 5 }) / 60_000
    const failures = [0, 19, 20, 24, 25, 30, 35, 40, 45, 50, 5_000_000]
    assert.deepEqual(failures.map(wait), [0, 0, 1, 1, 2, 4, 8, 16, 32, 60, 60])
    assert.equal(waitAfter(99, { of: 'address', login_limit: 5 }), 0)
    assert.equal(waitAfter(125, { of: 'address', login_limit: 5 }), 120_000)
  })

  test('are counted in the database, by all processes, until the owner signs in or the day is over', async () => {
    const service = await createApp({ settings: { LOGIN_LIMIT_PER_MINUTE: '5' } })
    const ivy = await join(service, 'ivy@x.test', '203.0.113.9')
    const stranger = { email: ivy.email, address: '192.0.2.70' }
    // As other processes would have: this one has counted nothing in memory.
    await fail(service, ivy.email, ['192.0.2.71'])
    await sql(service.database_url, 'update sign_in_failure set count = 25')
    const refused = await signIn(service, stranger)
    assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '120'])
    // An address that nobody knows is treated alike, so that nobody learns which are known.
    service.clock.advance(121_000)
    assert.equal((await signIn(service, { ...stranger, password: 'wrong one' })).statusCode, 401)
    assert.equal((await signIn(service, stranger)).statusCode, 429)
    assert.equal((await signIn(service, ivy)).statusCode, 200)
    assert.equal((await signIn(service, stranger)).statusCode, 200)
  })

  test('are told to the owner, at most fifty times a day', async () => {
    const service = await createApp()
    const jim = await join(service, 'jim@x.test', '203.0.113.10')
    for (let i = 0; i < 3; i++) await signIn(service, { ...jim, password: 'wrong one' })
    await sql(service.database_url, 'update sign_in_failure set count = 49')
    for (let i = 0; i < 3; i++) await signIn(service, { ...jim, password: 'wrong one' })
    const events = await sql<{ details: { failures_today: number }; ip: string }>(
      service.database_url,
      `select details, ip from security_event where kind = 'sign_in_failed' order by details`,
    )
    assert.deepEqual(
      events.map(({ details, ip }) => [details.failures_today, ip]),
      [1, 2, 3, 50].map((count) => [count, jim.address]),
    )
  })

  test('are forgotten when their day and the next are over', async () => {
    const service = await createApp()
    await fail(service, 'kim@x.test', elsewhere(3))
    const purge = () => signInJob(service.parts).run(new AbortController().signal)
    const count = async () =>
      (await sql(service.database_url, 'select 1 from sign_in_failure')).length
    await purge()
    assert.equal(await count(), 4)
    service.clock.advance(2 * DAY_MS)
    await purge()
    assert.equal(await count(), 0)
  })
})

test('junk resets do not use up the turns at hashing', async () => {
  const service = await createApp()
  const lea = await join(service, 'lea@x.test', '203.0.113.11')
  const junk = Array.from({ length: 300 }, (_, i) =>
    service.post('/auth/reset-password', { token: `svc_reset_${i}`, new_password: PASSWORD }),
  )
  const { email, address } = lea
  const sign_ins = Array.from({ length: 5 }, () => signIn(service, { email, address }))
  for (const reply of await Promise.all(sign_ins)) assert.equal(reply.statusCode, 200)
  for (const reply of await Promise.all(junk)) assert.equal(reply.statusCode, 400)
})

describe('registrations', async () => {
  const register = (service: TestApp, remoteAddress: string, email: string) =>
    service.app.inject({
      method: 'POST',
      url: '/auth/register',
      remoteAddress,
      payload: { email, password: PASSWORD },
    })

  test('have budgets for a /64, a /56, a /48 and the whole service, and their likes of IPv4', async () => {
    const service = await createApp({
      settings: {
        REGISTER_LIMIT_PER_MINUTE: '1',
        REGISTER_SITE_LIMIT_PER_MINUTE: '2',
        REGISTER_REGION_LIMIT_PER_MINUTE: '3',
        REGISTER_SERVICE_LIMIT_PER_MINUTE: '5',
      },
    })
    const tries: [string, number][] = [
      ['2001:db8:0:100::1', 201],
      ['2001:db8:0:100::2', 429], // the same /64
      ['2001:db8:0:101::1', 201],
      ['2001:db8:0:102::1', 429], // the same /56
      ['2001:db8:0:200::1', 201],
      ['2001:db8:0:300::1', 429], // the same /48
      ['198.51.100.1', 201],
      ['198.51.100.1', 429],
      ['198.51.100.2', 201],
      ['2001:db8:1::1', 429], // the whole service
    ]
    for (const [i, [address, status]] of tries.entries()) {
      const reply = await register(service, address, `r${i}@x.test`)
      assert.equal(reply.statusCode, status, address)
      if (status === 429) assert.ok(Number(reply.headers['retry-after']) >= 1)
    }
  })

  test('that are refused for what they say use up no budget of others', async () => {
    const service = await createApp({
      settings: { REGISTER_LIMIT_PER_MINUTE: '100', REGISTER_SERVICE_LIMIT_PER_MINUTE: '2' },
    })
    for (let i = 0; i < 5; i++) await register(service, '198.51.100.1', 'no address')
    assert.equal((await register(service, '198.51.100.2', 'a@x.test')).statusCode, 201)
    assert.equal((await register(service, '198.51.100.3', 'a@x.test')).statusCode, 409)
    assert.equal((await register(service, '198.51.100.4', 'b@x.test')).statusCode, 201)
    assert.equal((await register(service, '198.51.100.5', 'c@x.test')).statusCode, 429)
  })
})
