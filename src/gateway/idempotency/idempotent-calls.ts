// Who may make a call that came with an Idempotency-Key: the first who claims the key. Everybody else gets what came of
// it, or is told to wait. No two processes can charge it twice, even if both made it: the claim carries the id of the
// hold, and the ledger charges an id once.

import type { Payer } from '../../access/payer.ts'
import type { Clock } from '../../platform/clock.ts'
import type { Db } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Log } from '../../platform/log.ts'
import { mintWalletId } from '../../wallet/bucket.ts'
import { readCallState } from '../../wallet/call-state.ts'
import type { Endpoint } from '../../wallet/holds.ts'
import { Claim, type ClaimPlace } from './claim.ts'
import { fromColumns, type KeptResult } from './kept-result.ts'
import { type Share, Shares } from './shares.ts'
import { type CallRow, INSERT_CLAIM, SELECT_CALL, TAKE_UP_CALL } from './store.ts'

export const KEPT_MS = 24 * 3_600_000
/** No call takes as long: after this a claim of a process that lives was forgotten by it. */
const RUNS_AT_MOST_MS = 3_600_000
/** A key may be given back between the look at it and the claim. */
const ROUNDS = 3

export type IdempotentCallsOptions = {
  db: Db
  clock: Clock
  log: Log
  /** Of the lease that this process has at the moment. */
  readNodeId: () => string
  share_max?: Share
}

export type KeyedCall = {
  key: string
  endpoint: Endpoint
  payer: Payer
  /** Of the body and all else that decides what is asked for. */
  digest: Buffer
}

export type Kept = { id: string; result: KeptResult }

export class IdempotentCalls {
  readonly #options: IdempotentCallsOptions
  readonly #shares: Shares
  /** The ids of what this process makes. */
  readonly #running = new Set<string>()

  constructor(options: IdempotentCallsOptions) {
    this.#options = options
    this.#shares = new Shares(options.db, options.share_max)
  }

  /** The claim of a call that is to be made now, or what came of it before. `end` has to follow a claim. */
  async begin(call: KeyedCall): Promise<Claim | Kept> {
    const { payer, endpoint, key } = call
    const place: ClaimPlace = [payer.developer_id, payer.account_id, endpoint, key]
    for (let round = 0; round < ROUNDS; round++) {
      const has_room = await this.#shares.hasRoom(payer.developer_id, { keys: 1, bytes: 0 })
      const claim = has_room ? await this.#claim(place, call) : undefined
      if (claim) return claim
      const row = await this.#find(place)
      if (row) return await this.#judge(place, row, call)
      if (!has_room) throw tooManyKeys()
    }
    throw stillRunning()
  }

  end(claim: Claim): void {
    this.#running.delete(claim.id)
  }

  async #claim(place: ClaimPlace, { payer, digest }: KeyedCall): Promise<Claim | undefined> {
    const { db, readNodeId } = this.#options
    const now = new Date(this.#now_ms)
    const id = mintWalletId(payer.account_id, now)
    // Before it is there for others to find.
    this.#running.add(id)
    try {
      const forgotten_before = new Date(now.getTime() - KEPT_MS)
      const values = [...place, digest, id, readNodeId(), now, forgotten_before]
      const [claimed] = await db.run(INSERT_CLAIM, values)
      if (claimed) {
        this.#shares.add(payer.developer_id, { keys: 1, bytes: 0 })
        return this.#makeClaim(place, id, 1)
      }
    } catch (error) {
      this.#running.delete(id)
      throw error
    }
    this.#running.delete(id)
    return undefined
  }

  async #find(place: ClaimPlace): Promise<CallRow | undefined> {
    const kept_since = new Date(this.#now_ms - KEPT_MS)
    const [row] = await this.#options.db.run(SELECT_CALL, [...place, kept_since])
    return row
  }

  async #judge(place: ClaimPlace, row: CallRow, { digest }: KeyedCall): Promise<Claim | Kept> {
    if (!row.digest.equals(digest)) throw otherBody()
    if (row.form !== null) return readKept(row)
    const state = await this.#judgeEndless(row)
    if (state === 'runs') throw stillRunning()
    if (state === 'charged') {
      // It may have been kept since the first look.
      const now = await this.#find(place)
      if (now && now.form !== null) return readKept(now)
      throw notKept('and its result was lost when the process that had it ended')
    }
    const claim = await this.#takeUp(place, row)
    if (claim) return claim
    throw stillRunning()
  }

  /** A call without an end: it runs, or its process is gone, before the charge or after it. */
  async #judgeEndless(row: CallRow): Promise<'runs' | 'charged' | 'free'> {
    const { id, node_id, created_at } = row
    if (this.#running.has(id)) return 'runs'
    const state = await readCallState(this.#options.db, { id, node_id })
    const is_recent = created_at.getTime() > this.#now_ms - RUNS_AT_MOST_MS
    const runs_elsewhere = state.node_lives && node_id !== this.#options.readNodeId() && is_recent
    // A hold that is open may still be settled; one of a dead process is given back within seconds.
    if (state.is_held || runs_elsewhere) return 'runs'
    return state.is_charged ? 'charged' : 'free'
  }

  async #takeUp(place: ClaimPlace, { id, attempt }: CallRow): Promise<Claim | undefined> {
    if (this.#running.has(id)) return undefined
    this.#running.add(id)
    try {
      const values = [...place, id, attempt, this.#options.readNodeId()]
      const [taken] = await this.#options.db.run(TAKE_UP_CALL, values)
      if (taken) return this.#makeClaim(place, id, taken.attempt)
    } catch (error) {
      this.#running.delete(id)
      throw error
    }
    this.#running.delete(id)
    return undefined
  }

  #makeClaim(place: ClaimPlace, id: string, attempt: number): Claim {
    const { db, log } = this.#options
    return new Claim({ db, log, shares: this.#shares }, { place, id, attempt })
  }

  get #now_ms(): number {
    return this.#options.clock.now().getTime()
  }
}

function readKept(row: CallRow): Kept {
  const result = fromColumns(row)
  if (!result) throw notKept('and its result was too large to keep')
  return { id: row.id, result }
}

function otherBody(): ApiError {
  return new ApiError('bad_request', {
    message: 'This Idempotency-Key was used with another body.',
    hint: 'Use a new key for a new request.',
    param: 'Idempotency-Key',
  })
}

function stillRunning(): ApiError {
  return new ApiError('bad_request', {
    status: 409,
    message: 'The first request with this Idempotency-Key is still running.',
    hint: 'Ask again as `Retry-After` says, with the same key and body: you get its result, charged once.',
    headers: { 'retry-after': '1' },
  })
}

function notKept(why: string): ApiError {
  return new ApiError('bad_request', {
    status: 409,
    message: `The first request with this Idempotency-Key was charged, ${why}.`,
    hint: 'It is not charged again. Use a new key to make the call anew.',
    headers: { 'x-should-retry': 'false' },
  })
}

function tooManyKeys(): ApiError {
  return new ApiError('rate_limit_exceeded', {
    message: 'Too many Idempotency-Keys of the last 24 hours are kept.',
    hint: 'Send the request without the header, or later: each key is forgotten after 24 hours.',
    headers: { 'retry-after': '3600', 'x-should-retry': 'false' },
  })
}
