// One item on its way through a batcher, from the queue to its answer.

import { ApiError } from '../../platform/errors.ts'

/**
 * What a failed batch means; every batch is safe to send again. `unreachable`: the server is away and nothing was sent.
 * `unknown`: it was sent, and no answer came. `failed`: the server reported a failure of which nobody can say whose it
 * is. Of the others nothing was done. `conflict`: the server asked us to try again; fewer items at once may help.
 * `blocked`: somebody keeps what an item needs. `refused`: some item in it is bad.
 */
export type Failure = 'unreachable' | 'unknown' | 'failed' | 'conflict' | 'blocked' | 'refused'

/** Where items wait. Those of one queue never take the room of another. */
export type QueueOptions = {
  name: string
  /** At most so many of this queue in one batch. */
  batch_limit: number
  queue_limit: number
  /** How many of it may wait apart from the others, beside those in the queue. */
  apart_limit: number
  /** New items are refused while the oldest waiting one is older than this. */
  queue_age_limit_ms: number
  /** An item is given up after this long. */
  give_up_after_ms: number
}

/** One answer for each item, in the same order. Must be safe to repeat with the same items. */
export type Send<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>

/** What happens to a queue's items that is worth counting. */
export type BatchEvent<Item> =
  | { kind: 'sent'; items: readonly Item[]; seconds: number }
  | { kind: 'failed'; items: readonly Item[]; failure: Failure; error: unknown }
  | { kind: 'turned_away' | 'given_up'; queue: string }
  /** It has its answer, but an earlier copy of it may still be on its way. */
  | { kind: 'found_out'; item: Item }

export type Entry<Item, Result> = {
  item: Item
  queue: Queue<Item, Result>
  queued_at: number
  give_up_at: number
  /** It was sent, and nobody knows what became of it. */
  unknown: boolean
  answered: boolean
  resolve(result: Result): void
  reject(error: unknown): void
}

export type Entries<Item, Result> = readonly Entry<Item, Result>[]

export type Queue<Item, Result> = {
  limits: QueueOptions
  entries: Entry<Item, Result>[]
  /** How many of its entries wait apart. */
  apart: number
  closed: boolean
}

/** Whether a queue takes one more. */
export function hasRoom<Item, Result>(
  { limits, entries, apart }: Queue<Item, Result>,
  now: number,
  goes_apart: boolean,
): boolean {
  if (goes_apart) return apart < limits.apart_limit
  const oldest = entries[0]
  const aged = oldest !== undefined && now - oldest.queued_at > limits.queue_age_limit_ms
  return !aged && entries.length < limits.queue_limit
}

/** The item was sent, or may have been; nobody knows what became of it. Sending it again finds out. */
export class GivenUp extends ApiError {
  constructor(queue: string) {
    super('service_unavailable', {
      message: 'The connection to the database was lost: the change may or may not have been made.',
      hint: 'Look before you repeat it; with an Idempotency-Key simply repeat it.',
      detail: `a ${queue} was given up; the outcome is unknown`,
      headers: { 'retry-after': '1' },
    })
  }
}

export type Watcher<Item> = {
  classify: (error: unknown) => Failure
  observe?: (event: BatchEvent<Item>) => void
}

export type FailedBatch = { kind: Failure; error: unknown }

/** Sends them once and answers each; nothing is answered where it fails. */
export async function attempt<Item, Result>(
  entries: Entries<Item, Result>,
  send: Send<Item, Result>,
  { classify, observe }: Watcher<Item>,
): Promise<FailedBatch | undefined> {
  const items = entries.map((entry) => entry.item)
  const started = performance.now()
  let results: readonly Result[] | undefined
  try {
    results = await send(items)
    if (results.length !== entries.length) throw new Error('a batch lacks an answer')
  } catch (error) {
    const kind = classify(error)
    // An answer that lacks one comes after the commit, and a server that goes away may report that after one.
    if (kind === 'unknown' || kind === 'failed' || results) {
      for (const entry of entries) entry.unknown = true
    }
    observe?.({ kind: 'failed', items, failure: kind, error })
    return { kind, error }
  }
  const answers = results
  entries.forEach((entry, index) => {
    if (entry.unknown) observe?.({ kind: 'found_out', item: entry.item })
    entry.answered = true
    entry.resolve(answers[index] as Result)
  })
  observe?.({ kind: 'sent', items, seconds: (performance.now() - started) / 1000 })
  return undefined
}

/** Gives up those whose time is over; answers the others. */
export function dropExpired<Item, Result>(
  entries: Entries<Item, Result>,
  watcher: Watcher<Item>,
): Entry<Item, Result>[] {
  const now = performance.now()
  const live: Entry<Item, Result>[] = []
  for (const entry of entries) {
    if (entry.answered) continue
    if (entry.give_up_at > now) {
      live.push(entry)
      continue
    }
    giveUp(entry, watcher)
  }
  return live
}

export function giveUp<Item, Result>(entry: Entry<Item, Result>, { observe }: Watcher<Item>): void {
  if (entry.answered) return
  entry.answered = true
  const { name } = entry.queue.limits
  observe?.({ kind: 'given_up', queue: name })
  entry.reject(entry.unknown ? new GivenUp(name) : busy(`a ${name} waited too long`))
}

/** The item itself is at fault: it will never be written, however often it is sent. */
export class RefusedItem extends ApiError {
  constructor(queue: string, cause: unknown) {
    super('service_unavailable', {
      detail: `a ${queue} was refused`,
      cause,
      headers: { 'retry-after': '1' },
    })
  }
}

/** What the server said is for the log; it may quote the item. */
export function refuse<Item, Result>(entry: Entry<Item, Result>, error: unknown): void {
  const { name } = entry.queue.limits
  entry.answered = true
  if (error instanceof ApiError) entry.reject(error)
  else entry.reject(entry.unknown ? new GivenUp(name) : new RefusedItem(name, error))
}

export function busy(detail: string, cause?: unknown): ApiError {
  return new ApiError('service_unavailable', { detail, cause, headers: { 'retry-after': '1' } })
}
