// The command line: a table of commands, each a few lines over the same parts the service is made of.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { closeParts, compose, type Parts } from '../compose.ts'
import { type Config, loadConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { readDocument } from '../document.ts'
import { requireAccount } from '../operators/accounts.ts'
import { giveCredits } from '../operators/grants.ts'
import { limitKey } from '../operators/keys.ts'
import { ApiError } from '../platform/errors.ts'
import { createLog } from '../platform/log.ts'
import { migrate, missingMigrations } from '../platform/migrate.ts'
import { isUuid } from '../platform/tokens.ts'
import { bucketOf, mintWalletId } from '../wallet/bucket.ts'
import { CATALOG_USAGE, runCatalogCommand } from './catalog-commands.ts'
import { LEDGER_USAGE, runLedgerCommand } from './ledger-commands.ts'
import {
  ACCOUNT_USAGE,
  APP_USAGE,
  OPERATOR_USAGE,
  runAccountCommand,
  runAppCommand,
  runOperatorCommand,
  systemUser,
} from './operator-commands.ts'
import { PAYOUTS_USAGE, runPayoutsCommand } from './payout-commands.ts'
import { describeStartFault, serve } from './server.ts'
import { UsageError } from './usage-error.ts'
import { runWebhookCommand, WEBHOOKS_USAGE } from './webhook-commands.ts'

type Command = {
  usage: string
  summary: string
  /** Reads its own options, --help among them. */
  takes_options?: true
  /** Options without a value that it knows. */
  flags?: readonly string[]
  run(args: readonly string[], given?: Readonly<Record<string, unknown>>): Promise<void>
}

const LIMIT_MAX = 1_000_000

const COMMANDS: Record<string, Command> = {
  serve: {
    usage: 'svc serve',
    summary: 'Start the service (what `npm start` does). Settings: .env.example',
    run: serve,
  },
  migrate: {
    usage: 'svc migrate',
    summary: 'Apply the migrations that are missing and say which.',
    async run() {
      await withDatabase(async (url) => {
        const applied = await migrate(url)
        print(applied.length === 0 ? 'nothing to apply' : applied.join('\n'))
      })
    },
  },
  'key-limit': {
    usage: 'svc key-limit <key id> <requests per minute>',
    summary: 'Set the rate limit of one API key. Takes effect within a second.',
    async run([id, per_minute]) {
      if (id === undefined || per_minute === undefined)
        throw new UsageError('two arguments are needed')
      const limit = requireInteger(per_minute, { min: 1, max: LIMIT_MAX })
      await withParts(async (parts) => {
        const { name } = await limitKey(parts, { id, per_minute: limit }, { who: systemUser() })
        print(`key ${id} (${name}): ${limit} requests a minute`)
      })
    },
  },
  grant: {
    usage: 'svc grant <email> <credits> [<grant id>] [--paid]',
    summary:
      'Give credits to an account (1,000,000 = $1): promotional, or with --paid such that were paid for elsewhere. The same grant id gives once.',
    flags: ['paid'],
    async run([email, credits, grant_id], given) {
      if (email === undefined || credits === undefined)
        throw new UsageError('two arguments are needed')
      const amount = BigInt(requireInteger(credits, { min: 1, max: Number.MAX_SAFE_INTEGER }))
      await withParts(async (parts) => {
        const account = await requireAccount(parts.db, email)
        const id = grant_id ?? mintWalletId(account.id, parts.clock.now())
        requireGrantId(id, account.id)
        // Said first: whoever is cut off can repeat it without giving twice.
        print(`grant ${id}`)
        const grant = { id, account, amount, is_paid: given?.['paid'] === true }
        const posted = await parts.db.transaction((tx) =>
          giveCredits(parts, tx, grant, { who: systemUser() }),
        )
        print(`${email}: ${posted.balance_before} + ${amount} = ${posted.balance_after} credits`)
      })
    },
  },
  account: {
    usage: ACCOUNT_USAGE,
    summary: 'See and suspend accounts, end sessions; `svc account --help` says how.',
    takes_options: true,
    run: (args) => runAccountCommand(args, withParts),
  },
  app: {
    usage: APP_USAGE,
    summary: 'Suspend and resume an app; `svc app --help` says how.',
    takes_options: true,
    run: (args) => runAppCommand(args, withParts),
  },
  operator: {
    usage: OPERATOR_USAGE,
    summary: 'Who is an operator, and what operators did; `svc operator --help` says how.',
    takes_options: true,
    run: (args) => runOperatorCommand(args, withParts),
  },
  ledger: {
    usage: LEDGER_USAGE,
    summary: 'Prove, seal and archive the book; `svc ledger --help` says how. Blocks nobody.',
    takes_options: true,
    run: (args) => runLedgerCommand(args, withParts),
  },
  webhooks: {
    usage: WEBHOOKS_USAGE,
    summary: 'Send the events of an app to a url of this machine; `svc webhooks --help` says how.',
    takes_options: true,
    run: runWebhookCommand,
  },
  payouts: {
    usage: PAYOUTS_USAGE,
    summary: 'Pay developers, and see what was paid; `svc payouts --help` says how.',
    takes_options: true,
    run: (args) => runPayoutsCommand(args, withParts),
  },
  catalog: {
    usage: CATALOG_USAGE,
    summary: 'What serves each model and what it costs; whether the providers still have it.',
    takes_options: true,
    run: runCatalogCommand,
  },
  sandbox: {
    usage: 'svc sandbox [--port <port>]',
    summary: 'Run the stand-ins of the providers alone. docs/sandbox.md lists their test prompts.',
    takes_options: true,
    run: runSandbox,
  },
  openapi: {
    usage: 'svc openapi',
    summary: 'Print the OpenAPI document.',
    async run() {
      print(JSON.stringify(await readDocument(process.env['PUBLIC_URL']), null, 2))
    },
  },
}

async function main(argv: readonly string[]): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env')
  const [name = 'help', ...rest] = argv
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined
  if (name === 'help' || name === '--help' || name === '-h') return print(usage())
  if (!command) throw new UsageError(`there is no command ${name}\n\n${usage()}`)
  if (command.takes_options) return await command.run(rest)
  try {
    const { values, positionals } = parseArgs({
      args: [...rest],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        ...Object.fromEntries((command.flags ?? []).map((flag) => [flag, { type: 'boolean' }])),
      },
    })
    if (values.help) return print(`${command.usage}\n\n${command.summary}`)
    await command.run(positionals, values)
  } catch (error) {
    if (!(error instanceof UsageError || isArgumentFault(error))) throw error
    throw new UsageError(`${error.message}\nusage: ${command.usage}`)
  }
}

function usage(): string {
  const width = Math.max(...Object.values(COMMANDS).map((command) => command.usage.length))
  const lines = Object.values(COMMANDS).map(
    (command) => `  ${command.usage.padEnd(width)}  ${command.summary}`,
  )
  return `Usage:\n${lines.join('\n')}`
}

async function withDatabase(work: (url: string, config: Config) => Promise<void>): Promise<void> {
  const config = loadConfig(process.env)
  const database = await joinDatabase(config)
  try {
    await work(database.url, config)
  } finally {
    await database.close()
  }
}

async function withParts(work: (parts: Parts) => Promise<void>): Promise<void> {
  await withDatabase(async (database_url, config) => {
    await requireMigrated(database_url)
    const parts = compose({ config, database_url, log: createLog({ level: 'warn' }) })
    try {
      await work(parts)
    } finally {
      await closeParts(parts)
    }
  })
}

/** In a process of its own: the stand-ins and the product share no code. */
async function runSandbox(args: readonly string[]): Promise<void> {
  const program = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  process.exitCode = code ?? 1
}

/** A command must not change the schema under a running service of another version. */
async function requireMigrated(url: string): Promise<void> {
  const missing = await missingMigrations(url)
  if (missing.length === 0) return
  throw new UsageError(`the database lacks ${missing.join(', ')}: run \`svc migrate\` first`)
}

function requireGrantId(id: string, account_id: string): void {
  if (isUuid(id) && bucketOf(id) === bucketOf(account_id)) return
  throw new UsageError(`${id} is no grant id of this account: repeat the one that was printed`)
}

function requireInteger(text: string, range: { min: number; max: number }): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (value >= range.min && value <= range.max) return value
  throw new UsageError(`${text} is not a whole number from ${range.min} to ${range.max}`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

main(process.argv.slice(2)).catch((error: unknown) => {
  const told = error instanceof UsageError || error instanceof ApiError
  const message = told && error instanceof Error ? error.message : describeStartFault(error)
  process.stderr.write(`svc: ${message}\n`)
  process.exit(told ? 2 : 1)
})

function isArgumentFault(error: unknown): error is TypeError {
  return (
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  )
}
