// `svc account …`, `svc app …`, `svc operator …`: what operators see and do. Every act is recorded, with who and why.

import { userInfo } from 'node:os'
import { endSessions, resume, setOperator, showAccount, suspend } from '../operators/accounts.ts'
import { type ActRow, type By, listActs } from '../operators/acts.ts'
import { resumeClient, suspendClient } from '../operators/apps.ts'
import { readArguments } from './arguments.ts'
import type { WithParts } from './ledger-commands.ts'
import { UsageError } from './usage-error.ts'

const BY_HELP = `  --by <name> says who does it, for \`svc operator log\`; by default the name of the system's user.`

const ACCOUNT_HELP = `svc account show <email>
  The account: since when, verified, suspended, balance, how many sessions, keys and apps.
svc account suspend <email> --reason <words> [--by <name>]
  Nothing new starts: sessions, keys, tokens and links of the account, and the apps and keys of a developer, get 403
  with the reason. Calls that run are finished. Holds on every machine within a second. The owner is told by mail.
  Whoever shows such a credential reads the reason: write it for them.
svc account resume <email> [--reason <words>] [--by <name>]
  As it was before.
svc account end-sessions <email> [--reason <words>] [--by <name>]
  Signs the owner out everywhere. Keys and apps stay.
${BY_HELP}`

const APP_HELP = `svc app suspend <client id> --reason <words> [--by <name>]
  Nothing new starts through the app: its tokens and links get 403 with the reason.
svc app resume <client id> [--reason <words>] [--by <name>]
  As it was before.
${BY_HELP}`

const OPERATOR_HELP = `svc operator add <email> [--reason <words>] [--by <name>]
  Makes an account an operator's.
svc operator remove <email> [--reason <words>] [--by <name>]
  Takes that away.
svc operator log [--limit <number>]
  What operators did, newest first: 50 acts, or as many as told, up to 1000.
${BY_HELP}`

const REASON_LENGTH_MAX = 500
const NAME_LENGTH_MAX = 100
const LIMIT_DEFAULT = 50
const LIMIT_MAX = 1_000

const OPTIONS = { reason: { type: 'string' }, by: { type: 'string' } } as const

export async function runAccountCommand(
  args: readonly string[],
  withParts: WithParts,
): Promise<void> {
  const acts = ['suspend', 'resume', 'end-sessions']
  const { values, positionals } = readArguments(args, {
    help: ACCOUNT_HELP,
    options: OPTIONS,
    only_for: { reason: acts, by: acts },
  })
  if (values.help) return print(ACCOUNT_HELP)
  const [command, email, ...rest] = positionals
  if (email === undefined || rest.length > 0) throw new UsageError(ACCOUNT_HELP)
  const by = readBy(values)
  switch (command) {
    case 'show':
      return await withParts(async (parts) => printFields(await showAccount(parts, email)))
    case 'suspend': {
      const reason = requireReason(by, ACCOUNT_HELP)
      return await withParts(async (parts) => {
        const done = await suspend(parts, email, { ...by, reason })
        print(done ? `${email} is suspended: ${reason}` : `${email} was suspended before`)
      })
    }
    case 'resume':
      return await withParts(async (parts) => {
        const done = await resume(parts, email, by)
        print(done ? `${email} is resumed` : `${email} was not suspended`)
      })
    case 'end-sessions':
      return await withParts(async (parts) => {
        print(`${email}: ${await endSessions(parts, email, by)} sessions ended`)
      })
    case undefined:
    default:
      throw new UsageError(ACCOUNT_HELP)
  }
}

export async function runAppCommand(args: readonly string[], withParts: WithParts): Promise<void> {
  const { values, positionals } = readArguments(args, { help: APP_HELP, options: OPTIONS })
  if (values.help) return print(APP_HELP)
  const [command, client_id, ...rest] = positionals
  if (client_id === undefined || rest.length > 0) throw new UsageError(APP_HELP)
  const by = readBy(values)
  switch (command) {
    case 'suspend': {
      const reason = requireReason(by, APP_HELP)
      return await withParts(async (parts) => {
        const done = await suspendClient(parts, client_id, { ...by, reason })
        print(done ? `${client_id} is suspended: ${reason}` : `${client_id} was suspended before`)
      })
    }
    case 'resume':
      return await withParts(async (parts) => {
        const done = await resumeClient(parts, client_id, by)
        print(done ? `${client_id} is resumed` : `${client_id} was not suspended`)
      })
    case undefined:
    default:
      throw new UsageError(APP_HELP)
  }
}

export async function runOperatorCommand(
  args: readonly string[],
  withParts: WithParts,
): Promise<void> {
  const acts = ['add', 'remove']
  const { values, positionals } = readArguments(args, {
    help: OPERATOR_HELP,
    options: { ...OPTIONS, limit: { type: 'string' } },
    only_for: { reason: acts, by: acts, limit: ['log'] },
  })
  if (values.help) return print(OPERATOR_HELP)
  const [command, email, ...rest] = positionals
  const is_named = command === 'add' || command === 'remove'
  if (rest.length > 0 || (email !== undefined) !== is_named) throw new UsageError(OPERATOR_HELP)
  if (command === 'log') return await withParts((parts) => printLog(parts, values.limit))
  if (email === undefined) throw new UsageError(OPERATOR_HELP)
  const is_operator = command === 'add'
  const by = { ...readBy(values), is_operator }
  await withParts(async (parts) => {
    const done = await setOperator(parts, email, by)
    const is = is_operator ? 'an operator' : 'no operator'
    print(done ? `${email} is ${is}` : `${email} was ${is} before`)
  })
}

/** Who sits there, where nobody says so. */
export function systemUser(): string {
  try {
    return userInfo().username || 'unknown'
  } catch {
    // The user has no name, as in some containers.
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

function readBy(values: { by?: string; reason?: string }): By {
  const { by, reason } = values
  if (by !== undefined) requireWords('--by', by, NAME_LENGTH_MAX)
  if (reason !== undefined) requireWords('--reason', reason, REASON_LENGTH_MAX)
  return { who: by?.trim() ?? systemUser(), reason: reason?.trim() }
}

/** In one line: the reason stands in a message and in the log. */
function requireWords(option: string, text: string, max: number): void {
  if (text.trim() === '' || text.length > max || /[\p{Cc}\p{Cf}]/u.test(text)) {
    throw new UsageError(`${option} needs words in one line, of at most ${max} characters`)
  }
}

function requireReason({ reason }: By, help: string): string {
  if (reason === undefined) throw new UsageError(`--reason is missing\n\n${help}`)
  return reason
}

async function printLog(
  { db }: Parameters<Parameters<WithParts>[0]>[0],
  wanted: string | undefined,
): Promise<void> {
  const limit = wanted === undefined ? LIMIT_DEFAULT : Number(wanted)
  if (!(Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX)) {
    throw new UsageError(`--limit is a whole number from 1 to ${LIMIT_MAX}`)
  }
  for (const act of await listActs(db, limit)) print(describeAct(act))
}

function describeAct({ at, who, act, subject, reason, details }: ActRow): string {
  const more = Object.entries(details).map(([name, value]) => ` ${name}=${String(value)}`)
  const why = reason === null ? '' : `: ${reason}`
  return inOneLine(`${at.toISOString()} ${who}: ${act} ${subject}${more.join('')}${why}`)
}

/** An app is called as its developer likes, line breaks included: it must not write lines of the log. */
function inOneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\u{fffd}')
}

function printFields(fields: object): void {
  for (const [name, value] of Object.entries(fields)) {
    const shown = value instanceof Date ? value.toISOString() : String(value ?? '-')
    print(inOneLine(`${name.padEnd(19)} ${shown}`))
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
