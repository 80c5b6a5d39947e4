// Nobody chooses how much memory the counters of the limits take, nor for how long.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApp } from '../support/app.ts'
import { makeLimits } from '../support/rate-limits.ts'

const HOSTILE_KEYS = 200_000
const MEGABYTE = 1_000_000

test('200,000 keys of 2 KB take less than 120 MB, and nothing once their windows are over', async (t) => {
  const { limits } = makeLimits(t, {})
  const padding = 'x'.repeat(2_000)
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  for (let i = 0; i < HOSTILE_KEYS; i++) limits.takeInMemory('recovery', `${i}${padding}`)
  globalThis.gc?.()
  const grown_mb = (process.memoryUsage().heapUsed - before) / MEGABYTE
  // 400 MB of keys; without a collector to call, some of them may not be gone yet.
  assert.ok(grown_mb < 120, `${Math.round(grown_mb)} MB`)
  assert.ok(limits.size <= HOSTILE_KEYS)
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 61_000 })
  limits.forgetExpired()
  assert.equal(limits.size, 0)
})

test('two long keys are still two, and a long one is counted like a short one', async (t) => {
  const { limits } = makeLimits(t, { login: 1 })
  const long = 'x'.repeat(30_000)
  assert.equal((await limits.take('login', `${long}a`)).allowed, true)
  assert.equal((await limits.take('login', `${long}b`)).allowed, true)
  assert.equal((await limits.take('login', `${long}a`)).allowed, false)
})

test('an email address of more than 254 characters is refused before anything is counted for it', async () => {
  const service = await createApp()
  const email = `${'a'.repeat(250)}@x.test`
  const before = service.parts.limits.size
  for (const url of ['/auth/login', '/auth/forgot-password', '/auth/register']) {
    const reply = await service.post(url, { email, password: 'long enough' })
    assert.deepEqual([reply.statusCode, reply.json().error.code], [400, 'invalid_email'], url)
  }
  // What the address of the caller counts for: all requests, sign-ins, recovery, registration.
  assert.ok(service.parts.limits.size <= before + 4)
})
