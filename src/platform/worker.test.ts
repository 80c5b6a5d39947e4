import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { collectLog } from '../../test/support/log.ts'
import { type Job, type JobOutcome, Worker } from './worker.ts'

const NEVER_MS = 3_600_000

describe('a job', () => {
  test('runs again and again, each time about its interval after the last', async (t) => {
    const { observed, start } = make(t, [{ name: 'tick', every_ms: 20, run: async () => {} }])
    const started = performance.now()
    start()
    await eventually('it ran six times', () => observed.length >= 6)
    // Five intervals of 20 ms, each at most 5 % shorter; timers may be a millisecond early.
    assert.ok(performance.now() - started > 5 * (19 - 1))
  })

  test('never overlaps itself, however long it takes and however often it is kicked', async (t) => {
    let running = 0
    let most = 0
    let runs = 0
    const { worker, start } = make(t, [
      {
        name: 'slow',
        every_ms: 1,
        run: async () => {
          most = Math.max(most, ++running)
          for (let i = 0; i < 5; i++) {
            worker.kick('slow')
            await new Promise((resolve) => setTimeout(resolve, 1))
          }
          running--
          runs++
        },
      },
    ])
    start()
    await eventually('it ran ten times', () => runs >= 10)
    assert.equal(most, 1)
  })

  test('does not hold up another', async (t) => {
    const forever = Promise.withResolvers<void>()
    const { observed, start } = make(t, [
      { name: 'stuck', every_ms: 1, run: () => forever.promise },
      { name: 'lively', every_ms: 1, run: async () => {} },
    ])
    start()
    await eventually('the other ran', () => observed.length >= 3)
    assert.ok(observed.every(([name]) => name === 'lively'))
    forever.resolve()
  })

  test('that fails, later or at once, is logged, counted and run again', async (t) => {
    let runs = 0
    const { observed, log, start } = make(t, [
      {
        name: 'shaky',
        every_ms: 1,
        run: () => {
          runs++
          if (runs === 1) throw new Error('at once')
          return runs === 2 ? Promise.reject(new Error('later')) : Promise.resolve()
        },
      },
    ])
    start()
    await eventually('it ran three times', () => observed.length >= 3)
    assert.deepEqual(observed.slice(0, 3), [
      ['shaky', 'failed'],
      ['shaky', 'failed'],
      ['shaky', 'ok'],
    ])
    const failures = log.lines().filter((line) => line.level === 'error')
    assert.deepEqual(
      failures.map((line) => [line['job'], (line['err'] as { message: string }).message]),
      [
        ['shaky', 'at once'],
        ['shaky', 'later'],
      ],
    )
  })
})

describe('a kick', () => {
  test('runs a job now that would have had to wait', async (t) => {
    const { observed, worker, start } = make(t, [rare('mail')])
    start()
    worker.kick('mail')
    await eventually('it ran', () => observed.length === 1)
  })

  test('during a run makes one more run after it: what was queued meanwhile is not left', async (t) => {
    const gates: PromiseWithResolvers<void>[] = []
    const { observed, worker, start } = make(t, [
      {
        ...rare('mail'),
        run: () => {
          const gate = Promise.withResolvers<void>()
          gates.push(gate)
          return gate.promise
        },
      },
    ])
    start()
    worker.kick('mail')
    await eventually('it runs', () => gates.length === 1)
    worker.kick('mail')
    worker.kick('mail')
    gates[0]?.resolve()
    await eventually('it runs once more', () => gates.length === 2)
    gates[1]?.resolve()
    await eventually('both runs are done', () => observed.length === 2)
    await turns(20)
    assert.equal(gates.length, 2, 'two kicks made two runs')
  })

  test('before a run that waits for its turn makes one run, not two', async (t) => {
    const { observed, worker, start } = make(t, [rare('mail'), rare('marker')])
    start()
    worker.kick('mail')
    worker.kick('mail')
    worker.kick('mail')
    worker.kick('marker')
    await eventually('the marker ran', () => observed.some(([name]) => name === 'marker'))
    assert.deepEqual(
      observed.map(([name]) => name),
      ['mail', 'marker'],
    )
  })

  test('of a job that this process does not run does nothing', (t) => {
    make(t, [rare('mail')]).worker.kick('unheard of')
  })
})

describe('a stop', () => {
  test('tells the running job, waits for its end, and lets nothing start again', async (t) => {
    const end = Promise.withResolvers<void>()
    let told: AbortSignal | undefined
    let stopped = false
    let runs = 0
    const { observed, worker, start } = make(t, [
      {
        name: 'long',
        every_ms: 1,
        run: async (signal) => {
          runs++
          told = signal
          await end.promise
        },
      },
    ])
    start()
    await eventually('it runs', () => told !== undefined)
    worker.kick('long')
    assert.equal(told?.aborted, false)
    const stopping = worker.stop().then(() => {
      stopped = true
    })
    assert.equal(told?.aborted, true)
    await turns(20)
    assert.equal(stopped, false, 'it did not wait')
    end.resolve()
    await stopping
    assert.deepEqual(observed, [['long', 'ok']])
    worker.kick('long')
    await turns(20)
    assert.equal(runs, 1)
  })

  test('before the first turn lets nothing start', async (t) => {
    const { observed, worker, start } = make(t, [
      { name: 'soon', every_ms: 10, run: async () => {} },
    ])
    start()
    await worker.stop()
    await turns(20)
    assert.deepEqual(observed, [])
  })
})

function make(t: TestContext, jobs: Job[]) {
  const observed: [string, JobOutcome][] = []
  const log = collectLog()
  const worker = new Worker({
    log: log.log,
    observe: (job, outcome, seconds) => {
      assert.ok(seconds >= 0 && seconds < 60)
      observed.push([job, outcome])
    },
  })
  t.after(() => worker.stop())
  return { worker, observed, log, start: () => worker.start(jobs) }
}

function rare(name: string): Job {
  return { name, every_ms: NEVER_MS, run: async () => {} }
}

/** Time for everything that is due to happen: timers of 1 ms fire in each. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setTimeout(resolve, 1))
}
