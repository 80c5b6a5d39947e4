// What runs beside the calls: the sweeper, what was kept on disk, next month's partitions, and the audit.

import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import type { Job } from '../platform/worker.ts'
import { ALL_BUCKETS, BUCKET_COUNT } from './bucket.ts'
import { checkLedger, type LedgerReport, proveBook } from './check.ts'
import {
  COUNT_STRAY_ROWS,
  DELETE_OLD_IDEMPOTENCY,
  DELETE_OLD_SPEND_COUNTERS,
  MAKE_PARTITIONS,
} from './store.ts'
import { sweepJob } from './sweeper.ts'

export type BackgroundOptions = { db: Db; clock: Clock; log: Log; metrics: LedgerMetrics }

/** How soon settlements that were kept on disk are tried again. */
const POST_KEPT_EVERY_MS = 10_000
const PARTITIONS_EVERY_MS = 3_600_000
const MONTHS_AHEAD = 2
/** At the start: somebody else may be making them, or a reader be in the way. */
const PARTITIONS_TRIES = 5
const PARTITIONS_RETRY_MS = 300
const AUDIT_EVERY_MS = 5 * 60_000
const DAY_MS = 24 * 3_600_000
const FORGET_ANSWER_AFTER_MS = 45 * DAY_MS
const FORGET_SPEND_AFTER_MS = 62 * DAY_MS

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
    { name: 'wallet.forget', every_ms: DAY_MS / 4, run: () => forgetOldRows(options) },
    auditJob(options),
  ]
}

/**
 * Every bucket a few times a day, one at a time, and once a day what spans them. Both begin at random: a
 * service that starts anew often must not look at the same part each time. A part that cannot be checked does
 * not keep the others from it.
 */
function auditJob(options: BackgroundOptions): Job {
  const { clock } = options
  let next_bucket = randomInt(BUCKET_COUNT)
  let book_due_ms = clock.now().getTime() + randomInt(DAY_MS)
  return {
    name: 'wallet.audit',
    every_ms: AUDIT_EVERY_MS,
    run: async () => {
      const now_ms = clock.now().getTime()
      if (now_ms >= book_due_ms) {
        book_due_ms = now_ms + DAY_MS
        await audit(options, 'book')
        return
      }
      const bucket = next_bucket
      next_bucket = (next_bucket + 1) % BUCKET_COUNT
      await audit(options, [bucket])
    },
  }
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

/** Answers nobody will ask for again, days and months that are over. */
export async function forgetOldRows(
  options: Pick<BackgroundOptions, 'db' | 'clock'>,
): Promise<void> {
  const now_ms = options.clock.now().getTime()
  const oldest = new Date(now_ms - FORGET_ANSWER_AFTER_MS)
  await options.db.run(DELETE_OLD_IDEMPOTENCY, [ALL_BUCKETS, oldest])
  await options.db.run(DELETE_OLD_SPEND_COUNTERS, [
    ALL_BUCKETS,
    new Date(now_ms - FORGET_SPEND_AFTER_MS),
  ])
}

/** Checks a part of the book while traffic runs; every difference is an alarm, and so is not to know. */
export async function audit(
  options: BackgroundOptions,
  part: readonly number[] | 'book',
): Promise<void> {
  const { db, log, metrics } = options
  let report: LedgerReport
  try {
    report =
      part === 'book'
        ? await proveBook(db)
        : await checkLedger(db, { buckets: part, bounded: true })
  } catch (error) {
    metrics.ledger_audit_failures.inc()
    log.error({ alarm: 'ledger_audit', part, err: error }, 'audit failed')
    throw error
  }
  for (const proof of report.proofs) {
    if (proof.differences === 0) continue
    const { name, differences, first } = proof
    metrics.ledger_invariant_breaks.inc({ invariant: name }, differences)
    log.error({ alarm: 'ledger', invariant: name, differences, first }, 'ledger alarm')
  }
}
