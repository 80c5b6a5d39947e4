// One lane: at most one batch under way, one statement and one commit for the holds and the settlements in it. A
// settlement comes first, so that the holds beside it have the room it gives back.

import type { Clock } from '../../platform/clock.ts'
import type { Log } from '../../platform/log.ts'
import type { LedgerMetrics } from '../../platform/metrics.ts'
import { bucketOf } from '../bucket.ts'
import type { HoldRequest } from '../holds.ts'
import type { GatewayNode } from '../jobs.ts'
import { type HoldRow, SELECT_FREE_WALLETS, type SettleRow } from '../store.ts'
import type { BatchEvent } from './batch-entry.ts'
import { type SettleItem, sendBatch } from './batch-statement.ts'
import { Batcher } from './batcher.ts'
import { classifyFailure, LaneConnection } from './connection.ts'

export type LaneOptions = {
  url: string
  clock: Clock
  log: Log
  metrics: LedgerMetrics
  /** From startNode: whose lease keeps these holds alive. Read anew for each batch. */
  node: GatewayNode
  /** Of each kind: a batch may have twice as many. */
  batch_limit?: number
  /** False: a batch without a settlement does not wait for the disk. Holds may be lost in a crash, charges never. */
  synchronous_holds?: boolean
  deadline_ms?: number
  settle_gives_up_after_ms?: number
}

type Item = { hold: HoldRequest } | { settle: SettleItem }

const BATCH_LIMIT = 128
const QUEUE_LIMIT = 10_000
const QUEUE_AGE_LIMIT_MS = 2_000
/** Longer than the longest call, which ends after 15 minutes. */
const HOLD_EXPIRES_AFTER_MS = 20 * 60_000
const DEADLINE_MS = 10_000
/** A hold that fails costs nobody anything. A settle that fails is a call nobody pays: it tries for longer. */
const SETTLE_GIVES_UP_AFTER_MS = 120_000

export class Lane {
  readonly #options: LaneOptions
  readonly #connection: LaneConnection
  /** For batches that charge nobody. */
  readonly #hold_connection: LaneConnection
  /** For wallets that somebody keeps locked: whoever waits for one of them waits here. */
  readonly #apart_connection: LaneConnection
  readonly #batcher: Batcher<Item, HoldRow | SettleRow>

  constructor(options: LaneOptions) {
    this.#options = options
    const {
      synchronous_holds = true,
      deadline_ms = DEADLINE_MS,
      batch_limit = BATCH_LIMIT,
    } = options
    const { settle_gives_up_after_ms = SETTLE_GIVES_UP_AFTER_MS } = options
    this.#connection = this.#connect(true)
    this.#hold_connection = synchronous_holds ? this.#connection : this.#connect(false)
    this.#apart_connection = this.#connect(true)
    const limits = { batch_limit, queue_limit: QUEUE_LIMIT }
    const settles = {
      ...limits,
      name: 'settle',
      queue_age_limit_ms: settle_gives_up_after_ms,
      give_up_after_ms: settle_gives_up_after_ms,
    }
    const holds = {
      ...limits,
      name: 'hold',
      queue_age_limit_ms: QUEUE_AGE_LIMIT_MS,
      give_up_after_ms: deadline_ms,
    }
    this.#batcher = new Batcher({
      queues: [settles, holds],
      send: (items) => this.#send(items, this.#connectionFor(items)),
      classify: classifyFailure,
      blocking: {
        keyOf: walletOf,
        findBlocked: (wallet_ids) => findLocked(this.#connection, wallet_ids),
        findBlockedApart: (wallet_ids) => findLocked(this.#apart_connection, wallet_ids),
        sendApart: (items) => this.#send(items, this.#apart_connection),
      },
      observe: (event) => this.#observe(event),
    })
  }

  get depth(): number {
    return this.#batcher.depth
  }

  hold(hold: HoldRequest): Promise<HoldRow> {
    return this.#batcher.submit({ hold }, 'hold') as Promise<HoldRow>
  }

  settle(settle: SettleItem): Promise<SettleRow> {
    return this.#batcher.submit({ settle }, 'settle') as Promise<SettleRow>
  }

  /** Takes nothing new and answers everything it took. */
  async close(): Promise<void> {
    await this.#batcher.close()
    const connections = [this.#connection, this.#hold_connection, this.#apart_connection]
    await Promise.all(connections.map((connection) => connection.close()))
  }

  #connectionFor(items: readonly Item[]): LaneConnection {
    return items.some((item) => 'settle' in item) ? this.#connection : this.#hold_connection
  }

  async #send(
    items: readonly Item[],
    connection: LaneConnection,
  ): Promise<(HoldRow | SettleRow)[]> {
    const { node, clock } = this.#options
    const holds = items.flatMap((item) => ('hold' in item ? [item.hold] : []))
    const settles = items.flatMap((item) => ('settle' in item ? [item.settle] : []))
    const now = clock.now()
    const expires_at = new Date(now.getTime() + HOLD_EXPIRES_AFTER_MS)
    const answers = await sendBatch(connection, { settles, holds, node, now, expires_at })
    const [settled, held] = [answers.settles.values(), answers.holds.values()]
    return items.flatMap(
      (item) => ('hold' in item ? held.next().value : settled.next().value) ?? [],
    )
  }

  #connect(synchronous_commit: boolean): LaneConnection {
    const { url, deadline_ms = DEADLINE_MS } = this.#options
    const application_name = 'svc ledger lane'
    return new LaneConnection({ url, application_name, synchronous_commit, deadline_ms })
  }

  #observe(event: BatchEvent<Item>): void {
    const { metrics, log } = this.#options
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

async function findLocked(
  connection: LaneConnection,
  wallet_ids: readonly string[],
): Promise<Set<string>> {
  const buckets = wallet_ids.map(bucketOf)
  const free = await connection.run(SELECT_FREE_WALLETS, [buckets, wallet_ids])
  return new Set(wallet_ids).difference(new Set(free.map(({ id }) => id)))
}

function walletOf(item: Item): string {
  return 'hold' in item ? item.hold.wallet_id : item.settle.hold.wallet_id
}
