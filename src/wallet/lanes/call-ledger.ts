// The ledger as calls see it: hold, settle, release, from the moment the database is there until the process stops.
// Behind it, lanes that turn thousands of callers into a few transactions. A wallet always meets the same lane, so one
// process never competes with itself for a row.

import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../platform/errors.ts'
import { bucketOf } from '../bucket.ts'
import {
  checkHoldRequest,
  checkSettleRequest,
  type Hold,
  type HoldRequest,
  holdOf,
  type Settlement,
  type SettleRequest,
} from '../holds.ts'
import type { HoldRow, SettleRow } from '../store.ts'
import { busy, GivenUp, RefusedItem } from './batch-entry.ts'
import { readHold, readSettlement } from './call-answers.ts'
import { Lane, type LaneOptions } from './lane.ts'
import { Lease } from './lease.ts'
import { pauses, RoomWatch } from './room-watch.ts'
import { UnpostedSettlements } from './unposted.ts'

export type CallLedgerOptions = Omit<LaneOptions, 'lease'> & {
  /** Where settlements are kept that the database cannot take. */
  folder: string
  lanes?: number
  /** How long a hold waits for other holds of its wallet before the answer is 402. */
  hold_wait_ms?: number
}

const LANES = 2
const HOLD_WAIT_MS = 1_000
/** How long a hold that grows waits for others: its call is under way, and cutting it short is the alternative. */
const GROW_WAIT_MS = 20_000
/** After its deadline a hold that was given up can no longer be placed; clocks need not agree to the millisecond. */
const CERTAIN_AFTER_MS = 500
/** What a stop waits for the database before it keeps what is left on disk. */
const CLOSE_WITHIN_MS = 4_000

export class CallLedger {
  readonly #options: CallLedgerOptions
  readonly #lease: Lease
  readonly #unposted: UnpostedSettlements
  readonly #room = new RoomWatch()
  /** Holds that were given up and are being given back. */
  readonly #undoing = new Set<Promise<void>>()
  #lanes: Lane[] = []

  constructor(options: CallLedgerOptions) {
    this.#options = options
    this.#lease = new Lease(options)
    this.#unposted = new UnpostedSettlements(options)
  }

  async start(): Promise<void> {
    await this.#lease.take()
    const options = { ...this.#options, lease: this.#lease }
    this.#lanes = Array.from({ length: options.lanes ?? LANES }, () => new Lane(options))
  }

  /** Of the lease that keeps the holds of this process alive. */
  get node_id(): string {
    return this.#lease.node_id
  }

  /** Throws insufficient_credits (402) or service_unavailable (503); what a 503 held is given back. */
  async hold(request: HoldRequest): Promise<Hold> {
    try {
      const row = await this.#place(request, this.#options.hold_wait_ms ?? HOLD_WAIT_MS)
      const hold = readHold(request, row)
      if (this.#lease.is_live) return hold
      this.#undo(request, 0)
      throw busy('the lease of this process lapsed meanwhile')
    } catch (error) {
      if (error instanceof GivenUp) this.#undo(request, CERTAIN_AFTER_MS)
      throw error
    }
  }

  /**
   * More for a call that runs, from the minimum to the maximum in all. Undefined: there is no room, also after a wait for
   * others to end. Throws 503 when the database is away; the hold is then as it was, or larger.
   */
  async grow(
    hold: Hold,
    to: Pick<HoldRequest, 'min_credits' | 'max_credits' | 'spend_limits'>,
  ): Promise<Hold | undefined> {
    const request = { ...to, id: hold.id, wallet_id: hold.wallet_id, grows: true }
    const row = await this.#place(request, GROW_WAIT_MS)
    return row.state === 'granted' ? readHold(request, row) : undefined
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
    this.#room.wake(hold.wallet_id)
    this.#options.metrics.ledger_settles.add([row.state])
    return row.state === 'voided'
  }

  /** Posts settlements that were kept on disk, by this process or one before it. */
  async postKept(): Promise<void> {
    await this.#unposted.post((request) => this.#post(request))
  }

  /** Items that wait for a batch. */
  depth(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.depth, 0)
  }

  /** Takes nothing new, answers what it took or keeps it on disk, and gives the lease back. */
  async stop(within_ms = CLOSE_WITHIN_MS): Promise<void> {
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
    this.#room.wake(hold.wallet_id)
    this.#options.metrics.ledger_settles.add([row.state])
    return row
  }

  /** A settlement that failed. */
  async #rescue(request: SettleRequest, error: unknown): Promise<void> {
    const { hold, used_credits } = request
    const { log, metrics } = this.#options
    const refused = error instanceof RefusedItem
    if (!refused && (await this.#unposted.keep(request))) return
    // A call that nobody pays.
    const context = { hold: hold.id, wallet_id: hold.wallet_id, credits: Number(used_credits) }
    log.error({ alarm: 'ledger_settle', ...context, err: error }, 'settle failed')
    metrics.ledger_kept.inc({ outcome: 'lost' })
    // What cannot be charged must not block the wallet as well.
    if (refused) await this.release(hold).catch(() => {})
  }

  /** Asks until it is granted, refused for good, or nothing has changed for too long. */
  async #place(request: HoldRequest, wait_ms: number): Promise<HoldRow> {
    checkHoldRequest(request)
    const lane = this.#laneOf(request.wallet_id)
    const give_up_at = performance.now() + wait_ms
    for (const pause_ms of pauses()) {
      // Without a live lease nothing keeps a hold from being swept: it is refused before any provider is asked.
      if (!this.#lease.is_live) break
      const row = await lane.hold(request)
      if (row.state !== 'blocked' || performance.now() >= give_up_at) {
        this.#options.metrics.ledger_holds.add([row.state])
        return row
      }
      await this.#room.wait(request.wallet_id, pause_ms)
    }
    throw busy('the lease of this process has lapsed')
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
