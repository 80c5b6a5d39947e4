import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
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

function holdTasks(gate: Gate, count: number) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const held = Array.from({ length: count }, () => gate.run(() => promise))
  return { held, release: resolve }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
