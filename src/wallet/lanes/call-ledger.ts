// The ledger as the rest of the service sees it: hold, settle, release. Behind it, lanes that turn thousands of
// callers into a few transactions. A wallet always meets the same lane, so one process never competes with
// itself for a row.

import { ApiError } from '../../platform/errors.ts'
import { bucketOf, timeOf } from '../bucket.ts'
import {
  checkHoldRequest,
  checkSettleRequest,
  type Growth,
  type Hold,
  type HoldRequest,
  type Settlement,
  type SettleRequest,
} from '../holds.ts'
import { limitedCounters, limitReached, roomIsHeld } from '../spend-limits.ts'
import type { HoldRow, SettleRow } from '../store.ts'
import { GivenUp } from './batch-entry.ts'
import { Lane, type LaneOptions } from './lane.ts'
import { type RoomWaiter, RoomWaiters } from './room-waiters.ts'

export interface CallLedger {
  /** Throws insufficient_credits (402) or service_unavailable (503); what a 503 held is given back. */
  hold(request: HoldRequest): Promise<Hold>
  /**
   * Raises an open hold to the minimum or more, up to the maximum; waits for calls that are in the way, unless all
   * of them wait as well. May be repeated: a hold that has the minimum already is answered as it is. Throws
   * service_unavailable (503): nobody knows whether it has grown, and what was held before still is.
   */
  grow(hold: Hold, range: GrowthRange): Promise<Growth>
  /** Charges what was used and gives the rest back. The same hold settles once, however often asked. */
  settle(request: SettleRequest): Promise<Settlement>
  /** Gives all of it back; true if there was something to give back. */
  release(hold: Hold): Promise<boolean>
  /** Items that wait for a batch. */
  depth(): number
  /** Takes nothing new and answers everything it took. */
  close(): Promise<void>
}

export type GrowthRange = {
  min_credits: bigint
  max_credits: bigint
  wait_ms: number
  /** Looked at between two questions: whether the answer still matters. */
  isOver?: () => boolean
}

type Wait = Pick<GrowthRange, 'wait_ms' | 'isOver'>

export type CallLedgerOptions = LaneOptions & {
  lanes?: number
  /** How long a hold waits for other holds of its wallet before the answer is 402. */
  hold_wait_ms?: number
}

const LANES = 2
const HOLD_WAIT_MS = 1_000
const POLL_START_MS = 20
const POLL_LIMIT_MS = 200

export function createCallLedger(options: CallLedgerOptions): CallLedger {
  return new LaneCallLedger(options)
}

class LaneCallLedger implements CallLedger {
  readonly #options: CallLedgerOptions
  readonly #lanes: Lane[]
  readonly #waiters = new RoomWaiters()

  constructor(options: CallLedgerOptions) {
    this.#options = options
    this.#lanes = Array.from({ length: options.lanes ?? LANES }, () => new Lane(options))
  }

  async hold(request: HoldRequest): Promise<Hold> {
    checkHoldRequest(request)
    try {
      const wait_ms = this.#options.hold_wait_ms ?? HOLD_WAIT_MS
      const row = await this.#askForRoom(request, { wait_ms })
      this.#options.metrics.ledger_holds.add([row.state])
      return readHold(request, row)
    } catch (error) {
      // It may have been placed all the same. Nobody waits for this: the lease and the expiry stand behind it.
      if (error instanceof GivenUp) this.release(holdOf(request, 0n)).catch(() => {})
      throw error
    }
  }

  async grow(hold: Hold, { min_credits, max_credits, ...wait }: GrowthRange): Promise<Growth> {
    const { id, wallet_id, amount: held_credits, spend } = hold
    const range = { min_credits, max_credits, held_credits }
    const request = { id, wallet_id, ...range, ...(spend && { spend }) }
    checkHoldRequest(request)
    const { state, granted } = await this.#askForRoom(request, wait)
    if (state === 'granted' && granted !== null) {
      this.#options.metrics.ledger_holds.add(['grown'])
      return { state: 'grown', hold: { ...hold, amount: granted } }
    }
    return { state: state === 'blocked' ? state : 'refused' }
  }

  async settle(request: SettleRequest): Promise<Settlement> {
    checkSettleRequest(request)
    const lane = this.#laneOf(request.hold.wallet_id)
    let row: SettleRow
    try {
      row = await lane.settle({ hold: request.hold, charge: request })
    } catch (error) {
      const { hold, used_credits } = request
      const context = { hold: hold.id, wallet_id: hold.wallet_id, credits: Number(used_credits) }
      // Given up, refused or turned away: a call that nobody pays, unless it was committed unseen.
      this.#options.log.error({ alarm: 'ledger_settle', ...context, err: error }, 'settle failed')
      throw error
    }
    this.#waiters.wake(request.hold.wallet_id)
    this.#options.metrics.ledger_settles.add([row.state])
    return this.#readSettlement(request, row)
  }

  async release(hold: Hold): Promise<boolean> {
    const row = await this.#laneOf(hold.wallet_id).settle({ hold })
    this.#waiters.wake(hold.wallet_id)
    this.#options.metrics.ledger_settles.add([row.state])
    return row.state === 'voided'
  }

  depth(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.depth, 0)
  }

  async close(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.close()))
  }

  #laneOf(wallet_id: string): Lane {
    const lane = this.#lanes[bucketOf(wallet_id) % this.#lanes.length]
    if (!lane) throw new Error('a ledger has at least one lane')
    return lane
  }

  /** Asks again while calls that run are in the way. */
  async #askForRoom(request: HoldRequest, wait: Wait): Promise<HoldRow> {
    const row = await this.#laneOf(request.wallet_id).hold(request)
    if (row.state !== 'blocked' || wait.wait_ms === 0) return row
    const waiter = this.#waiters.enter(request.wallet_id, request.held_credits ?? 0n)
    try {
      return await this.#waitForRoom(request, waiter, wait)
    } finally {
      this.#waiters.leave(waiter)
    }
  }

  async #waitForRoom(request: HoldRequest, waiter: RoomWaiter, wait: Wait): Promise<HoldRow> {
    const { wallet_id } = request
    const lane = this.#laneOf(wallet_id)
    const give_up_at = performance.now() + wait.wait_ms
    let in_vain = 0
    for (let poll_ms = POLL_START_MS; ; poll_ms = Math.min(POLL_LIMIT_MS, poll_ms * 2)) {
      if (in_vain > 0) poll_ms = POLL_START_MS
      await this.#waiters.pause(waiter, poll_ms)
      const row = await lane.hold(request)
      if (row.state !== 'blocked' || performance.now() >= give_up_at) return row
      const all_wait = waiter.held > 0n && this.#waiters.holdAll(wallet_id, row.wallet_held)
      in_vain = all_wait ? in_vain + 1 : 0
      // Twice, because one of the others may just be leaving.
      if (in_vain > 1 || wait.isOver?.() === true) {
        // In the same step: one gives way, and the others wait for what it gives back.
        this.#waiters.leave(waiter)
        return row
      }
    }
  }

  #readSettlement(request: SettleRequest, row: SettleRow): Settlement {
    const { hold, used_credits, cost_credits } = request
    const { log, metrics } = this.#options
    if (row.state !== 'settled' && row.state !== 'late') {
      throw new Error(`settle ${hold.id} answered ${row.state}`)
    }
    const { charged, shortfall, balance_before, balance_after } = row
    const adds_up =
      balance_before - charged === balance_after && charged + shortfall === used_credits
    if (!adds_up || balance_after < 0n || charged < 0n || shortfall < 0n) {
      metrics.ledger_invariant_breaks.inc({ invariant: 'settlement_adds_up' })
      log.error({ alarm: 'ledger', invariant: 'settlement_adds_up', hold: hold.id }, 'ledger alarm')
    }
    if (shortfall > 0n) {
      metrics.ledger_shortfall.inc(Number(shortfall))
      log.error(
        { alarm: 'ledger_shortfall', hold: hold.id, credits: Number(shortfall) },
        'shortfall',
      )
    }
    if (row.state === 'late') log.warn({ hold: hold.id }, 'settled late, without its hold')
    return {
      id: hold.id,
      state: row.state,
      credits_used: charged,
      markup_credits: charged > cost_credits ? charged - cost_credits : 0n,
      shortfall_credits: shortfall,
      balance_before,
      balance_after,
    }
  }
}

function readHold(request: HoldRequest, row: HoldRow): Hold {
  const { id, wallet_id, min_credits, max_credits } = request
  switch (row.state) {
    case 'granted':
      if (row.granted === null) throw new Error(`hold ${id} was granted nothing`)
      if (row.granted < min_credits || row.granted > max_credits) {
        throw new Error(`hold ${id} was granted ${row.granted}`)
      }
      return { ...holdOf(request, row.granted), ...(row.ceiling && { ceiling: row.ceiling }) }
    case 'insufficient':
      throw new ApiError('insufficient_credits', { detail: row.state })
    case 'blocked':
      throw roomIsHeld(request.spend_limits ?? [])
    case 'limit_reached': {
      const limit = request.spend_limits?.find(({ owner_id }) => owner_id === row.limit_owner_id)
      if (!limit) throw new Error(`hold ${id} was refused by a limit it does not have`)
      throw limitReached(limit, timeOf(id))
    }
    case 'gone':
      throw new Error(`hold ${id} has not been placed yet and is gone`)
    case 'no_wallet':
      throw new ApiError('user_not_found', { detail: `no wallet ${wallet_id}` })
    case 'conflict':
      throw new Error(`hold ${id} belongs to another wallet`)
  }
}

function holdOf(request: HoldRequest, amount: bigint): Hold {
  const { id, wallet_id } = request
  const spend = limitedCounters(request)
  return { id, wallet_id, amount, ...(spend.length > 0 && { spend }) }
}
