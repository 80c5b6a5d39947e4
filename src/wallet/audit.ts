// The ledger check in the background: a bucket every five minutes and once a day what spans them. One process does it
// for all: whoever takes the turn. The turn is in the database, so a service that starts anew goes on where it was.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import type { Job } from '../platform/worker.ts'
import { BUCKET_COUNT } from './bucket.ts'
import { checkLedger, type LedgerReport, proveBook } from './check.ts'
import { recordCheck } from './check-record.ts'
import { TAKE_TURN } from './retention-store.ts'

export type AuditOptions = { db: Db; clock: Clock; log: Log; metrics: LedgerMetrics }

const AUDIT_EVERY_MS = 5 * 60_000
/** Timers drift: a turn is free a little before it is due. */
const TURN_MS = AUDIT_EVERY_MS * 0.8
const TURNS_A_DAY = 288

export function auditJob(options: AuditOptions): Job {
  return {
    name: 'wallet.audit',
    every_ms: AUDIT_EVERY_MS,
    run: async () => {
      const turn = await alarmOnFailure(options, 'turn', () => takeTurn(options))
      if (turn !== undefined) await audit(options, partOf(turn))
    },
  }
}

/** Every bucket a few times a day, one at a time; what spans them once. */
function partOf(turn: bigint): readonly number[] | 'book' {
  return Number(turn) % TURNS_A_DAY === 0 ? 'book' : [Number(turn) % BUCKET_COUNT]
}

async function takeTurn({ db, clock }: AuditOptions): Promise<bigint | undefined> {
  const now = clock.now()
  const rows = await db.run(TAKE_TURN, ['audit', now, new Date(now.getTime() - TURN_MS)])
  return rows[0]?.turn
}

/** Checks a part of the book while traffic runs; every difference is an alarm, and so is not to know. */
export async function audit(
  options: AuditOptions,
  part: readonly number[] | 'book',
): Promise<void> {
  const { db, log, metrics } = options
  const began_at = performance.now()
  const report = await alarmOnFailure(options, part, () => check(db, part))
  const duration_ms = performance.now() - began_at
  const made = { part: nameOf(part), at: options.clock.now(), duration_ms }
  await recordCheck(db, report, made)
  for (const proof of report.proofs) {
    if (proof.differences === 0) continue
    const { name, differences, first } = proof
    metrics.ledger_invariant_breaks.inc({ invariant: name }, differences)
    log.error({ alarm: 'ledger', invariant: name, differences, first }, 'ledger alarm')
  }
}

function nameOf(part: readonly number[] | 'book'): string {
  return part === 'book' ? part : part.map((bucket) => `bucket ${bucket}`).join()
}

async function check(db: Db, part: readonly number[] | 'book'): Promise<LedgerReport> {
  return part === 'book'
    ? await proveBook(db)
    : await checkLedger(db, { buckets: part, bounded: true })
}

async function alarmOnFailure<Result>(
  { log, metrics }: AuditOptions,
  part: readonly number[] | 'book' | 'turn',
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    metrics.ledger_audit_failures.inc()
    log.error({ alarm: 'ledger_audit', part, err: error }, 'audit failed')
    throw error
  }
}
