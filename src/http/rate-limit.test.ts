import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import Fastify from 'fastify'
import { makeLimits } from '../../test/support/rate-limits.ts'
import { fc } from '../../test/support/same-cases.ts'
import { loadConfig } from '../config.ts'
import { ApiError } from '../platform/errors.ts'
import { type LimitName, limitsFrom, setLimitHeaders } from './rate-limit.ts'

const START = Date.parse('2026-03-01T12:00:00.250Z')

describe('a limit', () => {
  test('of n lets n requests through and refuses the rest until the window ends', async (t) => {
    const { limits } = makeLimits(t, { register: 3 })
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
    const { limits } = makeLimits(t, {})
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
          const slot = limits.takeInMemory('global', caller, max)
          assert.equal(slot.allowed, used <= max)
          assert.equal(slot.remaining, Math.max(0, max - used))
          assert.ok(Date.now() + slot.retry_after_s * 1000 >= window_ends_ms)
          assert.ok(slot.reset_at_s * 1000 >= window_ends_ms)
        }
      }),
    )
  })

  test('counts each caller and each limit apart', async (t) => {
    const { limits } = makeLimits(t, { register: 1, login: 1 })
    assert.equal((await limits.take('register', 'a')).allowed, true)
    assert.equal((await limits.take('register', 'a')).allowed, false)
    assert.equal((await limits.take('register', 'b')).allowed, true)
    assert.equal((await limits.take('login', 'a')).allowed, true)
  })

  test('can be another for one caller: a key with a limit of its own', async (t) => {
    const { limits } = makeLimits(t, { global: 100 })
    const slots = [1, 2, 3].map(() => limits.takeInMemory('global', 'a', 2))
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
    const { limits, refused } = makeLimits(t, { login: 1, password: 1 })
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
    const { limits } = makeLimits(t, { global: 5 })
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
    const { limits } = makeLimits(t, { global: 2 })
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

test('without Redis this process counts, and nobody speaks of a fallback', async (t) => {
  const { limits, shared, fallbacks } = makeLimits(t, {})
  assert.equal(limits.shared, false)
  assert.equal(limits.takeInMemory('global', 'a').allowed, true)
  assert.equal((await limits.take('global', 'a')).allowed, true)
  assert.deepEqual([shared, fallbacks], [[], []])
})
