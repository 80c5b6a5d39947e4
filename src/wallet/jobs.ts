// What runs beside the calls: the node's lease, the sweeper, next month's partitions; and the list of all jobs.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import { mintId } from '../platform/tokens.ts'
import type { Job } from '../platform/worker.ts'
import { auditJob } from './audit.ts'
import { ALL_BUCKETS } from './bucket.ts'
import { forgetJob } from './retention.ts'
import { sealJob } from './seal.ts'
import {
  COUNT_STRAY_ROWS,
  END_NODE,
  MAKE_PARTITIONS,
  RENEW_LEASE,
  START_NODE,
  SWEEP_HOLDS,
} from './store.ts'

/** Shared by the lease and the lanes: a lease that was lost is replaced in place, and the next hold has it. */
export type GatewayNode = { node_id: string; epoch: bigint }

export type WalletJobOptions = {
  db: Db
  clock: Clock
  log: Log
  metrics: LedgerMetrics
  node: GatewayNode
}

type BackgroundOptions = Omit<WalletJobOptions, 'node'>

const LEASE_MS = 15_000
const BEAT_EVERY_MS = 5_000
/** Lease and sweep together stay under 20 s, jitter included: no hold outlives its node for longer. */
const SWEEP_EVERY_MS = 4_000
const SWEEP_LIMIT = 500
/** Bounds one run; the next comes in a few seconds. */
const SWEEP_ROUNDS = 100
const PARTITIONS_EVERY_MS = 3_600_000
const MONTHS_AHEAD = 2
/** At the start: somebody else may be making them, or a reader be in the way. */
const PARTITIONS_TRIES = 5
const PARTITIONS_RETRY_MS = 300

/**
 * At every start, after the migrations and before the first posting: a service that stood still for months
 * finds the partitions of today. It does not fail when they cannot be made: the default partition takes what
 * comes, the alarm was raised, and the hourly job tries on.
 */
export async function prepareLedger(options: BackgroundOptions): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await keepPartitions(options)
      return
    } catch (error) {
      options.log.warn({ err: error, tries }, 'partitions not made')
      if (tries === PARTITIONS_TRIES) return
      await sleep(PARTITIONS_RETRY_MS)
    }
  }
}

/** Takes the node's name with a new epoch: holds of its earlier life are now nobody's, and get swept. */
export async function startNode(
  db: Db,
  options: { node_id: string; clock: Clock },
): Promise<GatewayNode> {
  const { node_id, clock } = options
  const [row] = await db.run(START_NODE, [node_id, leaseUntil(clock)])
  if (!row) throw new Error('a node has an epoch')
  return { node_id, epoch: row.epoch }
}

/** Gives the lease back at a clean end, after the ledger has closed. */
export async function endNode(db: Db, node: GatewayNode): Promise<void> {
  await db.run(END_NODE, [node.node_id, node.epoch])
}

/** In every process that places holds. */
export function leaseJob(options: WalletJobOptions): Job {
  return { name: 'wallet.lease', every_ms: BEAT_EVERY_MS, run: () => renewLease(options) }
}

/** In processes that do background work; any number of them. */
export function walletJobs(options: BackgroundOptions): Job[] {
  return [
    {
      name: 'wallet.sweep',
      every_ms: SWEEP_EVERY_MS,
      run: async (signal) => {
        await sweepHolds(options, signal)
      },
    },
    {
      name: 'wallet.partitions',
      every_ms: PARTITIONS_EVERY_MS,
      run: () => keepPartitions(options),
    },
    forgetJob(options),
    sealJob(options),
    auditJob(options),
  ]
}

export async function renewLease(options: WalletJobOptions): Promise<void> {
  const { db, clock, node, log, metrics } = options
  const rows = await db.run(RENEW_LEASE, [node.node_id, node.epoch, leaseUntil(clock)])
  if (rows.length > 0) return
  // This process stood still so long that its lease was forgotten, or another took its name. Its open holds
  // will be swept and settle late. Under a new name no other process can lose its lease to this one.
  const lost = node.node_id
  Object.assign(node, await startNode(db, { node_id: mintId({ at: clock.now() }), clock }))
  metrics.ledger_leases_lost.inc()
  log.error({ alarm: 'ledger_node', node_id: lost, new_node_id: node.node_id }, 'lease lost')
}

/** Gives back what nobody will resolve; answers how many holds. */
export async function sweepHolds(
  options: BackgroundOptions,
  signal?: AbortSignal,
): Promise<number> {
  const { db, clock, log, metrics } = options
  let swept = 0
  for (let round = 0; round < SWEEP_ROUNDS; round++) {
    if (signal?.aborted) break
    const rows = await db.run(SWEEP_HOLDS, [ALL_BUCKETS, clock.now(), SWEEP_LIMIT])
    let holds = 0
    for (const row of rows) {
      holds += Number(row.holds)
      metrics.ledger_swept.inc({ reason: row.reason }, Number(row.holds))
      // A crashed call is not charged; what it cost at the provider is ours.
      log.warn(
        { reason: row.reason, holds: Number(row.holds), credits: Number(row.credits) },
        'swept',
      )
    }
    swept += holds
    if (holds < SWEEP_LIMIT) break
  }
  return swept
}

/** Looks first and then mends: what stands in a default partition is moved to the partitions it belongs in. */
export async function keepPartitions(options: BackgroundOptions): Promise<void> {
  const { db, clock, log, metrics } = options
  const [stray] = await db.run(COUNT_STRAY_ROWS, [ALL_BUCKETS])
  if (stray && stray.count > 0n) {
    const invariant = 'default_partition_is_empty'
    metrics.ledger_invariant_breaks.inc({ invariant })
    log.error({ alarm: 'ledger', invariant, rows: Number(stray.count) }, 'stray rows')
  }
  try {
    const made = await db.run(MAKE_PARTITIONS, [clock.now(), MONTHS_AHEAD])
    if (made.length > 0) log.info({ partitions: made.map((row) => row.name) }, 'partitions made')
  } catch (error) {
    // Busy is no alarm: there are two months to try again in.
    if (!(error instanceof ApiError)) {
      log.error({ alarm: 'ledger_partitions', err: error }, 'partitions cannot be made')
    }
    throw error
  }
}

function leaseUntil(clock: Clock): Date {
  return new Date(clock.now().getTime() + LEASE_MS)
}
