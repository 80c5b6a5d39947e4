// What runs beside the calls: the sweeper, what was kept on disk, next month's partitions; and the list of all jobs.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import { type Job, runAtStart } from '../platform/worker.ts'
import { auditJob } from './audit.ts'
import { ALL_BUCKETS } from './bucket.ts'
import { forgetJob } from './retention.ts'
import { sealJob } from './seal.ts'
import { COUNT_STRAY_ROWS, MAKE_PARTITIONS } from './store.ts'
import { sweepJob } from './sweeper.ts'

export type BackgroundOptions = { db: Db; clock: Clock; log: Log; metrics: LedgerMetrics }

/** How soon settlements that were kept on disk are tried again. */
const POST_KEPT_EVERY_MS = 10_000
const PARTITIONS_EVERY_MS = 3_600_000
const MONTHS_AHEAD = 2

/**
 * At every start, after the migrations and before the first posting: a service that stood still for months
 * finds the partitions of today. It does not fail when they cannot be made: the default partition takes what
 * comes, the alarm was raised, and the hourly job tries on.
 */
export async function prepareLedger(options: BackgroundOptions): Promise<void> {
  await runAtStart('wallet.partitions', options.log, () => keepPartitions(options))
}

/** In every process that has calls: whoever stopped here before may have left settlements on disk. */
export function postKeptJob(ledger: { postKept(): Promise<void> }): Job {
  return {
    name: 'wallet.post_kept',
    every_ms: POST_KEPT_EVERY_MS,
    run: () => ledger.postKept(),
  }
}

/** In processes that do background work; any number of them. */
export function walletJobs(options: BackgroundOptions & { own_node_id: string }): Job[] {
  return [
    sweepJob(options),
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
