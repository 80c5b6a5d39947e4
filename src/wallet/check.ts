// `svc ledger check`: proves the books from the rows themselves, in one snapshot, without a lock that
// anybody waits for. The proofs trust nothing that the hot path computed.

import type { Db, Statement, Tx } from '../platform/db.ts'
import { ALL_BUCKETS, BUCKET_COUNT } from './bucket.ts'
import {
  BOOK_PROOFS,
  BUCKET_PROOFS,
  LIFT_TIME_LIMIT,
  type ProofRow,
  READ_ONE_SNAPSHOT,
} from './check-store.ts'

export type Proof = {
  name: string
  /** How many things were compared. */
  checked: number
  differences: number
  /** The first difference, in words. */
  first: string | null
}

export type LedgerReport = { ok: boolean; proofs: Proof[] }

/** Buckets that are proved together: bounds the memory of one statement. */
const GROUP_SIZE = 16

/**
 * All buckets unless told otherwise; what spans buckets is proved only when all are. A bounded check ends at
 * the session's statement time-out: a snapshot that lives long slows down hot wallets.
 */
export async function checkLedger(
  db: Db,
  options: { buckets?: readonly number[]; bounded?: boolean } = {},
): Promise<LedgerReport> {
  const buckets = options.buckets ?? ALL_BUCKETS
  const proofs = await db.transaction(async (tx) => {
    await tx.run(READ_ONE_SNAPSHOT)
    if (!options.bounded) await tx.run(LIFT_TIME_LIMIT)
    const made: Proof[] = []
    for (const proof of BUCKET_PROOFS) made.push(await proveInGroups(tx, proof, buckets))
    if (buckets.length < BUCKET_COUNT) return made
    made.push(...(await proveBookIn(tx)))
    return made
  })
  return reportOf(proofs)
}

/** Only what spans buckets. It reads every bucket in one piece, so it is not bounded: once a day is enough. */
export async function proveBook(db: Db): Promise<LedgerReport> {
  const proofs = await db.transaction(async (tx) => {
    await tx.run(READ_ONE_SNAPSHOT)
    await tx.run(LIFT_TIME_LIMIT)
    return await proveBookIn(tx)
  })
  return reportOf(proofs)
}

async function proveBookIn(tx: Tx): Promise<Proof[]> {
  const made: Proof[] = []
  for (const proof of BOOK_PROOFS) made.push(await prove(tx, proof, ALL_BUCKETS))
  return made
}

function reportOf(proofs: Proof[]): LedgerReport {
  return { ok: proofs.every((proof) => proof.differences === 0), proofs }
}

async function proveInGroups(
  tx: Tx,
  statement: Statement<ProofRow>,
  buckets: readonly number[],
): Promise<Proof> {
  const total: Proof = { name: proofName(statement), checked: 0, differences: 0, first: null }
  for (let start = 0; start < buckets.length; start += GROUP_SIZE) {
    const part = await prove(tx, statement, buckets.slice(start, start + GROUP_SIZE))
    total.checked += part.checked
    total.differences += part.differences
    total.first ??= part.first
  }
  return total
}

async function prove(
  tx: Tx,
  statement: Statement<ProofRow>,
  buckets: readonly number[],
): Promise<Proof> {
  const [row] = await tx.run(statement, [buckets])
  if (!row) throw new Error(`${statement.name} has one row`)
  return {
    name: proofName(statement),
    checked: Number(row.checked),
    differences: Number(row.differences),
    first: row.first,
  }
}

function proofName(statement: Statement<ProofRow>): string {
  return statement.name.replace('wallet.prove_', '')
}
