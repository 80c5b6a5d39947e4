// The ledger as calls see it: hold, settle, release, from the moment the database is there until the process stops.
// Behind it, lanes that turn thousands of callers into a few transactions. A wallet always meets the same lane, so one
// process never competes with itself for a row.

import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../platform/errors.ts'
import { bucketOf } from '../bucket.ts'
import {
  checkHoldRequest,
  checkSettleRequest,
  type Growth,
  type Hold,
  type HoldRequest,
  holdOf,
  type Settlement,
  type SettleRequest,
} from '../holds.ts'
import type { HoldRow, SettleRow } from '../store.ts'
import { busy, GivenUp, RefusedItem } from './batch-entry.ts'
import { readHold, readSettlement } from './call-answers.ts'
import { DEADLINE_MS, Lane, type LaneOptions } from './lane.ts'
import { Lease } from './lease.ts'
import { type RoomWaiter, RoomWaiters } from './room-waiters.ts'
import { UnpostedSettlements } from './unposted.ts'

export type CallLedgerOptions = Omit<LaneOptions, 'lease' | 'onStrayHold'> & {
  /** Where settlements are kept that the database cannot take. */
  folder: string
  lanes?: number
  /** How long a hold waits for other holds of its wallet before the answer is 402. */
  hold_wait_ms?: number
  /** After each settlement: there may be something to tell. Must not throw. */
  onSettled?: () => void
}

export type GrowthRange = {
  min_credits: bigint
  max_credits: bigint
  wait_ms: number
  /** Looked at between two questions: whether the answer still matters. */
  isOver?: () => boolean
}

type Wait = Pick<GrowthRange, 'wait_ms' | 'isOver'>

const LANES = 2
const HOLD_WAIT_MS = 1_000
const POLL_START_MS = 20
const POLL_LIMIT_MS = 200
/** After its deadline a hold that was given up can no longer be placed; clocks need not agree to the millisecond. */
const CERTAIN_AFTER_MS = 500
/** What a stop waits for the database before it keeps what is left on disk. */
const CLOSE_WITHIN_MS = 4_000

export class CallLedger {
  readonly #options: CallLedgerOptions
  readonly #lease: Lease
  readonly #unposted: UnpostedSettlements
  readonly #waiters = new RoomWaiters()
  /** Holds of which a copy may still be under way, and whether they were resolved. */
  readonly #strays = new Map<string, boolean>()
  /** Holds that were given up and are being given back. */
  readonly #undoing = new Set<Promise<void>>()
  #lanes: Lane[] = []
  #stopping: Promise<void> | undefined

  constructor(options: CallLedgerOptions) {
    this.#options = options
    this.#lease = new Lease(options)
    this.#unposted = new UnpostedSettlements(options)
  }

  async start(): Promise<void> {
    await this.#lease.take()
    const options = {
      ...this.#options,
      lease: this.#lease,
      onStrayHold: (request: HoldRequest) => this.#watchStray(request),
    }
    this.#lanes = Array.from({ length: options.lanes ?? LANES }, () => new Lane(options))
  }

  /** Of the lease that keeps the holds of this process alive. */
  get node_id(): string {
    return this.#lease.node_id
  }

  /** Throws insufficient_credits (402) or service_unavailable (503); what a 503 held is given back. */
  async hold(request: HoldRequest): Promise<Hold> {
    checkHoldRequest(request)
    try {
      const wait_ms = this.#options.hold_wait_ms ?? HOLD_WAIT_MS
      const row = await this.#askForRoom(request, { wait_ms })
      this.#options.metrics.ledger_holds.inc({ state: row.state })
      // The hold may have been placed by a copy whose answer was lost.
      if (row.state === 'lease_lapsed') this.#undo(request, 0)
      const hold = readHold(request, row)
      if (this.#lease.is_live) return hold
      this.#undo(request, 0)
      throw leaseLapsed()
    } catch (error) {
      if (error instanceof GivenUp) this.#undo(request, CERTAIN_AFTER_MS)
      throw error
    }
  }

  /**
   * Raises an open hold to the minimum or more, up to the maximum; waits for calls that are in the way, unless all
   * of them wait as well. May be repeated: a hold that has the minimum already is answered as it is. Throws
   * service_unavailable (503): nobody knows whether it has grown, and what was held before still is.
   */
  async grow(hold: Hold, { min_credits, max_credits, ...wait }: GrowthRange): Promise<Growth> {
    const { id, wallet_id, amount: held_credits, spend } = hold
    const range = { min_credits, max_credits, held_credits, waits: wait.wait_ms > 0 }
    const request = { id, wallet_id, ...range, ...(spend && { spend }) }
    checkHoldRequest(request)
    const { state, granted } = await this.#askForRoom(request, wait)
    if (state === 'granted' && granted !== null) {
      this.#options.metrics.ledger_holds.inc({ state: 'grown' })
      return { state: 'grown', hold: { ...hold, amount: granted } }
    }
    if (state === 'too_late' || state === 'lease_lapsed')
      throw busy(`a hold did not grow: ${state}`)
    this.#options.metrics.ledger_holds.inc({ state })
    return { state: state === 'blocked' || state === 'stuck' ? 'blocked' : 'refused' }
  }

  /**
   * Charges what was used and gives the rest back. The same hold settles once, however often asked. When the database
   * stays away the settlement is kept on disk, and this throws all the same: nobody knows the balance yet.
   */
  async settle(request: SettleRequest): Promise<Settlement> {
    checkSettleRequest(request)
    let row: SettleRow
    try {
      row = await this.#post(request)
    } catch (error) {
      await this.#rescue(request, error)
      throw error
    }
    return readSettlement(this.#options, request, row)
  }

  /** Gives all of it back; true if there was something to give back. */
  async release(hold: Hold): Promise<boolean> {
    const row = await this.#laneOf(hold.wallet_id).settle({ hold })
    this.#noteResolved(hold)
    this.#waiters.wake(hold.wallet_id)
    this.#options.metrics.ledger_settles.inc({ state: row.state })
    return row.state === 'voided'
  }

  /** Posts settlements that were kept on disk, by this process or one before it. */
  async postKept(): Promise<void> {
    await this.#unposted.post(async (request) =>
      readSettlement(this.#options, request, await this.#post(request)),
    )
  }

  /** Items that wait for a batch. */
  depth(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.depth, 0)
  }

  /** Takes nothing new, answers what it took or keeps it on disk, and gives the lease back. */
  async stop(within_ms = CLOSE_WITHIN_MS): Promise<void> {
    this.#stopping ??= this.#stop(within_ms)
    await this.#stopping
  }

  async #stop(within_ms: number): Promise<void> {
    await Promise.race([
      Promise.all(this.#undoing),
      sleep(within_ms / 2, undefined, { ref: false }),
    ])
    await Promise.all(this.#lanes.map((lane) => lane.close(within_ms)))
    await this.#unposted.written()
    await this.#lease.end()
  }

  async #post(request: SettleRequest): Promise<SettleRow> {
    const { hold } = request
    const row = await this.#laneOf(hold.wallet_id).settle({ hold, charge: request })
    this.#noteResolved(hold)
    this.#waiters.wake(hold.wallet_id)
    this.#options.onSettled?.()
    this.#options.metrics.ledger_settles.inc({ state: row.state })
    return row
  }

  /** A settlement that failed: it is kept on disk, to be posted later or, if it was refused, for a person. */
  async #rescue(request: SettleRequest, error: unknown): Promise<void> {
    const { hold, used_credits } = request
    const { log, metrics } = this.#options
    if (error instanceof RefusedItem) {
      await this.#unposted.keepRefused([request]).catch(() => {})
      metrics.ledger_kept.inc({ outcome: 'refused' })
      // What cannot be charged must not block the wallet as well.
      await this.release(hold).catch(() => {})
      return
    }
    if (await this.#unposted.keep(request)) return
    // A call that nobody pays.
    const context = { hold: hold.id, wallet_id: hold.wallet_id, credits: Number(used_credits) }
    log.error({ alarm: 'ledger_settle', ...context, err: error }, 'settle failed')
    metrics.ledger_kept.inc({ outcome: 'lost' })
  }

  /** Asks again while calls that run are in the way. */
  async #askForRoom(request: HoldRequest, wait: Wait): Promise<HoldRow> {
    const row = await this.#ask(request)
    if (row.state !== 'blocked' || wait.wait_ms === 0) return row
    const waiter = this.#waiters.enter(request.wallet_id)
    try {
      return await this.#waitForRoom(request, waiter, wait)
    } finally {
      this.#waiters.leave(waiter)
    }
  }

  async #waitForRoom(request: HoldRequest, waiter: RoomWaiter, wait: Wait): Promise<HoldRow> {
    const give_up_at = performance.now() + wait.wait_ms
    for (let poll_ms = POLL_START_MS; ; poll_ms = Math.min(POLL_LIMIT_MS, poll_ms * 2)) {
      await this.#waiters.pause(waiter, poll_ms)
      const row = await this.#ask(request)
      if (row.state !== 'blocked' || performance.now() >= give_up_at) return row
      if (wait.isOver?.() === true) return row
    }
  }

  /** Without a live lease nothing keeps a hold from being swept: it is refused before any provider is asked. */
  #ask(request: HoldRequest): Promise<HoldRow> {
    if (!this.#lease.is_live) throw leaseLapsed()
    return this.#laneOf(request.wallet_id).hold(request)
  }

  /**
   * A copy of this hold went unanswered and may still be in the hands of a backend. While the hold is open it does
   * nothing, and past the deadline it is refused. In between, after the call was settled, it would place the hold anew.
   */
  #watchStray(request: HoldRequest): void {
    if (this.#strays.has(request.id)) return
    this.#strays.set(request.id, false)
    const after_ms = (this.#options.deadline_ms ?? DEADLINE_MS) + CERTAIN_AFTER_MS
    const timer = setTimeout(() => {
      const is_resolved = this.#strays.get(request.id)
      this.#strays.delete(request.id)
      if (is_resolved) this.#undo(request, 0)
    }, after_ms)
    timer.unref()
  }

  #noteResolved({ id }: Hold): void {
    if (this.#strays.has(id)) this.#strays.set(id, true)
  }

  /**
   * Nobody waits for this. It is sent after the deadline of the hold: whoever has the wallet's lock then knows that the
   * hold was placed before or never will be.
   */
  #undo(request: HoldRequest, after_ms: number): void {
    const hold = holdOf(request, 0n)
    const undo = async () => {
      if (after_ms > 0) await sleep(after_ms)
      await this.release(hold)
    }
    const undoing = undo()
      .catch((error: unknown) => {
        this.#options.log.warn({ err: error, hold: hold.id }, 'a hold is left to expire')
      })
      .finally(() => this.#undoing.delete(undoing))
    this.#undoing.add(undoing)
  }

  #laneOf(wallet_id: string): Lane {
    const lane = this.#lanes[bucketOf(wallet_id) % this.#lanes.length]
    if (lane) return lane
    throw new ApiError('service_unavailable', { headers: { 'retry-after': '1' } })
  }
}

function leaseLapsed(): ApiError {
  return busy('the lease of this process has lapsed')
}
