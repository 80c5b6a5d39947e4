// A batcher of numbers that doubles them, for the tests of batches and of what waits apart from them.

import type { Failure, QueueOptions } from './batch-entry.ts'
import { Batcher, type BatcherOptions } from './batcher.ts'

export class Wanted extends Error {
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure)
    this.failure = failure
  }
}

export const LIMITS: QueueOptions = {
  name: 'number',
  batch_limit: 4,
  queue_limit: 10,
  apart_limit: 10,
  queue_age_limit_ms: 1_000,
  give_up_after_ms: 1_000,
}

/** Unless said otherwise each number is a key of its own, nobody keeps one, and what waits apart is sent alike. */
export function make(options: Partial<BatcherOptions<number, number> & QueueOptions>) {
  const send = options.send ?? (async (items: readonly number[]) => items.map((item) => item * 2))
  return new Batcher<number, number>({
    queues: [{ ...LIMITS, ...options }],
    send,
    sendApart: send,
    keyOf: String,
    findLocked: async () => new Set(),
    findLockedApart: async () => new Set(),
    classify: (error) => (error instanceof Wanted ? error.failure : 'refused'),
    ...options,
  })
}
