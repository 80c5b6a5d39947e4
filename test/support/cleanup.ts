// What a test file must undo at its end, in reverse order. Registered once for the whole file: `after` inside
// an asynchronous suite would attach to whichever suite happens to be under construction.

import { after } from 'node:test'

const tasks: (() => unknown)[] = []

after(async () => {
  for (const task of tasks.toReversed()) await task()
})

export function atEnd(task: () => unknown): void {
  tasks.push(task)
}
