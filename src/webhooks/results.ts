// Writes what came of attempts, in batches: while one is being written, the next gathers.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import { isRefused } from '../platform/sql-errors.ts'
import { finishDeliveries } from './delivery-store.ts'
import { type CountedAttempt, countAttempts } from './stats.ts'

const RESULTS_IN_BATCH = 500
const WRITE_RETRY_MS = 500
/** Nobody waits for what is written: what comes back within this time is written together. */
const WRITE_GAP_MS = 40

export type Result = {
  item: { id: string; created_at: Date } & Record<string, unknown>
  counted: CountedAttempt
}

export class Results {
  readonly #db: Db
  readonly #log: Log
  #waiting: Result[] = []
  #writing: Promise<void> | undefined
  #stopped = false

  constructor({ db, log }: { db: Db; log: Log }) {
    this.#db = db
    this.#log = log
  }

  get are_written(): boolean {
    return this.#waiting.length === 0 && !this.#writing
  }

  record(result: Result): void {
    this.#waiting.push(result)
    this.#writing ??= this.#write()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      if (this.#waiting.length < RESULTS_IN_BATCH && !this.#stopped) await sleep(WRITE_GAP_MS)
      const batch = this.#takeBatch()
      try {
        await this.#writeBatch(batch)
      } catch (error) {
        if (isRefused(error)) {
          await this.#writeOneByOne(batch)
          continue
        }
        this.#log.warn({ err: error, results: batch.length }, 'attempts not written yet')
        // Without a result they are sent again when their lease is over: to a stop that is soon enough.
        if (this.#stopped) break
        this.#waiting.unshift(...batch)
        await sleep(WRITE_RETRY_MS)
      }
    }
    // Here, and not when the promise is settled: what comes back in between would wait for nobody.
    this.#writing = undefined
  }

  /** So that one that can never be written keeps no other from it. Without a result it is sent again. */
  async #writeOneByOne(batch: readonly Result[]): Promise<void> {
    for (const result of batch) {
      try {
        await this.#writeBatch([result])
      } catch (error) {
        const { id: delivery_id } = result.item
        this.#log.error({ err: error, delivery_id }, 'the result of an attempt cannot be written')
      }
    }
  }

  /** One result of each delivery: of two, an UPDATE would take either. */
  #takeBatch(): Result[] {
    const batch = new Map<string, Result>()
    const later: Result[] = []
    for (const result of this.#waiting.splice(0, RESULTS_IN_BATCH)) {
      if (batch.has(result.item.id)) later.push(result)
      else batch.set(result.item.id, result)
    }
    this.#waiting.unshift(...later)
    return [...batch.values()]
  }

  async #writeBatch(batch: readonly Result[]): Promise<void> {
    const items = batch.map(({ item }) => item).sort((a, b) => (a.id < b.id ? -1 : 1))
    const counts = countAttempts(batch.map(({ counted }) => counted))
    await finishDeliveries(this.#db, items, counts)
  }
}
