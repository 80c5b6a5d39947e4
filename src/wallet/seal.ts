// Seals months: proves a month that is over, writes down where every wallet and account stood at its end, and a digest
// of its rows that is chained to the seal before it. Before it is read, the month is closed: its partitions refuse every
// row. One month after the other, one process at a time.

import { createHash, hash } from 'node:crypto'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { LedgerMetrics } from '../platform/metrics.ts'
import type { Job } from '../platform/worker.ts'
import { ALL_BUCKETS } from './bucket.ts'
import { type Proof, proveAll, proveRange } from './check.ts'
import { PRESENT_PROOFS } from './check-present-store.ts'
import { type Month, monthAfter, rangeOf } from './months.ts'
import {
  CLOSE_MONTH,
  COUNT_HOLDS_OF_RANGE,
  copyPart,
  INSERT_ACCOUNT_SEALS,
  INSERT_SEAL,
  INSERT_SEAL_PARTS,
  INSERT_WALLET_SEALS,
  lockMonth,
  PREPARE_TO_READ_MONTHS,
  SEAL_PARTS,
  SEALED_PROOFS,
  SELECT_SEAL_STATE,
  SELECT_SEALS,
  type SealPart,
  type SealPartRow,
  TRY_SEAL_LOCK,
} from './seal-store.ts'
import { MAKE_PARTITIONS } from './store.ts'

/** What the first seal is chained to. */
export const NO_SEAL = '0'.repeat(64)
/** A call may end after its month did, and clocks differ. post_batch counts on at least two days. */
const QUIET_MS = 2 * 24 * 3_600_000
const SEAL_EVERY_MS = 3_600_000

export type SealedPart = { part: SealPart; rows: number; digest: string }

export type Sealed = { month: Month; digest: string; parts: SealedPart[] }

/** Why a month that is over is not sealed. */
export type Unsealed = { month: Month; because: 'holds_are_open' | 'another_process_seals' }

/** Its rows contradict each other: sealing would make that official. */
export class MonthIsWrong extends Error {
  readonly proofs: readonly Proof[]
  constructor(month: Month, proofs: readonly Proof[]) {
    super(`the book of ${month} is wrong: ${proofs.map(({ name }) => name).join(', ')}`)
    this.proofs = proofs
  }
}

/** Every month that is over and quiet, oldest first; stops at the first that cannot be sealed yet. */
export async function sealMonths(
  db: Db,
  onSealed: (sealed: Sealed) => void = () => {},
): Promise<Unsealed | undefined> {
  for (;;) {
    const month = await nextMonthToSeal(db)
    if (month === undefined) return undefined
    const sealed = await sealMonth(db, month)
    if (sealed === undefined) continue
    if ('because' in sealed) return sealed
    onSealed(sealed)
  }
}

export function sealJob(options: { db: Db; log: Log; metrics: LedgerMetrics }): Job {
  const { db, log, metrics } = options
  return {
    name: 'wallet.seal',
    every_ms: SEAL_EVERY_MS,
    run: async () => {
      try {
        await sealMonths(db, ({ month, digest }) => log.info({ month, digest }, 'month sealed'))
      } catch (error) {
        // Busy is no alarm: the next try comes in an hour.
        if (error instanceof ApiError) throw error
        const invariants = error instanceof MonthIsWrong ? error.proofs : []
        for (const { name } of invariants) metrics.ledger_invariant_breaks.inc({ invariant: name })
        log.error({ alarm: 'ledger_seal', err: error, invariants }, 'a month cannot be sealed')
        throw error
      }
    },
  }
}

async function nextMonthToSeal(db: Queryable): Promise<Month | undefined> {
  const [state] = await db.run(SELECT_SEAL_STATE)
  const month = state?.last_sealed ? monthAfter(state.last_sealed) : state?.first_partition
  if (!state || !month) return undefined
  return state.now.getTime() >= rangeOf(month).to.getTime() + QUIET_MS ? month : undefined
}

/** Undefined where another process has just sealed it. */
async function sealMonth(db: Db, month: Month): Promise<Sealed | Unsealed | undefined> {
  // A service that stood still has months without a partition: theirs are made, to be closed.
  await db.run(MAKE_PARTITIONS, [rangeOf(month).from, 0])
  // First closed, then read: a settlement that comes too late is refused at once and keeps nobody waiting.
  const closed = await inTurn(db, month, (tx) => closeMonth(tx, month))
  return closed === 'closed' ? await inTurn(db, month, (tx) => sealClosedMonth(tx, month)) : closed
}

/** One process at a time, and only while the month is the next to be sealed. */
async function inTurn<Result>(
  db: Db,
  month: Month,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result | Unsealed | undefined> {
  return await db.transaction(async (tx) => {
    const [lock] = await tx.run(TRY_SEAL_LOCK)
    if (!lock?.locked) return { month, because: 'another_process_seals' }
    return (await nextMonthToSeal(tx)) === month ? await work(tx) : undefined
  })
}

async function closeMonth(tx: Tx, month: Month): Promise<Unsealed | 'closed'> {
  await tx.run(lockMonth(month))
  const range = rangeOf(month)
  const [holds] = await tx.run(COUNT_HOLDS_OF_RANGE, [ALL_BUCKETS, range.from, range.to])
  if (holds && holds.count > 0n) return { month, because: 'holds_are_open' }
  await tx.run(CLOSE_MONTH, [firstDayOf(month)])
  return 'closed'
}

async function sealClosedMonth(tx: Tx, month: Month): Promise<Sealed> {
  await tx.run(PREPARE_TO_READ_MONTHS)
  const range = rangeOf(month)
  const values = [ALL_BUCKETS, range.from, range.to]
  await tx.run(INSERT_WALLET_SEALS, values)
  await tx.run(INSERT_ACCOUNT_SEALS, values)
  await requireRight(tx, month)
  const parts: SealedPart[] = []
  for (const part of SEAL_PARTS) parts.push({ part, ...(await digestPart(tx, { part, month })) })
  const previous = (await tx.run(SELECT_SEALS)).at(-1)
  const previous_digest = previous?.digest ?? NO_SEAL
  const digest = digestOfSeal({ month, previous_digest, parts })
  await tx.run(INSERT_SEAL, [firstDayOf(month), previous_digest, digest])
  await tx.run(INSERT_SEAL_PARTS, [
    firstDayOf(month),
    parts.map(({ part }) => part),
    parts.map(({ rows }) => rows),
    parts.map((part) => part.digest),
  ])
  return { month, digest, parts }
}

function firstDayOf(month: Month): string {
  return `${month}-01`
}

async function requireRight(tx: Tx, month: Month): Promise<void> {
  const range = rangeOf(month)
  const proofs = [
    ...(await proveRange(tx, range)),
    ...(await proveAll(tx, SEALED_PROOFS, { buckets: ALL_BUCKETS, range })),
    ...(await proveAll(tx, PRESENT_PROOFS, { buckets: ALL_BUCKETS })),
  ]
  const wrong = proofs.filter(({ differences }) => differences > 0)
  if (wrong.length > 0) throw new MonthIsWrong(month, wrong)
}

/** Reads the bytes that the archive file of this part holds, or is to hold. */
export async function digestPart(
  tx: Tx,
  named: { part: SealPart; month: Month },
  take: (bytes: Buffer) => void | Promise<void> = () => {},
): Promise<{ rows: number; digest: string }> {
  const sha256 = createHash('sha256')
  const rows = await tx.copyOut(copyPart(named.part, named.month), (bytes) => {
    sha256.update(bytes)
    return take(bytes)
  })
  return { rows, digest: sha256.digest('hex') }
}

/** SHA-256 of a few lines of text, so that anybody can work it out with a shell. */
export function digestOfSeal(seal: {
  month: Month
  previous_digest: string
  parts: readonly (SealedPart | SealPartRow)[]
}): string {
  const lines = SEAL_PARTS.map((name) => {
    const part = seal.parts.find((candidate) => candidate.part === name)
    if (!part) throw new Error(`the seal of ${seal.month} has no ${name}`)
    return `${name} ${part.rows} ${part.digest}`
  })
  return hash('sha256', `${[seal.previous_digest, seal.month, ...lines].join('\n')}\n`)
}
