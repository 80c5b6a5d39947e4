// The daily batch: first what is pending is resolved, then whoever is due is paid, one developer after the other.

import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'
import { withBatchLock } from './batch-lock.ts'
import { mayBePaid } from './mirror.ts'
import { claimPayout, markFailed, markPaid, takeNextKey } from './payouts.ts'
import { resolveStep } from './resolve.ts'
import { eligibleUntil, MINIMUM_CREDITS, reachesMinimum, splitGross } from './rules.ts'
import {
  BLOCK_ACCOUNT,
  type CandidateRow,
  COUNT_ACCOUNTS,
  type PayoutRow,
  SELECT_CANDIDATES,
  SELECT_PAYOUT,
  SELECT_PENDING,
} from './store.ts'
import { createTransfer, findTransfer, type Processor, type Sent } from './transfers.ts'

const PAGE = 500
const FIRST_ID = '00000000-0000-0000-0000-000000000000'
/** A processor that leaves this many in a row unanswered is away: the rest would wait a minute each. */
const UNKNOWN_MAX = 3
/** A fault of one developer's rows is theirs alone; that many in a row are a fault of everything. */
const ERRORS_MAX = 3
/** What developers read of a refusal that is about the platform: its balance and its keys are not theirs to know. */
const NOT_ABOUT_THEM = 'The platform could not pay. The next batch tries again.'

export type BatchParts = Processor & { db: Db; database_url: string; log: Log }

export type BatchOptions = {
  now: Date
  /** Says what would be paid; writes and sends nothing. */
  dry_run?: boolean
  minimum_credits?: bigint
  /** Nobody else is paid, whoever is found to be due meanwhile. */
  only?: ReadonlySet<string>
  signal?: AbortSignal
  onProgress?: (progress: { done: number; total: number }) => void
  onPayout?: (payout: Payable) => void
}

export type Payable = {
  developer_id: string
  gross_credits: bigint
  reserve_credits: bigint
  transfer_credits: bigint
  amount_cents: bigint
  outcome: Outcome | 'due'
}

export type Outcome = 'paid' | 'failed' | 'pending'

export type BatchResult = {
  status: 'done' | 'already_running' | 'stopped' | 'interrupted'
  /** Why it stopped. */
  reason?: string
  resolved: number
  paid: number
  failed: number
  pending: number
  /** Developers who would be due and are suspended. */
  suspended: number
  /** Developers whose turn ended with a fault of ours. */
  errors: number
  paid_cents: bigint
}

type Run = BatchParts &
  BatchOptions & {
    result: BatchResult
    unknown_in_a_row: number
    errors_in_a_row: number
    lock_lost?: AbortSignal
  }

export async function runBatch(parts: BatchParts, options: BatchOptions): Promise<BatchResult> {
  const counts = {
    resolved: 0,
    paid: 0,
    failed: 0,
    pending: 0,
    suspended: 0,
    errors: 0,
    paid_cents: 0n,
  }
  const run: Run = {
    ...parts,
    ...options,
    result: { status: 'done', ...counts },
    unknown_in_a_row: 0,
    errors_in_a_row: 0,
  }
  if (options.dry_run) {
    await payDevelopers(run)
    return run.result
  }
  const result = await withBatchLock(parts.database_url, async (lock_lost) => {
    run.lock_lost = lock_lost
    await resolvePending(run)
    if (goesOn(run)) await payDevelopers(run)
    return run.result
  })
  return result ?? { ...run.result, status: 'already_running' }
}

function goesOn(run: Run): boolean {
  const { result, signal, lock_lost } = run
  if (result.status === 'done' && signal?.aborted) result.status = 'interrupted'
  if (result.status === 'done' && lock_lost?.aborted) stop(run, 'lock_lost')
  return result.status === 'done'
}

/** What one developer's turn throws is told, and the next one's comes. */
async function takeTurn(run: Run, developer_id: string, turn: () => Promise<void>): Promise<void> {
  try {
    await turn()
    run.errors_in_a_row = 0
  } catch (error) {
    run.result.errors++
    run.errors_in_a_row++
    run.log.error({ alarm: 'payout', err: error, developer_id }, 'a developer could not be paid')
    if (run.errors_in_a_row >= ERRORS_MAX) throw error
  }
}

async function resolvePending(run: Run): Promise<void> {
  let after = FIRST_ID
  for (;;) {
    const page = await run.db.run(SELECT_PENDING, [after, PAGE])
    for (const payout of page) {
      if (!goesOn(run)) return
      await takeTurn(run, payout.developer_id, () => resolveOne(run, payout))
    }
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.id
  }
}

async function resolveOne(run: Run, payout: PayoutRow): Promise<void> {
  const step = await resolveStep(run, payout, run.now)
  const attempt = { payout, sent_before: true }
  if (step.kind === 'send') await send(run, attempt)
  else await finish(run, attempt, step.sent)
  run.result.resolved++
}

async function payDevelopers(run: Run): Promise<void> {
  const { db, now, minimum_credits = MINIMUM_CREDITS } = run
  const [count] = await db.run(COUNT_ACCOUNTS)
  const progress = { done: 0, total: Number(count?.accounts ?? 0n) }
  let after = FIRST_ID
  for (;;) {
    const page = await db.run(SELECT_CANDIDATES, [
      after,
      eligibleUntil(now),
      now,
      PAGE,
      ALL_BUCKETS,
    ])
    for (const candidate of page) {
      if (!goesOn(run)) return
      const is_wanted = !run.only || run.only.has(candidate.developer_id)
      if (is_wanted && reachesMinimum(candidate.eligible, minimum_credits)) {
        await takeTurn(run, candidate.developer_id, () => payDeveloper(run, candidate))
      }
      progress.done++
      run.onProgress?.(progress)
    }
    const last = page.at(-1)
    if (!last || page.length < PAGE) return
    after = last.developer_id
  }
}

async function payDeveloper(run: Run, candidate: CandidateRow): Promise<void> {
  const { db, now, minimum_credits = MINIMUM_CREDITS } = run
  const { developer_id, eligible, released } = candidate
  if (candidate.suspended) {
    run.result.suspended++
    return
  }
  if (run.dry_run) {
    const may = candidate.payouts_enabled && !candidate.payouts_blocked
    const split = splitGross({ earnings: eligible, released_reserve: released })
    if (may && split.amount_cents > 0n) run.onPayout?.({ developer_id, ...split, outcome: 'due' })
    return
  }
  if (!(await mayBePaid(db, run, { candidate, now }))) return
  const payout = await claimPayout(db, { developer_id, now, minimum_credits })
  if (payout) await send(run, { payout, sent_before: false })
}

/** `sent_before`: an earlier request for this payout may have been executed without our knowing. */
type Attempt = { payout: PayoutRow; sent_before: boolean }

/** A refusal that is an old one may have been overcome since: then, and only then, another key is tried, once. */
async function send(run: Run, attempt: Attempt): Promise<void> {
  const { payout } = attempt
  const sent = await createTransfer(run, payout)
  if (sent.kind !== 'refused') return await finish(run, attempt, sent)
  const proven = await proveRefusal(run, attempt, sent)
  const retried = isOld(proven) ? await takeNextKey(run.db, payout, run.now) : undefined
  if (!retried) return await finish(run, attempt, proven)
  const again = { ...attempt, payout: retried }
  const sent_again = await createTransfer(run, retried)
  const known =
    sent_again.kind === 'refused' ? await proveRefusal(run, again, sent_again) : sent_again
  await finish(run, again, known)
}

function isOld(sent: Sent): boolean {
  return sent.kind === 'refused' && sent.replayed
}

async function finish(run: Run, { payout }: Attempt, sent: Sent): Promise<void> {
  const { db, now, result } = run
  const outcome = outcomeOf(sent)
  run.unknown_in_a_row = outcome === 'pending' ? run.unknown_in_a_row + 1 : 0
  if (sent.kind === 'paid') {
    const { transfer_id } = sent
    const is_new = await markPaid(db, { payout, transfer_id, now })
    if (!is_new) await alarmIfFailed(run, payout, transfer_id)
    result.paid_cents += payout.amount_cents
  } else if (sent.kind === 'refused') {
    const message = sent.concerns_all ? NOT_ABOUT_THEM : sent.message
    await markFailed(db, { payout, failure: { code: sent.code, message }, now })
    if (sent.concerns_all) stop(run, sent.code, sent.message)
  } else {
    noteUnknown(run, payout, sent)
  }
  result[outcome]++
  run.onPayout?.({ ...payout, outcome })
}

/** Cannot be, as long as a failure is written only once it is proven. If it is, the earnings would be paid twice. */
async function alarmIfFailed({ db, log }: Run, { id }: PayoutRow, transfer_id: string) {
  const [payout] = await db.run(SELECT_PAYOUT, [id])
  if (payout?.status !== 'failed') return
  const { developer_id } = payout
  await db.run(BLOCK_ACCOUNT, [developer_id])
  log.error(
    { alarm: 'payout', payout_id: id, developer_id, transfer_id },
    'a payout that has failed was transferred',
  )
}

function outcomeOf({ kind }: Sent): Outcome {
  if (kind === 'paid') return 'paid'
  return kind === 'refused' ? 'failed' : 'pending'
}

/**
 * Money is given back only when the list says too that there is no transfer. Where the credential is refused the list is
 * as well: then only a payout that was never sent before is known to be unpaid.
 */
async function proveRefusal(
  run: Run,
  { payout, sent_before }: Attempt,
  sent: Extract<Sent, { kind: 'refused' }>,
): Promise<Sent> {
  const found = await findTransfer(run, payout)
  if (found.kind === 'none') return sent
  if (found.kind === 'unknown' && sent.unauthorized && !sent_before) return sent
  if (found.kind === 'found') return { kind: 'paid', transfer_id: found.transfer_id }
  if (sent.concerns_all) stop(run, sent.code, sent.message)
  const reason = found.kind === 'differs' ? found.detail : found.reason
  return { kind: 'unknown', reason, mismatched: found.kind === 'differs' }
}

function noteUnknown(
  run: Run,
  payout: PayoutRow,
  { reason, mismatched }: Extract<Sent, { kind: 'unknown' }>,
): void {
  const about = { payout_id: payout.id, developer_id: payout.developer_id, reason }
  if (mismatched) run.log.error({ alarm: 'payout', ...about }, 'a payout contradicts the processor')
  else run.log.warn(about, 'the outcome of a transfer is not known yet')
  if (run.unknown_in_a_row >= UNKNOWN_MAX) stop(run, 'processor_unreachable')
}

function stop(run: Run, reason: string, detail?: string): void {
  run.result.status = 'stopped'
  run.result.reason = reason
  run.log.error({ alarm: 'payout', reason, detail }, 'the batch stopped')
}
