// `svc payouts …`: the batch by hand, what it did, and whether the processor agrees.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { findAccountOfEmail } from '../accounts/accounts.ts'
import type { Parts } from '../compose.ts'
import { recordAct } from '../operators/acts.ts'
import { runPayouts } from '../operators/payout-runs.ts'
import { type BatchResult, type Payable, runBatch } from '../payouts/batch.ts'
import { readSummary } from '../payouts/earnings.ts'
import { listPayouts, readPayout, unblockPayouts } from '../payouts/operator.ts'
import { reconcile } from '../payouts/reconcile.ts'
import { createStripe } from '../payouts/stripe-client.ts'
import { isUuid } from '../platform/tokens.ts'
import { SANDBOX_ADDRESS_FILE, SANDBOX_STRIPE_KEY } from '../sandbox-process.ts'
import { readArguments } from './arguments.ts'
import type { WithParts } from './ledger-commands.ts'
import { systemUser } from './operator-commands.ts'
import { UsageError } from './usage-error.ts'

const HELP = `svc payouts run [--dry-run] [--now <ISO time>]
  Resolve what is pending and pay who is due. Returns at once while another batch runs. With --dry-run it only says
  what would be paid. --now, in sandbox mode only, runs it as of that time.
svc payouts list [--status pending|paid|failed]
  The latest payouts, newest first.
svc payouts show <payout id>
  One payout, with the parameters of its transfer.
svc payouts earnings <email> [--now <ISO time>]
  What a developer earned and where it is, as of that time.
svc payouts reconcile
  Compare with the processor's transfers; names each difference and exits with 1 if there is one.
svc payouts unblock <email>
  Pay a developer again whose transfer came back.`

const ARGUMENTS = {
  help: HELP,
  options: {
    'dry-run': { type: 'boolean' },
    now: { type: 'string' },
    status: { type: 'string' },
  },
  only_for: { 'dry-run': ['run'], now: ['run', 'earnings'], status: ['list'] },
} as const

const BAR_WIDTH = 40
const LIST_LIMIT = 50
const STATUSES = ['pending', 'paid', 'failed'] as const

type Values = { 'dry-run'?: boolean; now?: string; status?: string }

export async function runPayoutsCommand(
  args: readonly string[],
  withParts: WithParts,
): Promise<void> {
  const { values, positionals } = readArguments(args, ARGUMENTS)
  const [command, operand, ...rest] = positionals
  if (values.help) return print(HELP)
  const named = command === 'show' || command === 'earnings' || command === 'unblock'
  if (rest.length > 0 || (operand !== undefined) !== named) throw new UsageError(HELP)
  switch (command) {
    case 'run':
      return await withParts((parts) => run(parts, values))
    case 'list':
      return await withParts((parts) => list(parts, values.status))
    case 'show':
      return await withParts((parts) => show(parts, operand ?? ''))
    case 'earnings':
      return await withParts((parts) => earnings(parts, operand ?? '', values))
    case 'reconcile':
      return await withParts(compareWithProcessor)
    case 'unblock':
      return await withParts((parts) => unblock(parts, operand ?? ''))
    case undefined:
    default:
      throw new UsageError(HELP)
  }
}

async function run(parts: Parts, values: Values): Promise<void> {
  const dry_run = values['dry-run'] === true
  const batch_parts = { ...parts, stripe: requireStripe(parts) }
  const now = readNow(parts, values)
  const options = { now, dry_run, onProgress: showProgress, onPayout: printPayout }
  const result = dry_run
    ? await runBatch(batch_parts, options)
    : await runPayouts(batch_parts, { who: systemUser() }, options)
  clearProgress()
  print(describeResult(result))
  if (result.status === 'stopped' || result.errors > 0) process.exitCode = 1
}

function printPayout(payout: Payable): void {
  clearProgress()
  const { developer_id, gross_credits, reserve_credits, amount_cents, outcome } = payout
  print(
    `${outcome.padEnd(7)} ${developer_id} gross ${gross_credits} reserve ${reserve_credits} cents ${amount_cents}`,
  )
}

function describeResult({
  status,
  reason,
  paid,
  failed,
  pending,
  suspended,
  errors,
  paid_cents,
}: BatchResult): string {
  if (status === 'already_running') return 'a batch is running: nothing was done'
  const faults = errors === 0 ? '' : `, ${errors} with an error of ours (see the log)`
  const left_out = suspended === 0 ? '' : `, ${suspended} suspended and not paid`
  const counts = `${paid} paid (${paid_cents} cents), ${failed} failed, ${pending} pending${left_out}${faults}`
  return status === 'done' ? counts : `${status}${reason ? `: ${reason}` : ''}; ${counts}`
}

async function list(parts: Parts, wanted: string | undefined): Promise<void> {
  const status = STATUSES.find((candidate) => candidate === wanted)
  if (wanted !== undefined && !status) throw new UsageError(HELP)
  for (const payout of await listPayouts(parts.db, { status, limit: LIST_LIMIT })) {
    const { id, created_at, developer_id, amount_cents, failure_code } = payout
    const why = failure_code === null ? '' : ` ${failure_code}`
    print(
      `${id} ${created_at.toISOString()} ${payout.status.padEnd(7)} ${developer_id} ${amount_cents} cents${why}`,
    )
  }
}

async function show(parts: Parts, id: string): Promise<void> {
  const payout = isUuid(id) ? await readPayout(parts.db, id) : undefined
  if (!payout) throw new UsageError(`there is no payout ${id}`)
  for (const [name, value] of Object.entries(payout)) {
    print(
      `${name.padEnd(24)} ${value instanceof Date ? value.toISOString() : String(value ?? '-')}`,
    )
  }
}

async function earnings(parts: Parts, email: string, values: Values): Promise<void> {
  const developer_id = await developerOf(parts, email)
  const summary = await readSummary(parts.db, developer_id, readNow(parts, values))
  for (const [name, credits] of Object.entries(summary)) print(`${name.padEnd(26)} ${credits}`)
}

async function compareWithProcessor(parts: Parts): Promise<void> {
  const found = await reconcile({ db: parts.db, stripe: requireStripe(parts) }, (done) =>
    showLine(`${done} transfers`),
  )
  clearProgress()
  for (const difference of found.differences) print(`DIFF ${difference}`)
  print(`${found.payouts} paid payouts of ${found.paid_cents} cents here`)
  print(`${found.transfers} transfers of ${found.transferred_cents} cents at the processor`)
  print(found.differences.length === 0 ? 'they agree' : `${found.differences.length} differences`)
  if (found.differences.length > 0) process.exitCode = 1
}

async function unblock(parts: Parts, email: string): Promise<void> {
  const developer_id = await developerOf(parts, email)
  const unblocked = await parts.db.transaction(async (tx) => {
    const act = { who: systemUser(), act: 'payouts unblock', subject: email }
    await recordAct(parts.clock, tx, act)
    return await unblockPayouts(tx, developer_id)
  })
  print(unblocked ? `${email} is paid again` : `${email} was not blocked`)
}

async function developerOf(parts: Parts, email: string): Promise<string> {
  const account = await findAccountOfEmail(parts.db, email)
  if (!account) throw new UsageError(`there is no account ${email}`)
  return account.id
}

function readNow({ clock, config }: Parts, { now }: Values): Date {
  if (now === undefined) return clock.now()
  if (config.SVC_MODE !== 'sandbox') throw new UsageError('--now is for sandbox mode only')
  const time = new Date(now)
  if (Number.isNaN(time.getTime())) throw new UsageError(`${now} is no time, as 2027-02-24 is one`)
  return time
}

/** In sandbox mode the stand-in is that of the service, which says where it is. */
function requireStripe({ stripe, config }: Parts) {
  if (stripe) return stripe
  if (config.SVC_MODE === 'live') throw new UsageError('STRIPE_SECRET_KEY is not set')
  try {
    const file = path.join(config.DATA_DIR, SANDBOX_ADDRESS_FILE)
    const base_url = readFileSync(file, 'utf8').trim()
    return createStripe({ secret_key: SANDBOX_STRIPE_KEY, base_url })
  } catch {
    throw new UsageError(
      'the sandbox does not run: start the service first, or set STRIPE_BASE_URL',
    )
  }
}

/** Only for somebody who watches. */
function showProgress({ done, total }: { done: number; total: number }): void {
  const share = total === 0 ? 1 : done / total
  const bar = '#'.repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, '.')
  showLine(`[${bar}] ${done} of ${total} developers`)
}

function showLine(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}`)
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
