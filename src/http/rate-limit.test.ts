import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { before, describe, type TestContext, test } from 'node:test'
import * as fc from 'fast-check'
import Fastify from 'fastify'
import { eventually } from '../../test/support/eventually.ts'
import { collectLog } from '../../test/support/log.ts'
import { freePort, skipWithoutRedis, startRedis, type TestRedis } from '../../test/support/redis.ts'
import { loadConfig } from '../config.ts'
import { ApiError } from '../platform/errors.ts'
import {
  addressBucket,
  type LimitName,
  type Limits,
  limitsFrom,
  RateLimits,
  type Slot,
  setLimitHeaders,
} from './rate-limit.ts'

const START = Date.parse('2026-03-01T12:00:00.250Z')
/** Of one caller: the command's own limit, and what a busy machine adds. */
const REDIS_PATIENCE_MS = 250 + 500

describe('a limit', () => {
  test('of n lets n requests through and refuses the rest until the window ends', async (t) => {
    const { limits } = make(t, { register: 3 })
    t.mock.timers.enable({ apis: ['Date'], now: START })
    const reset_at_s = Math.ceil((START + 60_000) / 1000)
    const expected = { limit: 3, reset_at_s, retry_after_s: 60 }
    for (const remaining of [2, 1, 0]) {
      assert.deepEqual(await limits.take('register', 'a'), {
        allowed: true,
        remaining,
        ...expected,
      })
    }
    const refused = { allowed: false, remaining: 0, ...expected }
    assert.deepEqual(await limits.take('register', 'a'), refused)
    t.mock.timers.setTime(START + 59_999)
    assert.deepEqual(await limits.take('register', 'a'), { ...refused, retry_after_s: 1 })
    t.mock.timers.setTime(START + 60_000)
    assert.deepEqual(await limits.take('register', 'a'), {
      allowed: true,
      limit: 3,
      remaining: 2,
      reset_at_s: reset_at_s + 60,
      retry_after_s: 60,
    })
  })

  test('never lets more than n through in a window, and a caller who waits as told is let through', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: START })
    const { limits } = make(t, {})
    const steps = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 60 })
    let callers = 0
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), steps, (max, waits_ms) => {
        const caller = `caller ${++callers}`
        let window_ends_ms = 0
        let used = 0
        for (const wait_ms of waits_ms) {
          t.mock.timers.setTime(Date.now() + wait_ms)
          if (Date.now() >= window_ends_ms) {
            window_ends_ms = Date.now() + 60_000
            used = 0
          }
          used++
          const slot = limits.take('global', caller, max) as Slot
          assert.equal(slot.allowed, used <= max)
          assert.equal(slot.remaining, Math.max(0, max - used))
          assert.ok(Date.now() + slot.retry_after_s * 1000 >= window_ends_ms)
          assert.ok(slot.reset_at_s * 1000 >= window_ends_ms)
        }
      }),
    )
  })

  test('counts each caller and each limit apart', async (t) => {
    const { limits } = make(t, { register: 1, login: 1 })
    assert.equal((await limits.take('register', 'a')).allowed, true)
    assert.equal((await limits.take('register', 'a')).allowed, false)
    assert.equal((await limits.take('register', 'b')).allowed, true)
    assert.equal((await limits.take('login', 'a')).allowed, true)
  })

  test('can be another for one caller: a key with a limit of its own', async (t) => {
    const { limits } = make(t, { global: 100 })
    const slots = [1, 2, 3].map(() => limits.take('global', 'a', 2) as Slot)
    assert.deepEqual(
      slots.map((slot) => [slot.allowed, slot.limit, slot.remaining]),
      [
        [true, 2, 1],
        [true, 2, 0],
        [false, 2, 0],
      ],
    )
    assert.equal((await limits.take('global', 'b')).limit, 100)
  })

  test('refuses with its own code and says when to come back', async (t) => {
    const { limits, refused } = make(t, { login: 1, password: 1 })
    const codes = { login: 'rate_limit_exceeded', password: 'rate_limited' } as const
    const waits_s = { login: 60, password: 900 }
    for (const name of ['login', 'password'] as const) {
      assert.equal((await limits.require(name, 'a')).remaining, 0)
      await assert.rejects(limits.require(name, 'a'), (error) => {
        assert.ok(error instanceof ApiError)
        assert.equal(error.code, codes[name])
        assert.equal(error.status, 429)
        const retry_after_s = Number(error.headers['retry-after'])
        assert.ok(retry_after_s > waits_s[name] - 5 && retry_after_s <= waits_s[name])
        return true
      })
    }
    assert.deepEqual(refused, ['login', 'password'])
  })

  test('can be looked at without being used', async (t) => {
    const { limits } = make(t, { global: 5 })
    await limits.take('global', 'a')
    for (let i = 0; i < 10; i++) assert.equal(limits.peek('global', 'a').remaining, 4)
    assert.equal(limits.peek('global', 'stranger').remaining, 5)
    assert.equal((await limits.take('global', 'a')).remaining, 3)
  })

  test('is shown in three headers, as numbers', async () => {
    const app = Fastify()
    const slot = {
      allowed: true,
      limit: 7,
      remaining: 6,
      reset_at_s: 1_772_366_461,
      retry_after_s: 9,
    }
    app.get('/', (_request, reply) => {
      setLimitHeaders(reply, slot)
      return {}
    })
    const { headers } = await app.inject('/')
    assert.equal(headers['x-ratelimit-limit'], '7')
    assert.equal(headers['x-ratelimit-remaining'], '6')
    assert.equal(headers['x-ratelimit-reset'], '1772366461')
  })

  test('is what the settings say, in windows of a minute, an hour and 15 minutes', () => {
    const limits = limitsFrom({
      ...loadConfig({}),
      RATE_LIMIT_PER_MINUTE: 11,
      REGISTER_LIMIT_PER_MINUTE: 12,
      LOGIN_LIMIT_PER_MINUTE: 13,
      VERIFICATION_LIMIT_PER_HOUR: 14,
      PASSWORD_LIMIT_PER_15_MINUTES: 15,
    })
    const expected: [LimitName, number, number][] = [
      ['global', 11, 60],
      ['register', 12, 60],
      ['login', 13, 60],
      ['verification', 14, 3600],
      ['password', 15, 900],
    ]
    for (const [name, max, window_s] of expected) {
      assert.deepEqual([limits[name].max, limits[name].window_s], [max, window_s], name)
    }
  })

  test('keeps a bounded number of counters: the one that was idle longest goes first', async (t) => {
    const { limits } = make(t, { global: 2 })
    for (const key of ['idle', 'idle', 'busy', 'busy']) await limits.take('global', key)
    for (let i = 0; i < 250_000; i++) {
      void limits.take('global', `stranger ${i}`)
      if (i % 50_000 === 0) {
        assert.equal((await limits.take('global', 'busy')).allowed, false, `after ${i}`)
      }
    }
    assert.equal(limits.peek('global', 'idle').remaining, 2, 'nothing was ever forgotten')
  })
})

describe('the bucket of an address', () => {
  const octet = fc.nat({ max: 255 })
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join('.'))
  const group = fc.oneof(fc.constant(0), fc.nat({ max: 0xffff }))
  const network = fc
    .tuple(group, group, group, group)
    // ::/64 holds IPv4 in disguise, which has a test of its own.
    .filter((groups) => groups.some((one) => one !== 0))
  const host = fc.tuple(group, group, group, group)

  test('is an IPv4 address itself', () => {
    fc.assert(fc.property(ipv4, (address) => assert.equal(addressBucket(address), address)))
  })

  test('is the IPv4 address for one that is mapped into IPv6, however it is written', () => {
    fc.assert(
      fc.property(ipv4, fc.nat(), (address, seed) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
        const groups = [0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d]
        assert.equal(addressBucket(`::ffff:${address}`), address)
        assert.equal(addressBucket(`::FFFF:${address}`), address)
        assert.equal(addressBucket(`0:0:0:0:0:ffff:${address}`), address)
        assert.equal(addressBucket(write(groups, seed)), address)
      }),
    )
  })

  test('is one for a whole /64 of IPv6, however its addresses are written', () => {
    fc.assert(
      fc.property(
        network,
        fc.tuple(host, fc.nat()),
        fc.tuple(host, fc.nat()),
        (net, one, other) => {
          const left = write([...net, ...one[0]], one[1])
          const right = write([...net, ...other[0]], other[1])
          assert.equal(addressBucket(left), addressBucket(right), `${left} ${right}`)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('is another for every other /64', () => {
    fc.assert(
      fc.property(network, network, host, fc.nat(), (one, other, rest, seed) => {
        if (one.join() === other.join()) return
        const left = write([...one, ...rest], seed)
        const right = write([...other, ...rest], seed)
        assert.notEqual(addressBucket(left), addressBucket(right), `${left} ${right}`)
      }),
      { numRuns: 500 },
    )
  })

  test('does not see the interface of a link-local address', () => {
    assert.equal(addressBucket('fe80::1%eth0'), addressBucket('fe80::2%eth1'))
    assert.equal(addressBucket('fe80::1%eth0'), addressBucket('fe80::1'))
  })

  test('does not see a port that a proxy put behind the address', () => {
    assert.equal(addressBucket('203.0.113.7:50123'), '203.0.113.7')
    assert.equal(addressBucket('[2001:db8::1]:50123'), addressBucket('2001:db8::2'))
  })

  test('is one and the same for everything that is no address', () => {
    const bucket = addressBucket('unknown')
    for (const text of ['', '_hidden', 'a:b', '1.2.3', '1:2:3', 'proxy.example', '::1::2', '%']) {
      assert.equal(addressBucket(text), bucket, JSON.stringify(text))
    }
  })
})

describe('limits shared through Redis', { skip: skipWithoutRedis }, () => {
  let redis: TestRedis

  before(async () => {
    redis = await startRedis()
  })

  test('count together in all processes, in one window', async (t) => {
    const one = await makeShared(t, redis, { global: 5 })
    const other = await makeShared(t, redis, { global: 5 })
    const slots: Slot[] = []
    for (let i = 0; i < 4; i++) {
      slots.push(await one.limits.take('global', 'together'))
      slots.push(await other.limits.take('global', 'together'))
    }
    assert.deepEqual(
      slots.map((slot) => slot.remaining),
      [4, 3, 2, 1, 0, 0, 0, 0],
    )
    assert.deepEqual(
      slots.map((slot) => slot.allowed),
      [true, true, true, true, true, false, false, false],
    )
    const resets = slots.map((slot) => slot.reset_at_s)
    assert.ok(Math.max(...resets) - Math.min(...resets) <= 1, resets.join())
    const in_s = (resets[0] ?? 0) - Date.now() / 1000
    assert.ok(in_s > 55 && in_s <= 61, `${in_s}`)
    assert.deepEqual(one.fallbacks, [])
  })

  test('let exactly n through, however the requests of several processes fall together', async (t) => {
    const makers = [1, 2, 3].map(() => makeShared(t, redis, { global: 50 }))
    const processes = await Promise.all(makers)
    const slots = await Promise.all(
      Array.from({ length: 150 }, async (_, i) => processes[i % 3]?.limits.take('global', 'crowd')),
    )
    assert.equal(slots.filter((slot) => slot?.allowed).length, 50)
  })

  test('count each caller and each limit apart, and know a caller’s own maximum', async (t) => {
    const { limits } = await makeShared(t, redis, { register: 1, login: 1 })
    assert.equal((await limits.take('register', 'a')).allowed, true)
    assert.equal((await limits.take('register', 'a')).allowed, false)
    assert.equal((await limits.take('register', 'b')).allowed, true)
    assert.equal((await limits.take('login', 'a')).allowed, true)
    assert.equal((await limits.take('register', 'a', 3)).limit, 3)
    assert.equal((await limits.take('register', 'a', 3)).allowed, false)
  })

  test('end with their window', async (t) => {
    const { limits } = await makeShared(t, redis, { login: 1 }, { login: 1 })
    assert.equal((await limits.take('login', 'short')).allowed, true)
    assert.equal((await limits.take('login', 'short')).allowed, false)
    const took_ms = await eventually(
      'the window ends',
      async () => (await limits.take('login', 'short')).allowed,
    )
    assert.ok(took_ms > 500 && took_ms < 2_000, `${took_ms} ms`)
  })

  test('go on in each process alone when Redis dies, which is told, and together when it is back', async (t) => {
    const one = await makeShared(t, redis, { global: 3 })
    const other = await makeShared(t, redis, { global: 3 })
    await one.limits.take('global', 'dying')
    await redis.kill()
    await eventually('both notice', () =>
      [one, other].every((each) => each.shared.at(-1) === false),
    )
    for (const each of [one, other]) {
      const slots = []
      for (let i = 0; i < 5; i++) slots.push(await each.limits.take('global', 'dying'))
      // What a process has counted itself is not forgotten with Redis.
      assert.deepEqual(
        slots.map((slot) => slot.allowed),
        [true, true, each === other, false, false],
      )
      assert.equal(each.fallbacks.length, 5)
      const warnings = each.log.lines().filter((line) => line.level === 'warn')
      assert.equal(warnings.length, 1, 'not one line for one outage')
      assert.match(warnings[0]?.msg ?? '', /Redis does not answer.*counts rate limits alone/)
    }
    await redis.restart()
    await eventually('both share again', () =>
      [one, other].every((each) => each.shared.at(-1) === true),
    )
    assert.equal((await one.limits.take('global', 'reborn')).remaining, 2)
    assert.equal((await other.limits.take('global', 'reborn')).remaining, 1)
    assert.deepEqual(one.shared, [true, false, true])
    assert.match(one.log.text(), /rate limits are shared through Redis/)
  })

  test('do not make requests wait for a Redis that hangs, beyond a first short moment', async (t) => {
    const { limits, fallbacks, shared, log } = await makeShared(t, redis, { global: 150 })
    redis.pause()
    t.after(() => redis.resume())
    const started = performance.now()
    const first = await Promise.all(
      Array.from({ length: 100 }, async () => limits.take('global', 'hanging')),
    )
    const first_ms = performance.now() - started
    assert.ok(first_ms < REDIS_PATIENCE_MS, `the first took ${first_ms} ms`)
    // From now on Redis is left alone for a while.
    const then = performance.now()
    const next: Slot[] = []
    for (let i = 0; i < 100; i++) next.push(await limits.take('global', 'hanging'))
    const next_ms = performance.now() - then
    assert.ok(next_ms < REDIS_PATIENCE_MS, `the next 100 took ${next_ms} ms`)
    assert.equal([...first, ...next].filter((slot) => slot.allowed).length, 150)
    assert.equal(fallbacks.length, 200)
    assert.equal(shared.at(-1), false)
    assert.match(log.text(), /Redis does not answer/)

    redis.resume()
    await eventually('it is shared again', async () => {
      await limits.take('global', 'awake')
      return shared.at(-1) === true
    })
  })

  test('count alone when Redis answers with an error', async (t) => {
    const { limits, shared } = await makeShared(t, redis, { global: 2 })
    t.after(() => redis.ask('CONFIG SET maxmemory 0'))
    await redis.ask('CONFIG SET maxmemory 1')
    const slots = []
    for (let i = 0; i < 3; i++) slots.push(await limits.take('global', 'full'))
    assert.deepEqual(
      slots.map((slot) => slot.allowed),
      [true, true, false],
    )
    assert.equal(shared.at(-1), false)
  })

  test('refuse with the same code and time as alone', async (t) => {
    const { limits, refused } = await makeShared(t, redis, { password: 1 })
    await limits.require('password', 'shared refusal')
    await assert.rejects(limits.require('password', 'shared refusal'), (error) => {
      assert.ok(error instanceof ApiError)
      assert.equal(error.code, 'rate_limited')
      const retry_after_s = Number(error.headers['retry-after'])
      assert.ok(retry_after_s > 890 && retry_after_s <= 900)
      return true
    })
    assert.deepEqual(refused, ['password'])
  })

  test('close without waiting for a Redis that hangs', async (t) => {
    const { limits } = await makeShared(t, redis, {})
    redis.pause()
    t.after(() => redis.resume())
    const started = performance.now()
    await limits.close()
    assert.ok(performance.now() - started < REDIS_PATIENCE_MS)
  })

  test('start alone, and say so, when Redis takes connections and does not answer', async (t) => {
    redis.pause()
    t.after(() => redis.resume())
    const { limits, shared, log } = make(t, { global: 1 }, { redis_url: redis.url })
    assert.equal((await limits.take('global', 'early')).allowed, true)
    assert.equal((await limits.take('global', 'early')).allowed, false)
    await eventually('it says so', () => shared.at(-1) === false)
    assert.match(log.text(), /Redis does not answer/)
    redis.resume()
    await eventually('it is shared', () => shared.at(-1) === true)
  })
})

test('a Redis that was never there does not keep requests from being counted, and is told', async (t) => {
  const redis_url = `redis://127.0.0.1:${await freePort()}`
  const { limits, shared, fallbacks, log } = make(t, { global: 1 }, { redis_url })
  assert.equal((await limits.take('global', 'a')).allowed, true)
  assert.equal((await limits.take('global', 'a')).allowed, false)
  assert.equal(fallbacks.length, 2)
  await eventually('it says so', () => shared.at(-1) === false)
  assert.match(log.text(), /Redis does not answer/)
})

test('without Redis the hot path makes no promise, and nobody speaks of a fallback', (t) => {
  const { limits, shared, fallbacks } = make(t, {})
  assert.equal(limits.take('global', 'a') instanceof Promise, false)
  assert.deepEqual([shared, fallbacks], [[], []])
})

function make(
  t: TestContext,
  maxima: Partial<Record<LimitName, number>>,
  options: { redis_url?: string; windows_s?: Partial<Record<LimitName, number>> } = {},
) {
  const limits: Limits = limitsFrom(loadConfig({}))
  for (const name of Object.keys(limits) as LimitName[]) {
    limits[name].max = maxima[name] ?? limits[name].max
    limits[name].window_s = options.windows_s?.[name] ?? limits[name].window_s
  }
  const shared: boolean[] = []
  const fallbacks: true[] = []
  const refused: LimitName[] = []
  const log = collectLog()
  const made = new RateLimits({
    limits,
    redis_url: options.redis_url,
    log: log.log,
    events: {
      onShared: (value) => shared.push(value),
      onFallback: () => fallbacks.push(true),
      onRefused: (name) => refused.push(name),
    },
  })
  t.after(() => made.close())
  return { limits: made, shared, fallbacks, refused, log }
}

/** One process of several, connected. */
async function makeShared(
  t: TestContext,
  redis: TestRedis,
  maxima: Partial<Record<LimitName, number>>,
  windows_s: Partial<Record<LimitName, number>> = {},
) {
  const made = make(t, maxima, { redis_url: redis.url, windows_s })
  await eventually('it is connected', () => made.shared.at(-1) === true)
  return made
}

/** One of the ways RFC 4291 lets eight groups be written, chosen by the seed. */
function write(groups: number[], seed: number): string {
  const upper = seed % 2 === 1
  const padded = seed % 3 === 1
  const dotted = seed % 5 === 1
  const texts = groups.map((one) => one.toString(16).padStart(padded ? 4 : 1, '0'))
  if (dotted) {
    const [high = 0, low = 0] = groups.slice(6)
    texts.splice(6, 2, [high >> 8, high & 255, low >> 8, low & 255].join('.'))
  }
  const zeros = texts.map((text) => /^0+$/.test(text))
  const start = zeros.indexOf(true)
  let text = texts.join(':')
  if (seed % 7 !== 1 && start >= 0) {
    let end = start
    while (zeros[end]) end++
    text = `${texts.slice(0, start).join(':')}::${texts.slice(end).join(':')}`
  }
  text = upper ? text.toUpperCase() : text
  assert.ok(isIPv6(text), text)
  return text
}
