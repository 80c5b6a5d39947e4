// `svc ledger check`: proves the books from the rows themselves, in one snapshot, without a lock that
// anybody waits for. The proofs trust nothing that the hot path computed. They begin at the last seal, which proves what
// was before it: the cost is that of what is new. replay.ts proves everything from the beginning.

import type { Db, Statement, Tx } from '../platform/db.ts'
import { ALL_BUCKETS, BUCKET_COUNT } from './bucket.ts'
import { BOOK_PRESENT_PROOFS, OPEN_PROOFS, PRESENT_PROOFS } from './check-present-store.ts'
import {
  BOOK_RANGE_PROOFS,
  KEEP_PARTITIONS,
  LIFT_TIME_LIMIT,
  type ProofRow,
  RANGE_PROOFS,
  READ_ONE_SNAPSHOT,
  SELECT_SEALED_UNTIL,
  SUM_ACCOUNTS,
} from './check-store.ts'
import { ALL_TIME, type Range } from './months.ts'

export type Proof = {
  name: string
  /** How many things were compared. */
  checked: number
  differences: number
  /** The first difference, in words. */
  first: string | null
}

/** `totals`, where all buckets were read: of each account of the book, from its beginning. Together they are zero. */
export type LedgerReport = { ok: boolean; proofs: Proof[]; totals?: Record<string, bigint> }

/**
 * All buckets unless told otherwise; what spans buckets is proved only when all are. A bounded check ends at
 * the session's statement time-out: a snapshot that lives long slows down hot wallets.
 */
export async function checkLedger(
  db: Db,
  options: { buckets?: readonly number[]; bounded?: boolean } = {},
): Promise<LedgerReport> {
  const buckets = options.buckets ?? ALL_BUCKETS
  return await db.transaction(async (tx) => {
    await takeSnapshot(tx)
    if (!options.bounded) await tx.run(LIFT_TIME_LIMIT)
    const range = await openRange(tx)
    const made = await proveAll(tx, [...OPEN_PROOFS, ...RANGE_PROOFS], { buckets, range })
    made.push(...(await proveAll(tx, PRESENT_PROOFS, { buckets })))
    if (buckets.length < BUCKET_COUNT) return reportOf(made)
    made.push(...(await proveBookIn(tx, range)))
    return { ...reportOf(made), totals: await addAccounts(tx, range) }
  })
}

/** Only what spans buckets. It reads every bucket in one piece, so it is not bounded: once a day is enough. */
export async function proveBook(db: Db): Promise<LedgerReport> {
  return await db.transaction(async (tx) => {
    await takeSnapshot(tx)
    await tx.run(LIFT_TIME_LIMIT)
    const range = await openRange(tx)
    const report = reportOf(await proveBookIn(tx, range))
    return { ...report, totals: await addAccounts(tx, range) }
  })
}

async function addAccounts(tx: Tx, range: Range): Promise<Record<string, bigint>> {
  const rows = await tx.run(SUM_ACCOUNTS, [ALL_BUCKETS, range.from, range.to])
  return Object.fromEntries(rows.map(({ account, total }) => [account, total]))
}

/** The whole transaction reads one state of the rows and of the tables they stand in. */
export async function takeSnapshot(tx: Tx): Promise<void> {
  await tx.run(READ_ONE_SNAPSHOT)
  await tx.run(KEEP_PARTITIONS)
}

export function reportOf(proofs: Proof[]): LedgerReport {
  return { ok: proofs.every((proof) => proof.differences === 0), proofs }
}

/** What a stretch of time must be by itself, in every bucket and over all of them. */
export async function proveRange(tx: Tx, range: Range): Promise<Proof[]> {
  return await proveAll(tx, [...RANGE_PROOFS, ...BOOK_RANGE_PROOFS], {
    buckets: ALL_BUCKETS,
    range,
  })
}

export type Extent = { buckets: readonly number[]; range?: Range }

export async function proveAll(
  tx: Tx,
  statements: readonly Statement<ProofRow>[],
  extent: Extent,
): Promise<Proof[]> {
  const made: Proof[] = []
  for (const statement of statements) made.push(await prove(tx, statement, extent))
  return made
}

/** Since the last seal. */
export async function openRange(tx: Tx): Promise<Range> {
  const [row] = await tx.run(SELECT_SEALED_UNTIL)
  return { ...ALL_TIME, ...(row?.sealed_until && { from: row.sealed_until }) }
}

async function proveBookIn(tx: Tx, range: Range): Promise<Proof[]> {
  return [
    ...(await proveAll(tx, BOOK_RANGE_PROOFS, { buckets: ALL_BUCKETS, range })),
    ...(await proveAll(tx, BOOK_PRESENT_PROOFS, { buckets: ALL_BUCKETS })),
  ]
}

/** What was proved month by month is one proof. */
export function addProof(total: Proof, part: Omit<Proof, 'name'>): void {
  total.checked += part.checked
  total.differences += part.differences
  total.first ??= part.first
}

async function prove(
  tx: Tx,
  statement: Statement<ProofRow>,
  { buckets, range }: Extent,
): Promise<Proof> {
  const [row] = await tx.run(statement, range ? [buckets, range.from, range.to] : [buckets])
  if (!row) throw new Error(`${statement.name} has one row`)
  return {
    name: proofName(statement),
    checked: Number(row.checked),
    differences: Number(row.differences),
    first: row.first,
  }
}

function proofName(statement: Statement<ProofRow>): string {
  return statement.name.replace(/^\w+\.prove_/, '')
}
