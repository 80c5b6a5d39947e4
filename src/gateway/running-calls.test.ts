import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { type RunningCall, RunningCalls } from './running-calls.ts'

test('a stop waits a while, then tells every call, also one that asks only afterwards', async () => {
  const running = new RunningCalls(1000)
  const [early, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const told: string[] = []
  const calls = [
    run(running, async (call) => {
      call.onStop(() => told.push('early'))
      await early.promise
    }),
    run(running, async (call) => {
      await late.promise
      call.onStop(() => told.push('late'))
    }),
    run(running, async () => {}),
  ]
  await calls[2]
  let finished = false
  const finish = running.finish(200).then(() => {
    finished = true
  })
  await turn()
  assert.deepEqual(told, [])
  await wait(300)
  assert.deepEqual(told, ['early'])
  late.resolve()
  await turn()
  assert.deepEqual([told, finished], [['early', 'late'], false])
  early.resolve()
  await Promise.all([finish, ...calls])
})

test('a stop tells those that still run, in whatever order the others ended', async () => {
  const running = new RunningCalls(1000)
  const told: number[] = []
  const doors = Array.from({ length: 6 }, () => Promise.withResolvers<void>())
  const calls = doors.map((door, index) =>
    run(running, async (call) => {
      call.onStop(() => told.push(index))
      await door.promise
    }),
  )
  for (const index of [1, 5, 0, 4]) {
    doors[index]?.resolve()
    await calls[index]
  }
  const finish = running.finish(1)
  await wait(20)
  assert.deepEqual(
    told.toSorted((left, right) => left - right),
    [2, 3],
  )
  for (const door of doors) door.resolve()
  await Promise.all([finish, ...calls])
})

async function run(calls: RunningCalls, work: (call: RunningCall) => Promise<void>): Promise<void> {
  const call = calls.begin('wallet')
  try {
    await work(call)
  } finally {
    call.end()
  }
}
