import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Histogram } from 'prom-client'
import { percentilesOf } from './percentiles.ts'

function histogram() {
  return new Histogram({
    name: 'test_seconds',
    help: 'Of the test.',
    labelNames: ['route'] as const,
    buckets: [0.01, 0.1, 1],
    registers: [],
  })
}

test('without an observation there is no percentile', async () => {
  assert.deepEqual(await percentilesOf(histogram()), { count: 0, p50_ms: null, p95_ms: null })
})

test('a percentile stands in its bucket as far in as its rank, over all labels that count', async () => {
  const times = histogram()
  for (let made = 0; made < 90; made++) times.labels('a').observe(0.005)
  for (let made = 0; made < 10; made++) times.labels('b').observe(0.5)
  for (let made = 0; made < 500; made++) times.labels('left out').observe(30)
  const found = await percentilesOf(times, ({ route }) => route !== 'left out')
  assert.deepEqual(found, { count: 100, p50_ms: 5.56, p95_ms: 550 })
})

test('what is beyond the last bucket counts as its end', async () => {
  const times = histogram()
  times.labels('a').observe(30)
  assert.deepEqual(await percentilesOf(times), { count: 1, p50_ms: 1000, p95_ms: 1000 })
})
