import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrozenClock, systemClock } from './clock.ts'

test('the system clock tells the present time', () => {
  const earliest = Date.now()
  const now = systemClock.now().getTime()
  assert.ok(now >= earliest && now <= Date.now())
})

test('a frozen clock moves only when told to, and by exactly that', () => {
  const clock = new FrozenClock('2026-03-01T12:00:00Z')
  assert.equal(clock.now().toISOString(), '2026-03-01T12:00:00.000Z')
  clock.advance(90_000)
  assert.equal(clock.now().toISOString(), '2026-03-01T12:01:30.000Z')
})

test('nobody can move a frozen clock through a date it gave or was given', () => {
  const start = new Date('2026-03-01T12:00:00Z')
  const clock = new FrozenClock(start)
  start.setFullYear(1999)
  clock.now().setFullYear(1999)
  assert.equal(clock.now().toISOString(), '2026-03-01T12:00:00.000Z')
})
