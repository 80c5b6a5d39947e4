// `svc ledger check --from-the-beginning`: proves every sealed month again from its rows, month by month, and then what
// came after. Rows stream past; nothing of a month stands in memory.

import type { Db, Tx } from '../platform/db.ts'
import { ALL_BUCKETS } from './bucket.ts'
import {
  addProof,
  checkLedger,
  type LedgerReport,
  type Proof,
  proveAll,
  proveRange,
  reportOf,
  takeSnapshot,
} from './check.ts'
import { type Month, rangeOf } from './months.ts'
import { digestOfSeal, digestPart, NO_SEAL } from './seal.ts'
import {
  PREPARE_TO_READ_MONTHS,
  SEAL_PARTS,
  SEALED_PROOFS,
  SELECT_SEAL_PARTS,
  SELECT_SEALS,
  type SealPart,
  type SealPartRow,
  type SealRow,
} from './seal-store.ts'

/** `done` of `total` rows of the sealed months were read. */
export type Progress = { month: Month; done: number; total: number }

export type ReplayReport = LedgerReport & {
  sealed: Month[]
  /** Their rows are in files: `svc ledger verify-archive` proves these. */
  archived: Month[]
}

/** Stay in the database when a month is archived. */
const KEPT_PARTS: readonly SealPart[] = ['wallets', 'accounts']

export async function replayLedger(
  db: Db,
  onProgress: (progress: Progress) => void = () => {},
): Promise<ReplayReport> {
  const { seals, total } = await readSeals(db)
  const proofs = new Map<string, Proof>()
  const archived: Month[] = []
  let previous_digest = NO_SEAL
  let done = 0
  for (const seal of seals) {
    const onRows = (rows: number) => {
      done += rows
      onProgress({ month: seal.month, done, total })
    }
    // A transaction for each month: it cannot change, and a snapshot that lives long slows down hot wallets.
    const expected = previous_digest
    const made = await db.transaction((tx) =>
      proveMonth(tx, { month: seal.month, expected }, onRows),
    )
    for (const proof of made.proofs) gather(proofs, proof)
    if (made.is_archived) archived.push(seal.month)
    previous_digest = seal.digest
  }
  for (const proof of (await checkLedger(db)).proofs) gather(proofs, proof)
  return {
    ...reportOf([...proofs.values()]),
    sealed: seals.map(({ month }) => month),
    archived,
  }
}

async function readSeals(db: Db): Promise<{ seals: SealRow[]; total: number }> {
  const seals = await db.run(SELECT_SEALS)
  let total = 0
  for (const seal of seals) {
    const parts = await db.run(SELECT_SEAL_PARTS, [`${seal.month}-01`])
    for (const part of readableParts(seal, parts)) total += Number(part.rows)
  }
  return { seals, total }
}

function readableParts(seal: SealRow, parts: readonly SealPartRow[]): SealPartRow[] {
  return parts.filter(({ part }) => !seal.archived_at || KEPT_PARTS.some((kept) => kept === part))
}

async function proveMonth(
  tx: Tx,
  { month, expected }: { month: Month; expected: string },
  onRows: (rows: number) => void,
): Promise<{ proofs: Proof[]; is_archived: boolean }> {
  await takeSnapshot(tx)
  await tx.run(PREPARE_TO_READ_MONTHS)
  // Again: it may have been archived since the months were listed.
  const seal = (await tx.run(SELECT_SEALS)).find((candidate) => candidate.month === month)
  if (!seal) throw new Error(`the seal of ${month} is gone`)
  const parts = await tx.run(SELECT_SEAL_PARTS, [`${month}-01`])
  const chained =
    seal.previous_digest === expected && digestOfSeal({ ...seal, parts }) === seal.digest
  const proofs = [proofOf('seals_form_a_chain', chained, `the seal of ${month}`)]
  for (const name of SEAL_PARTS) {
    const sealed = readableParts(seal, parts).find(({ part }) => part === name)
    if (!sealed) continue
    const { rows, digest } = await digestPart(tx, { part: name, month })
    onRows(rows)
    const same = digest === sealed.digest && BigInt(rows) === sealed.rows
    proofs.push(proofOf('sealed_rows_are_unchanged', same, `${name} of ${month}`))
  }
  if (seal.archived_at) return { proofs, is_archived: true }
  const range = rangeOf(month)
  proofs.push(...(await proveRange(tx, range)))
  proofs.push(...(await proveAll(tx, SEALED_PROOFS, { buckets: ALL_BUCKETS, range })))
  return { proofs, is_archived: false }
}

function proofOf(name: string, holds: boolean, what: string): Proof {
  return { name, checked: 1, differences: holds ? 0 : 1, first: holds ? null : what }
}

function gather(proofs: Map<string, Proof>, proof: Proof): void {
  const total = proofs.get(proof.name)
  if (total) addProof(total, proof)
  else proofs.set(proof.name, { ...proof })
}
