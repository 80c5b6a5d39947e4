// What runs beside the calls: the node's lease, the sweeper, and next month's partitions.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import type { Job } from '../platform/worker.ts'
import { BUCKET_COUNT } from './bucket.ts'
import { checkLedger } from './check.ts'
import {
  COUNT_STRAY_ROWS,
  DELETE_DEAD_NODES,
  DELETE_OLD_IDEMPOTENCY,
  DELETE_OLD_KEY_SPEND,
  END_NODE,
  MAKE_PARTITIONS,
  RENEW_LEASE,
  START_NODE,
  SWEEP_HOLDS,
} from './store.ts'

export type GatewayNode = { node_id: string; epoch: bigint }

export type WalletJobOptions = {
  db: Db
  clock: Clock
  log: Log
  metrics: LedgerMetrics
  node: GatewayNode
}

const LEASE_MS = 15_000
const BEAT_EVERY_MS = 5_000
/** Lease and sweep together stay under 20 s, jitter included: no hold outlives its node for longer. */
const SWEEP_EVERY_MS = 4_000
const SWEEP_LIMIT = 500
/** Bounds one run; the next comes in a few seconds. */
const SWEEP_ROUNDS = 100
const PARTITIONS_EVERY_MS = 3_600_000
const MONTHS_AHEAD = 2
const AUDIT_EVERY_MS = 5 * 60_000
const DAY_MS = 24 * 3_600_000
const FORGET_NODE_AFTER_MS = DAY_MS
const FORGET_ANSWER_AFTER_MS = 45 * DAY_MS
const FORGET_SPEND_AFTER_MS = 62 * DAY_MS

export const ALL_BUCKETS: readonly number[] = Array.from(
  { length: BUCKET_COUNT },
  (_, index) => index,
)

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
export function walletJobs(options: Omit<WalletJobOptions, 'node'>): Job[] {
  let next_bucket = 0
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
    { name: 'wallet.forget', every_ms: DAY_MS / 4, run: () => forgetOldRows(options) },
    {
      // The whole book a few times a day, a bucket at a time.
      name: 'wallet.audit',
      every_ms: AUDIT_EVERY_MS,
      run: async () => {
        await audit(options, [next_bucket])
        next_bucket = (next_bucket + 1) % BUCKET_COUNT
      },
    },
  ]
}

export async function renewLease(options: WalletJobOptions): Promise<void> {
  const { db, clock, node, log } = options
  const rows = await db.run(RENEW_LEASE, [node.node_id, node.epoch, leaseUntil(clock)])
  // Another process took the name: its holds are safe, ours will be swept and settle late.
  if (rows.length === 0) log.error({ alarm: 'ledger_node', node_id: node.node_id }, 'lease lost')
}

/** Gives back what nobody will resolve; answers how many holds. */
export async function sweepHolds(
  options: Omit<WalletJobOptions, 'node'>,
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

export async function keepPartitions(options: Omit<WalletJobOptions, 'node'>): Promise<void> {
  const { db, clock, log, metrics } = options
  const now = clock.now()
  const made = await db.run(MAKE_PARTITIONS, [now, MONTHS_AHEAD])
  if (made.length > 0) log.info({ partitions: made.map((row) => row.name) }, 'partitions made')
  const [stray] = await db.run(COUNT_STRAY_ROWS, [ALL_BUCKETS])
  if (!stray || stray.count === 0n) return
  metrics.ledger_invariant_breaks.inc({ invariant: 'default_partition_is_empty' })
  log.error({ alarm: 'ledger', rows: Number(stray.count) }, 'rows in a default partition')
}

/** Nodes that are long gone, answers nobody will ask for again, days and months that are over. */
export async function forgetOldRows(
  options: Pick<WalletJobOptions, 'db' | 'clock'>,
): Promise<void> {
  const now_ms = options.clock.now().getTime()
  await options.db.run(DELETE_DEAD_NODES, [new Date(now_ms - FORGET_NODE_AFTER_MS)])
  const oldest = new Date(now_ms - FORGET_ANSWER_AFTER_MS)
  await options.db.run(DELETE_OLD_IDEMPOTENCY, [ALL_BUCKETS, oldest])
  await options.db.run(DELETE_OLD_KEY_SPEND, [
    ALL_BUCKETS,
    new Date(now_ms - FORGET_SPEND_AFTER_MS),
  ])
}

/** Checks a part of the book while traffic runs; every difference is an alarm. */
export async function audit(
  options: Omit<WalletJobOptions, 'node'>,
  buckets: readonly number[],
): Promise<void> {
  const report = await checkLedger(options.db, { buckets, bounded: true })
  for (const proof of report.proofs) {
    if (proof.differences === 0) continue
    const { name, differences, first } = proof
    options.metrics.ledger_invariant_breaks.inc({ invariant: name }, differences)
    options.log.error({ alarm: 'ledger', invariant: name, differences, first }, 'ledger alarm')
  }
}

function leaseUntil(clock: Clock): Date {
  return new Date(clock.now().getTime() + LEASE_MS)
}
