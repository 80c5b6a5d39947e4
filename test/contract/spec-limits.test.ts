// The limits of a service that nobody has configured are those of the specification.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { type LimitName, limitsFrom } from '../../src/http/rate-limit.ts'

test('without settings: 100 requests, 3 registrations and 5 logins a minute, 3 mails an hour, 5 passwords in 15 minutes', () => {
  const limits = limitsFrom(loadConfig({}))
  const expected: [LimitName, number, number][] = [
    ['global', 100, 60],
    ['register', 3, 60],
    ['login', 5, 60],
    ['verification', 3, 3600],
    ['password', 5, 900],
  ]
  for (const [name, max, window_s] of expected) {
    assert.deepEqual([limits[name].max, limits[name].window_s], [max, window_s], name)
  }
})

test('without settings of their own, the budgets of registration grow with that of one address', () => {
  const names = ['register', 'register_site', 'register_region', 'register_service'] as const
  const budgets = (REGISTER_LIMIT_PER_MINUTE: string) => {
    const limits = limitsFrom(loadConfig({ REGISTER_LIMIT_PER_MINUTE }))
    return names.map((name) => limits[name].max)
  }
  assert.deepEqual(budgets('3'), [3, 9, 30, 300])
  assert.deepEqual(budgets('1000000'), [1e6, 3e6, 1e7, 1e8])
})
