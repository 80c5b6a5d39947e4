// One call that this process makes for an Idempotency-Key, from the claim to what is kept of it. A call that cost
// nothing gives its key back. A call that was charged keeps it, with its answer or with its fault. Where nobody knows
// whether it was charged the claim stays as it is, and the ledger decides for whoever asks again.

import type { Db } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import type { Usage } from '../dialects/chat-types.ts'
import type { SvcNumbers } from '../dialects/dialect.ts'
import type { UpstreamFrame } from '../upstreams/contract.ts'
import { type KeptResult, RESULT_MAX_BYTES, type StreamFrame, toColumns } from './kept-result.ts'
import type { Shares } from './shares.ts'
import { type CallRow, DELETE_CLAIM, KEEP_RESULT } from './store.ts'
import { StreamRecord } from './stream-record.ts'

/** The developer, the payer's wallet, the endpoint and the key: where the claim stands. */
export type ClaimPlace = readonly [string, string, string, string]

const DROPPED = ['dropped', [null, null, null, 0]] as const

export type ClaimParts = { db: Db; log: Log; shares: Shares }

export class Claim {
  /** Of the hold and the usage row. */
  readonly id: string
  readonly #parts: ClaimParts
  readonly #place: ClaimPlace
  readonly #attempt: number
  readonly #record = new StreamRecord()
  #charge: 'none' | 'unknown' | 'made' = 'none'

  constructor(
    parts: ClaimParts,
    { place, id, attempt }: { place: ClaimPlace; id: string; attempt: number },
  ) {
    this.#parts = parts
    this.#place = place
    this.id = id
    this.#attempt = attempt
  }

  /** What is streamed, as it comes. */
  hear(frames: readonly UpstreamFrame[]): void {
    this.#record.add(frames)
  }

  /** From the moment it is asked for, a charge may have been made. */
  async charging<Result>(settle: () => Promise<Result>): Promise<Result> {
    this.#charge = 'unknown'
    const settled = await settle()
    this.#charge = 'made'
    return settled
  }

  /** Before the last words of the answer: whoever has seen its end can have it again. Never throws. */
  async keep(result: KeptResult): Promise<void> {
    const { form, head, events, body } = toColumns(result)
    const head_json = JSON.stringify(head)
    const events_json = events && JSON.stringify(events)
    const bytes =
      Buffer.byteLength(head_json) + Buffer.byteLength(events_json ?? '') + (body?.length ?? 0)
    if (bytes > RESULT_MAX_BYTES) return await this.drop()
    await this.#attemptTo(async () => {
      const { shares } = this.#parts
      const [developer_id] = this.#place
      const has_room = await shares.hasRoom(developer_id, { keys: 0, bytes })
      if (!has_room) return await this.#write(...DROPPED)
      shares.add(developer_id, { keys: 0, bytes })
      await this.#write(form, [head_json, events_json, body, bytes])
    })
  }

  /** It was charged, and what came of it is too large to keep. */
  async drop(): Promise<void> {
    await this.#attemptTo(() => this.#write(...DROPPED))
  }

  async keepBody(
    body: string | Buffer,
    told: { content_type: string; svc?: SvcNumbers },
  ): Promise<void> {
    const { content_type, svc } = told
    await this.keep({ form: 'body', content_type, svc, body: Buffer.from(body) })
  }

  /** The end of a stream that has begun. `cut_usage`: where the credits ended it. */
  async keepStream(
    frame: StreamFrame,
    { end, cut_usage }: { end: SvcNumbers | ApiError | undefined; cut_usage: Usage | undefined },
  ): Promise<void> {
    if (this.#charge !== 'made' || end === undefined) return await this.fail(end)
    if (cut_usage) this.#record.reachLimit(cut_usage)
    const events = this.#record.read()
    const credits_limit = frame.credits_limit || cut_usage !== undefined
    const kept = { ...frame, credits_limit, end: toldAgain(end) }
    if (events) await this.keep({ form: 'stream', ...kept, events })
    else await this.drop()
  }

  /** What went wrong is told again if it was charged; else the key is free. Never throws. */
  async fail(error: unknown): Promise<void> {
    if (this.#charge === 'made') {
      const fault =
        error instanceof ApiError ? error : new ApiError('internal_error', { cause: error })
      await this.keep({ form: 'error', error: toldAgain(fault) })
    } else if (this.#charge === 'none') {
      await this.#attemptTo(async () => {
        const { db, shares } = this.#parts
        await db.run(DELETE_CLAIM, [...this.#place, this.id, this.#attempt])
        shares.add(this.#place[0], { keys: -1, bytes: 0 })
      })
    }
  }

  async #write(form: CallRow['form'], columns: readonly unknown[]): Promise<void> {
    await this.#parts.db.run(KEEP_RESULT, [...this.#place, this.id, form, ...columns])
  }

  /** The answer does not wait for a database that is away: then the ledger knows that it was charged. */
  async #attemptTo(write: () => Promise<unknown>): Promise<void> {
    try {
      await write()
    } catch (error) {
      this.#parts.log.warn({ err: error, call: this.id }, 'what came of a key was not kept')
    }
  }
}

/** That its client has left says nothing to a client that is there. */
function toldAgain<End extends SvcNumbers | ApiError>(end: End): End | ApiError {
  if (!(end instanceof ApiError) || end.status !== 499) return end
  return new ApiError('bad_request', {
    status: 409,
    message:
      'The first request with this Idempotency-Key was left by its client and ended before its answer did.',
    hint: 'What it had used was charged. Send the request again with a new key.',
    headers: { 'x-should-retry': 'false' },
  })
}
