import assert from 'node:assert/strict'
import { before, describe, type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { makeLimits } from '../../test/support/rate-limits.ts'
import { freePort, skipWithoutRedis, startRedis, type TestRedis } from '../../test/support/redis.ts'
import { ApiError } from '../platform/errors.ts'
import type { LimitName, Slot } from './rate-limit.ts'

/** Of one caller: the command's own limit, and what a busy machine adds. */
const REDIS_PATIENCE_MS = 250 + 500

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
    const { limits, shared, log } = makeLimits(t, { global: 1 }, { redis_url: redis.url })
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
  const { limits, shared, fallbacks, log } = makeLimits(t, { global: 1 }, { redis_url })
  assert.equal((await limits.take('global', 'a')).allowed, true)
  assert.equal((await limits.take('global', 'a')).allowed, false)
  assert.equal(fallbacks.length, 2)
  await eventually('it says so', () => shared.at(-1) === false)
  assert.match(log.text(), /Redis does not answer/)
})

/** One process of several, connected. */
async function makeShared(
  t: TestContext,
  redis: TestRedis,
  maxima: Partial<Record<LimitName, number>>,
  windows_s: Partial<Record<LimitName, number>> = {},
) {
  const made = makeLimits(t, maxima, { redis_url: redis.url, windows_s })
  await eventually('it is connected', () => made.shared.at(-1) === true)
  return made
}
