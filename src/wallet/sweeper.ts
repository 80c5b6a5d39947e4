// Gives back the holds that nobody will resolve: past their time, or of a node that is dead. Any number of processes
// may do it; each watches for itself.

import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import type { Job } from '../platform/worker.ts'
import { ALL_BUCKETS } from './bucket.ts'
import { NodeWatch } from './lanes/node-watch.ts'
import {
  DELETE_NODE,
  SELECT_BUCKETS_TO_SWEEP,
  SELECT_NODES,
  SWEEP_HOLDS,
  type SweepRow,
} from './store.ts'

export type SweeperOptions = { db: Db; log: Log; metrics: LedgerMetrics }

const SWEEP_EVERY_MS = 2_000
/** Small, because its wallets wait while a batch is swept. */
const SWEEP_LIMIT = 100
/** Bounds what one bucket may take of a run; the next comes in two seconds. */
const SWEEP_ROUNDS = 100

/** `own_node_id`: the lease of this process. */
export function sweepJob(options: SweeperOptions & { own_node_id: string }): Job {
  const watch = new NodeWatch()
  return {
    name: 'wallet.sweep',
    every_ms: SWEEP_EVERY_MS,
    run: async (signal) => {
      await buryDeadNodes(options, watch)
      await sweepHolds(options, signal)
    },
  }
}

/** Ends the leases of nodes that are dead: from then on their holds are nobody's. */
export async function buryDeadNodes(
  options: SweeperOptions & { own_node_id: string },
  watch: NodeWatch,
): Promise<void> {
  const { db, log, own_node_id } = options
  const asked_ms = performance.now()
  try {
    const rows = await db.run(SELECT_NODES)
    const dead = watch.look({ rows, own_node_id, asked_ms, answered_ms: performance.now() })
    for (const { node_id, beat } of dead) {
      const [buried] = await db.run(DELETE_NODE, [node_id, beat])
      if (buried) log.error({ alarm: 'ledger_node', node_id }, 'a gateway is dead')
    }
  } catch (error) {
    watch.interrupt()
    throw error
  }
}

/** Answers how many holds it gave back. A bucket that cannot be swept keeps no other from it. */
export async function sweepHolds(options: SweeperOptions, signal?: AbortSignal): Promise<number> {
  const { db, log } = options
  let swept = 0
  for (const { bucket } of await db.run(SELECT_BUCKETS_TO_SWEEP, [ALL_BUCKETS])) {
    try {
      swept += await sweepBucket(options, bucket, signal)
    } catch (error) {
      log.warn({ err: error, bucket }, 'a bucket was not swept')
    }
  }
  return swept
}

async function sweepBucket(
  options: SweeperOptions,
  bucket: number,
  signal: AbortSignal | undefined,
): Promise<number> {
  let swept = 0
  for (let round = 0; round < SWEEP_ROUNDS; round++) {
    if (signal?.aborted) break
    const rows = await options.db.run(SWEEP_HOLDS, [bucket, SWEEP_LIMIT])
    if (rows.length === 0) break
    for (const row of rows) swept += report(options, row)
  }
  return swept
}

/** A crashed call is not charged; what it cost at the provider is ours. */
function report({ log, metrics }: SweeperOptions, row: SweepRow): number {
  const { reason } = row
  const holds = Number(row.holds)
  metrics.ledger_swept.inc({ reason }, holds)
  log.warn({ reason, holds, credits: Number(row.credits) }, 'swept')
  return holds
}
