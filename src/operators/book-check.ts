// The check of the whole book since its last seal, that of the payouts included, as `svc ledger check` and operators make
// it. What it found is kept.

import { checkPayouts } from '../payouts/check.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { checkLedger, type LedgerReport, reportOf } from '../wallet/check.ts'
import { recordCheck } from '../wallet/check-record.ts'
import { type By, recordAct } from './acts.ts'

export type CheckParts = { db: Db; clock: Clock }

/** Takes as long as it takes. */
export async function checkBook(parts: CheckParts): Promise<LedgerReport> {
  const { report, made } = await makeCheck(parts, { bounded: false })
  await recordCheck(parts.db, report, made)
  return report
}

let running = false

/** Ends at the time limit of statements, and there is one at a time in a process: a snapshot that lives long slows others. */
export async function checkBookNow(
  parts: CheckParts,
  by: By,
): Promise<{ report: LedgerReport; checked_at: Date; duration_ms: number }> {
  if (running) throw busy()
  running = true
  try {
    const { report, made } = await makeCheck(parts, { bounded: true })
    await parts.db.transaction(async (tx) => {
      await recordCheck(tx, report, made)
      const details = { ok: report.ok }
      await recordAct(parts.clock, tx, { ...by, act: 'ledger check', subject: 'the book', details })
    })
    return { report, checked_at: made.at, duration_ms: Math.round(made.duration_ms) }
  } finally {
    running = false
  }
}

async function makeCheck({ db, clock }: CheckParts, options: { bounded: boolean }) {
  const began_at = performance.now()
  const book = await checkLedger(db, options)
  const payouts = await checkPayouts(db, options)
  const report = { ...reportOf([...book.proofs, ...payouts.proofs]), totals: book.totals ?? {} }
  const made = { part: 'all', at: clock.now(), duration_ms: performance.now() - began_at }
  return { report, made }
}

function busy(): ApiError {
  return new ApiError('service_unavailable', {
    message: 'A check is running.',
    hint: 'Its outcome is in GET /operator/ledger when it has ended.',
    headers: { 'retry-after': '10' },
  })
}
