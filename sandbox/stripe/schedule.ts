// Work that is due at a moment of the stand-in's clock: a delayed payment that settles, a Checkout
// session that expires. Moving the clock makes it happen at once.

import type { Clock } from './clock.ts'

const MAX_TASKS = 100_000
const MAX_SLEEP_MS = 60_000

export type Schedule = {
  add(due_ms: number, run: () => void): void
  /** Does what is due, oldest first, and sleeps until the next. */
  runDue(): void
  stop(): void
}

type Task = { due_ms: number; run: () => void }

export function createSchedule(clock: Clock): Schedule {
  const tasks: Task[] = []
  let timer: NodeJS.Timeout | undefined

  function sleep(): void {
    clearTimeout(timer)
    const next = tasks[0]
    if (next === undefined || clock.isStopped()) return
    const wait_ms = Math.min(Math.max(next.due_ms - clock.nowMs(), 0), MAX_SLEEP_MS)
    timer = setTimeout(runDue, wait_ms).unref()
  }

  function runDue(): void {
    const now_ms = clock.nowMs()
    const end = findPlace(tasks, now_ms)
    for (const task of tasks.splice(0, end)) task.run()
    sleep()
  }

  return {
    add(due_ms, run) {
      // A person cannot wait for what falls off the end; a load test does not look.
      if (tasks.length >= MAX_TASKS) tasks.pop()
      const place = findPlace(tasks, due_ms)
      tasks.splice(place, 0, { due_ms, run })
      if (place === 0) sleep()
    },
    runDue,
    stop() {
      clearTimeout(timer)
      tasks.length = 0
    },
  }
}

/** The number of tasks that are due at the moment or before it. */
function findPlace(tasks: readonly Task[], moment_ms: number): number {
  let low = 0
  let high = tasks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((tasks[middle]?.due_ms ?? Infinity) <= moment_ms) low = middle + 1
    else high = middle
  }
  return low
}
