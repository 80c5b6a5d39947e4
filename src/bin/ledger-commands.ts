// `svc ledger …`: the book is checked, sealed, archived and compared with its archives.

import path from 'node:path'
import type { Parts } from '../compose.ts'
import { checkBook } from '../operators/book-check.ts'
import { checkPayouts } from '../payouts/check.ts'
import { ArchiveFault, archiveMonth, findManifests, verifyArchive } from '../wallet/archive.ts'
import { type Proof, reportOf } from '../wallet/check.ts'
import { isMonth } from '../wallet/months.ts'
import { type Progress, replayLedger } from '../wallet/replay.ts'
import { sealMonths } from '../wallet/seal.ts'
import { readArguments } from './arguments.ts'
import { UsageError } from './usage-error.ts'

const HELP = `svc ledger check [--from-the-beginning]
  Prove the book from its rows, since the last seal or from the beginning; exits with 1 at a difference.
svc ledger seal
  Seal every month that has been over for two days and of which no call runs.
svc ledger archive <YYYY-MM> [--to <folder>] [--drop]
  Write a sealed month to files and take its rows out of the database. Without --drop its tables stay beside
  the book, named …_archived. Files go to DATA_DIR/archive unless told otherwise.
svc ledger verify-archive <folder or manifest>
  Prove files against the seals in the database; exits with 1 at a difference.`

const ARGUMENTS = {
  help: HELP,
  options: {
    'from-the-beginning': { type: 'boolean' },
    to: { type: 'string' },
    drop: { type: 'boolean' },
  },
  only_for: { 'from-the-beginning': ['check'], to: ['archive'], drop: ['archive'] },
} as const

const BAR_WIDTH = 40

export type WithParts = (work: (parts: Parts) => Promise<void>) => Promise<void>

export async function runLedgerCommand(
  args: readonly string[],
  withParts: WithParts,
): Promise<void> {
  const { values, positionals } = readArguments(args, ARGUMENTS)
  const [command, ...operands] = positionals
  if (values.help) return print(HELP)
  const named = command === 'archive' || command === 'verify-archive'
  const [operand] = operands
  if (operands.length !== (named ? 1 : 0)) throw new UsageError(HELP)
  switch (command) {
    case 'check':
      return await withParts((parts) => check(parts, values['from-the-beginning'] === true))
    case 'seal':
      return await withParts(seal)
    case 'archive':
      if (!isMonth(operand ?? '')) throw new UsageError(`${operand} is no month, as 2026-05 is one`)
      return await withParts((parts) =>
        archive(parts, { month: operand ?? '', folder: values.to, drop: values.drop === true }),
      )
    case 'verify-archive':
      return await withParts((parts) => verify(parts, operand ?? ''))
    case undefined:
    default:
      throw new UsageError(HELP)
  }
}

async function check(parts: Parts, from_the_beginning: boolean): Promise<void> {
  const report = from_the_beginning
    ? reportOf([...(await replay(parts)).proofs, ...(await checkPayouts(parts.db)).proofs])
    : await checkBook(parts)
  for (const proof of report.proofs) print(describeProof(proof))
  print(report.ok ? 'the book is right' : 'THE BOOK IS WRONG')
  if (!report.ok) process.exitCode = 1
}

async function replay(parts: Parts) {
  const report = await replayLedger(parts.db, showProgress)
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  print(`${report.sealed.length} sealed months`)
  for (const month of report.archived) {
    print(`     ${month} is archived: prove its files with \`svc ledger verify-archive\``)
  }
  return report
}

/** Only for somebody who watches. */
function showProgress({ month, done, total }: Progress): void {
  if (!process.stderr.isTTY) return
  const share = total === 0 ? 1 : done / total
  const bar = '#'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '.')
  process.stderr.write(`\r[${bar}] ${Math.floor(share * 100)} % ${month}`)
}

async function seal(parts: Parts): Promise<void> {
  let count = 0
  const stopped = await sealMonths(parts.db, ({ month, digest }) => {
    count++
    print(`${month} sealed ${digest}`)
  })
  if (stopped) {
    const why =
      stopped.because === 'holds_are_open' ? 'calls of it still run' : 'another process is at it'
    print(`${stopped.month} is not sealed: ${why}`)
  } else if (count === 0) {
    print('no month is to be sealed: it must have been over for two days')
  }
}

async function archive(
  parts: Parts,
  wanted: { month: string; folder: string | undefined; drop: boolean },
): Promise<void> {
  const { month, drop } = wanted
  const folder = wanted.folder ?? path.join(parts.config.DATA_DIR, 'archive')
  await explainFaults(async () => {
    const { files } = await archiveMonth(parts.db, { month, folder, drop })
    for (const { file, rows, digest } of files) print(`${file} (${rows} rows) ${digest}`)
    print(`${month} is archived in ${folder}`)
  })
}

async function verify(parts: Parts, place: string): Promise<void> {
  await explainFaults(async () => {
    for (const manifest of await findManifests(place)) {
      const faults = await verifyArchive(parts.db, manifest)
      print(`${faults.length === 0 ? 'ok  ' : 'DIFF'} ${manifest}`)
      for (const fault of faults) print(`     ${fault}`)
      if (faults.length > 0) process.exitCode = 1
    }
  })
}

async function explainFaults(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (error instanceof ArchiveFault) throw new UsageError(error.message)
    throw error
  }
}

function describeProof(proof: Proof): string {
  const verdict = proof.differences === 0 ? 'ok  ' : 'DIFF'
  const found =
    proof.first === null ? '' : `: ${proof.differences} differences, first: ${proof.first}`
  return `${verdict} ${proof.name} (${proof.checked} checked)${found}`
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
