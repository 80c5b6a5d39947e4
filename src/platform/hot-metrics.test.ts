import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Counter, Histogram, Registry } from 'prom-client'
import { asMetric, HotCounter, HotHistogram } from './hot-metrics.ts'

const named = (name: string) => ({ name, help: 'Something.' })

test('what Prometheus reads is what the library itself would have written', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const buckets = [0.01, 0.1, 1]
  const counter = new HotCounter({ ...named('calls_total'), labels: ['model', 'outcome'] })
  const histogram = new HotHistogram({ ...named('seconds'), labels: ['model'], buckets })
  for (const metric of [counter, histogram]) ours.registerMetric(asMetric(metric))
  const registers = [theirs]
  const labelNames = ['model', 'outcome']
  const their_counter = new Counter({ ...named('calls_total'), labelNames, registers })
  const their_histogram = new Histogram({
    ...named('seconds'),
    labelNames: ['model'],
    buckets,
    registers,
  })
  for (const [model, outcome, by] of [
    ['a', 'complete', 1],
    ['b "quoted"', 'failed', 3],
    ['a', 'complete', 2.5],
  ] as const) {
    counter.add([model, outcome], by)
    their_counter.labels(model, outcome).inc(by)
  }
  for (const seconds of [0, 0.01, 0.02, 1, 2]) {
    histogram.observe(['a'], seconds)
    their_histogram.labels('a').observe(seconds)
  }
  assert.equal(await ours.metrics(), await theirs.metrics())
})
