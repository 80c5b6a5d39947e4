// Calls that had a payer and cost nothing: refused, or failed before anything was delivered. They are no part of the
// book, so they are collected in memory and written in batches beside the calls.

import type { Db } from '../platform/db.ts'
import type { ErrorCode } from '../platform/errors.ts'
import { toJson } from '../platform/money.ts'
import { isRefused } from '../platform/sql-errors.ts'
import type { Job } from '../platform/worker.ts'
import { bucketOf } from '../wallet/bucket.ts'
import type { Endpoint } from '../wallet/holds.ts'
import { RECORD_FAILED_CALLS } from './store.ts'

export type FailedCall = {
  /** Minted with mintWalletId. */
  id: string
  wallet_id: string
  developer_id: string
  key_id: string | null
  client_id: string | null
  external_user_id: string | null
  billing_mode: 'developer' | 'user'
  endpoint: Endpoint
  /** As it was asked for. */
  model: string
  upstream_model: string | null
  stream: boolean
  /** The 32 digits after "req_". */
  request_id: string
  /** `refused` before a provider was asked, or as of a call that is charged. */
  outcome: string
  /** Null where nothing was wrong but that the client left. */
  error_code: ErrorCode | null
  http_status: number
  total_ms: number
}

const FLUSH_EVERY_MS = 1_000
const BATCH_MAX = 500
/** Beyond this many between two flushes the rest is counted, and not kept. */
const WAITING_MAX = 20_000
const MODEL_LENGTH_MAX = 100

export class FailedCalls {
  #waiting: FailedCall[] = []
  readonly #onDropped: (count: number) => void

  constructor(onDropped: (count: number) => void) {
    this.#onDropped = onDropped
  }

  note(call: FailedCall): void {
    if (this.#waiting.length < WAITING_MAX) this.#waiting.push(call)
    else this.#onDropped(1)
  }

  /** A batch that is written twice is counted once, so one whose outcome is not known is simply written again. */
  async flush(db: Db): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX)
      try {
        await db.run(RECORD_FAILED_CALLS, [toJson(batch.map(presentCall))])
      } catch (error) {
        if (isRefused(error)) this.#onDropped(batch.length)
        else this.#keep(batch)
        throw error
      }
    }
  }

  #keep(batch: readonly FailedCall[]): void {
    const all = [...batch, ...this.#waiting]
    this.#waiting = all.slice(0, WAITING_MAX)
    if (all.length > WAITING_MAX) this.#onDropped(all.length - WAITING_MAX)
  }
}

/** Runs in every process that serves HTTP, because each collects its own. */
export function failedCallsJob(db: Db, failed_calls: FailedCalls): Job {
  return {
    name: 'usage.failed_calls',
    every_ms: FLUSH_EVERY_MS,
    run: () => failed_calls.flush(db),
  }
}

function presentCall(call: FailedCall) {
  return {
    ...call,
    bucket: bucketOf(call.wallet_id),
    // Whatever a client sends as a name has to be text that can be stored.
    model: call.model.slice(0, MODEL_LENGTH_MAX).replaceAll('\0', '').toWellFormed(),
  }
}
