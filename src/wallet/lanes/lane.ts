// One lane: at most one batch under way, one statement and one commit for the holds and the settlements in it. A
// settlement comes first, so that the holds beside it have the room it gives back.

import type { Log } from '../../platform/log.ts'
import type { LedgerMetrics } from '../../platform/metrics.ts'
import { bucketOf } from '../bucket.ts'
import { countersOf, type HoldRequest } from '../holds.ts'
import type { PromotionalCredits } from '../promotional.ts'
import type { LimitedCounter } from '../spend-limits.ts'
import {
  type HoldRow,
  SELECT_FREE_COUNTERS,
  SELECT_FREE_WALLETS,
  type SettleRow,
} from '../store.ts'
import type { BatchEvent } from './batch-entry.ts'
import { type HoldItem, type SettleItem, writeBatch } from './batch-statement.ts'
import { Batcher } from './batcher.ts'
import { classifyFailure, LaneConnection } from './connection.ts'
import { LEASE_MS, type Lease } from './lease.ts'

export type LaneOptions = {
  url: string
  log: Log
  metrics: LedgerMetrics
  /** Whether a markup that promotional credits pay is paid out. */
  promotional_credits: PromotionalCredits
  /** Keeps these holds alive. */
  lease: Lease
  /** Of each kind: a batch may have twice as many. */
  batch_limit?: number
  /** A hold that is not placed by then is refused, and so is any attempt to place it later. */
  deadline_ms?: number
  hold_expires_after_ms?: number
  settle_gives_up_after_ms?: number
  /** A hold was answered, but until its deadline an earlier copy of it may still reach the database. */
  onStrayHold?: (request: HoldRequest) => void
}

type Item = { hold: HoldItem } | { settle: SettleItem }

const BATCH_LIMIT = 128
const QUEUE_LIMIT = 10_000
const QUEUE_AGE_LIMIT_MS = 2_000
const HOLDS_APART_LIMIT = 2_500
/** Longer than the longest call, which ends after 15 minutes. */
const HOLD_EXPIRES_AFTER_MS = 20 * 60_000
export const DEADLINE_MS = 10_000

export class Lane {
  readonly #options: LaneOptions
  readonly #deadline_ms: number
  readonly #connection: LaneConnection
  /** For wallets in quarantine: whoever waits for one of them waits here. */
  readonly #apart_connection: LaneConnection
  readonly #batcher: Batcher<Item, HoldRow | SettleRow>

  constructor(options: LaneOptions) {
    this.#options = options
    this.#deadline_ms = options.deadline_ms ?? DEADLINE_MS
    this.#connection = this.#connect()
    this.#apart_connection = this.#connect()
    this.#batcher = new Batcher({
      queues: queuesOf(options, this.#deadline_ms),
      send: (items) => this.#write(items, this.#connection),
      classify: classifyFailure,
      keyOf: walletOf,
      findLocked: (items) => findLocked(this.#connection, items),
      findLockedApart: (wallet_ids, items) => findLocked(this.#apart_connection, items, wallet_ids),
      sendApart: (items) => this.#write(items, this.#apart_connection),
      observe: (event) => this.#observe(event),
    })
  }

  get depth(): number {
    return this.#batcher.depth
  }

  hold(request: HoldRequest): Promise<HoldRow> {
    const deadline_ms = this.#options.lease.serverTime(performance.now() + this.#deadline_ms)
    return this.#batcher.submit({ hold: { request, deadline_ms } }, 'hold') as Promise<HoldRow>
  }

  settle(settle: SettleItem): Promise<SettleRow> {
    return this.#batcher.submit({ settle }, 'settle') as Promise<SettleRow>
  }

  /** Takes nothing new and answers everything it took; what is not answered in time is given up. */
  async close(within_ms?: number): Promise<void> {
    await this.#batcher.close(within_ms)
    await Promise.all([this.#connection.close(), this.#apart_connection.close()])
  }

  async #write(
    items: readonly Item[],
    connection: LaneConnection,
  ): Promise<(HoldRow | SettleRow)[]> {
    const {
      lease,
      hold_expires_after_ms = HOLD_EXPIRES_AFTER_MS,
      promotional_credits,
    } = this.#options
    const answers = await writeBatch(connection, {
      holds: items.flatMap((item) => ('hold' in item ? [item.hold] : [])),
      settles: items.flatMap((item) => ('settle' in item ? [item.settle] : [])),
      node_id: lease.node_id,
      lease_ms: LEASE_MS,
      expires_after_ms: hold_expires_after_ms,
      promotional_credits,
    })
    const [settled, held] = [answers.settles.values(), answers.holds.values()]
    return items.flatMap(
      (item) => ('hold' in item ? held.next().value : settled.next().value) ?? [],
    )
  }

  #connect(): LaneConnection {
    const { url } = this.#options
    const application_name = 'svc ledger lane'
    return new LaneConnection({ url, application_name, deadline_ms: this.#deadline_ms })
  }

  #observe(event: BatchEvent<Item>): void {
    const { metrics, log } = this.#options
    if (event.kind === 'found_out') {
      if ('hold' in event.item) this.#options.onStrayHold?.(event.item.hold.request)
      return
    }
    if (event.kind !== 'sent' && event.kind !== 'failed') {
      metrics.ledger_failures.inc({ kind: event.queue, reason: event.kind })
      return
    }
    const holds = event.items.reduce((count, item) => count + ('hold' in item ? 1 : 0), 0)
    const settles = event.items.length - holds
    if (event.kind === 'failed') {
      const { failure: reason, error: err } = event
      metrics.ledger_failures.inc({ kind: 'batch', reason })
      log.warn({ reason, holds, settles, err }, 'batch failed')
      return
    }
    metrics.ledger_batches.observe(event.seconds)
    metrics.ledger_batch_items.inc({ kind: 'hold' }, holds)
    metrics.ledger_batch_items.inc({ kind: 'settle' }, settles)
  }
}

/** A hold that fails costs nobody anything. A settlement is kept for as long as its hold may live. */
function queuesOf(options: LaneOptions, deadline_ms: number) {
  const {
    batch_limit = BATCH_LIMIT,
    hold_expires_after_ms = HOLD_EXPIRES_AFTER_MS,
    settle_gives_up_after_ms = hold_expires_after_ms,
  } = options
  const limits = { batch_limit, queue_limit: QUEUE_LIMIT }
  return [
    {
      ...limits,
      name: 'settle',
      apart_limit: QUEUE_LIMIT,
      queue_age_limit_ms: settle_gives_up_after_ms,
      give_up_after_ms: settle_gives_up_after_ms,
    },
    {
      ...limits,
      name: 'hold',
      apart_limit: HOLDS_APART_LIMIT,
      queue_age_limit_ms: QUEUE_AGE_LIMIT_MS,
      give_up_after_ms: deadline_ms,
    },
  ]
}

/** The wallets, also those of the items, whose row somebody keeps, or a counter of whose items' spend limits. */
async function findLocked(
  connection: LaneConnection,
  items: readonly Item[],
  wallet_ids: readonly string[] = [],
): Promise<ReadonlySet<string>> {
  const asked = new Set([...wallet_ids, ...items.map(walletOf)])
  const locked = await findLockedWallets(connection, [...asked])
  const counters = items.flatMap((item) => limitsOf(item).map((counter) => ({ item, counter })))
  if (counters.length === 0) return locked
  const free = await connection.run(SELECT_FREE_COUNTERS, [
    counters.map(({ counter }) => counter.bucket),
    counters.map(({ counter }) => counter.owner_id),
    counters.map(({ counter }) => counter.period),
  ])
  // A counter that somebody is just making is not found either.
  const free_counters = new Set(free.map(({ owner_id, period }) => `${owner_id} ${period}`))
  const kept = counters.filter(
    ({ counter }) => !free_counters.has(`${counter.owner_id} ${counter.period}`),
  )
  return locked.union(new Set(kept.map(({ item }) => walletOf(item))))
}

async function findLockedWallets(
  connection: LaneConnection,
  wallet_ids: readonly string[],
): Promise<Set<string>> {
  const buckets = wallet_ids.map(bucketOf)
  const free = await connection.run(SELECT_FREE_WALLETS, [buckets, wallet_ids])
  return new Set(wallet_ids).difference(new Set(free.map(({ id }) => id)))
}

function walletOf(item: Item): string {
  return 'hold' in item ? item.hold.request.wallet_id : item.settle.hold.wallet_id
}

function limitsOf(item: Item): readonly LimitedCounter[] {
  return 'hold' in item ? countersOf(item.hold.request) : (item.settle.hold.spend ?? [])
}
