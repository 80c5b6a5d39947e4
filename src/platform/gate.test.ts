import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { Gate, GateFull } from './gate.ts'

test('never more tasks run at once than the limit, all of them run, and every result is its own', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 6 }),
      fc.array(
        fc.record({ arrives: fc.nat({ max: 20 }), turns: fc.nat({ max: 5 }), fails: fc.boolean() }),
        { maxLength: 40 },
      ),
      async (limit, tasks) => {
        const gate = new Gate({ limit, queue_limit: tasks.length })
        let running = 0
        let most = 0
        const results = await Promise.allSettled(
          tasks.map(async ({ arrives, turns, fails }, index) => {
            for (let turn = 0; turn < arrives; turn++) await nextTurn()
            return await gate.run(async () => {
              most = Math.max(most, ++running)
              for (let turn = 0; turn < turns; turn++) await nextTurn()
              running--
              if (fails) throw new Error(`task ${index}`)
              return index
            })
          }),
        )
        assert.ok(most <= limit, `${most} ran at once`)
        assert.equal(running, 0)
        results.forEach((result, index) => {
          if (result.status === 'fulfilled') assert.equal(result.value, index)
          else assert.match(String(result.reason), new RegExp(`task ${index}$`))
          assert.equal(result.status, tasks[index]?.fails ? 'rejected' : 'fulfilled')
        })
      },
    ),
    { numRuns: 60 },
  )
})

test('as many tasks run at once as the limit allows', async () => {
  const gate = new Gate({ limit: 3, queue_limit: 0 })
  const { held, release } = holdTasks(gate, 3)
  release()
  await Promise.all(held)
})

test('a full queue refuses without running the task, and takes tasks again when there is room', async () => {
  const gate = new Gate({ limit: 1, queue_limit: 2 })
  const { held, release } = holdTasks(gate, 3)
  let ran = false
  await assert.rejects(
    gate.run(async () => {
      ran = true
    }),
    GateFull,
  )
  assert.equal(ran, false)
  release()
  await Promise.all(held)
  assert.equal(await gate.run(async () => 'room'), 'room')
})

test('a task that fails, at once or later, frees its place', async () => {
  const gate = new Gate({ limit: 1, queue_limit: 0 })
  const failsAtOnce = () => {
    throw new Error('at once')
  }
  await assert.rejects(gate.run(failsAtOnce), /at once/)
  await assert.rejects(
    gate.run(async () => {
      await nextTurn()
      throw new Error('later')
    }),
    /later/,
  )
  assert.equal(await gate.run(async () => 'free'), 'free')
})

test('tasks that wait are taken in the order they came', async () => {
  const gate = new Gate({ limit: 1, queue_limit: 10 })
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      gate.run(async () => {
        order.push(index)
        await nextTurn()
      }),
    ),
  )
  assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('no kind of task starves another: each has a queue of its own, and a free place goes to them in turn', async () => {
  const gate = new Gate({ limit: 1, queue_limit: 20 })
  const { held, release } = holdTasks(gate, 1)
  const order: string[] = []
  const add = (kind: string, caller: string) =>
    gate.run(
      async () => {
        order.push(kind)
      },
      { kind, caller },
    )
  const resets = Array.from({ length: 20 }, (_, i) => add('reset', `${i}`))
  await assert.rejects(add('reset', 'late'), GateFull)
  const sign_ins = Array.from({ length: 3 }, (_, i) => add('sign_in', `${i}`))
  release()
  await Promise.all([...held, ...resets, ...sign_ins])
  assert.deepEqual(order.slice(0, 4), ['reset', 'sign_in', 'reset', 'sign_in'])
})

test('within a kind callers take turns, and one who fills the queue gives way to a newcomer', async () => {
  const gate = new Gate({ limit: 1, queue_limit: 10 })
  const { held, release } = holdTasks(gate, 1)
  const order: string[] = []
  const add = (caller: string) =>
    gate.run(
      async () => {
        order.push(caller)
      },
      { kind: 'sign_in', caller },
    )
  const greedy = Array.from({ length: 10 }, () => add('greedy'))
  await assert.rejects(add('greedy'), GateFull)
  const modest = [add('one'), add('two')]
  release()
  const outcomes = await Promise.allSettled([...held, ...greedy])
  await Promise.all(modest)
  assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 2)
  assert.deepEqual(order.slice(0, 4), ['greedy', 'one', 'two', 'greedy'])
  assert.equal(order.length, 10)
})

function holdTasks(gate: Gate, count: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = Array.from({ length: count }, () => gate.run(() => promise))
  return { held, release: resolve }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
