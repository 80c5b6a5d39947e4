// The command line: a table of commands. What a command is made of is loaded when it is run, so that help and mistakes are
// answered at once.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ApiError } from '../platform/errors.ts'
import type { WithParts } from './ledger-commands.ts'
import { describeStartFault } from './start-fault.ts'
import { UsageError } from './usage-error.ts'

type Command = {
  usage: string
  summary: string
  /** Reads its own options, --help among them. */
  takes_options?: true
  /** Options without a value that it knows. */
  flags?: readonly string[]
  run(args: readonly string[], given?: Readonly<Record<string, unknown>>): Promise<void>
}

const COMMANDS: Record<string, Command> = {
  serve: {
    usage: 'svc serve',
    summary: 'Start the service (what `npm start` does). Settings: .env.example',
    run: async () => await (await import('./server.ts')).serve(),
  },
  migrate: {
    usage: 'svc migrate',
    summary: 'Apply the migrations that are missing and say which.',
    run: async () => await (await import('./direct-commands.ts')).runMigrate(),
  },
  'key-limit': {
    usage: 'svc key-limit <key id> <requests per minute>',
    summary: 'Set the rate limit of one API key. Takes effect within a second.',
    run: async (args) => await (await import('./direct-commands.ts')).runKeyLimit(args, withParts),
  },
  grant: {
    usage: 'svc grant <email> <credits> [<grant id>] [--paid]',
    summary:
      'Give credits to an account (1,000,000 = $1): promotional, or with --paid such that were paid for elsewhere. The same grant id gives once.',
    flags: ['paid'],
    run: async (args, given) =>
      await (await import('./direct-commands.ts')).runGrant({ args, given }, withParts),
  },
  account: {
    usage: 'svc account show|suspend|resume|end-sessions <email>',
    summary: 'See and suspend accounts, end sessions; `svc account --help` says how.',
    takes_options: true,
    run: async (args) =>
      await (await import('./operator-commands.ts')).runAccountCommand(args, withParts),
  },
  app: {
    usage: 'svc app suspend|resume <client id>',
    summary: 'Suspend and resume an app; `svc app --help` says how.',
    takes_options: true,
    run: async (args) =>
      await (await import('./operator-commands.ts')).runAppCommand(args, withParts),
  },
  operator: {
    usage: 'svc operator add|remove|log',
    summary: 'Who is an operator, and what operators did; `svc operator --help` says how.',
    takes_options: true,
    run: async (args) =>
      await (await import('./operator-commands.ts')).runOperatorCommand(args, withParts),
  },
  ledger: {
    usage: 'svc ledger check|seal|archive|verify-archive',
    summary: 'Prove, seal and archive the book; `svc ledger --help` says how. Blocks nobody.',
    takes_options: true,
    run: async (args) =>
      await (await import('./ledger-commands.ts')).runLedgerCommand(args, withParts),
  },
  webhooks: {
    usage: 'svc webhooks listen <url>',
    summary: 'Send the events of an app to a url of this machine; `svc webhooks --help` says how.',
    takes_options: true,
    run: async (args) => await (await import('./webhook-commands.ts')).runWebhookCommand(args),
  },
  payouts: {
    usage: 'svc payouts run|list|show|earnings|reconcile|unblock',
    summary: 'Pay developers, and see what was paid; `svc payouts --help` says how.',
    takes_options: true,
    run: async (args) =>
      await (await import('./payout-commands.ts')).runPayoutsCommand(args, withParts),
  },
  catalog: {
    usage: 'svc catalog show|check',
    summary: 'What serves each model and what it costs; whether the providers still have it.',
    takes_options: true,
    run: async (args) => await (await import('./catalog-commands.ts')).runCatalogCommand(args),
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
      const { readDocument } = await import('../document.ts')
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

/** Loaded by the first command that has read its arguments and wants them. */
const withParts: WithParts = async (work) => await (await import('./with-parts.ts')).withParts(work)

/** In a process of its own: the stand-ins and the product share no code. */
async function runSandbox(args: readonly string[]): Promise<void> {
  const program = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  const [code] = (await once(child, 'exit')) as [number | null]
  process.exitCode = code ?? 1
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
