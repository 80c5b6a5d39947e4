// `svc catalog …`: what each name stands for today, and whether the providers still have it. Needs no database.

import { parseArgs } from 'node:util'
import { type Catalog, INPUT_UNITS, type Model } from '../catalog/models.ts'
import { openCatalog } from '../catalog-settings.ts'
import { loadConfig } from '../config.ts'
import { checkModels, type ProviderCheck } from '../gateway/model-check.ts'
import { createProviders } from '../gateway/providers.ts'
import { systemClock } from '../platform/clock.ts'
import { createHttpClient } from '../platform/http-client.ts'
import { joinSandbox } from '../sandbox-process.ts'
import { UsageError } from './usage-error.ts'

const HELP = `svc catalog show
  Every model: its public name, what serves it now, what that costs (dollars per million tokens, with the service fee),
  the day on which its provider shuts it down, and what serves it then.
svc catalog check
  Ask the providers that there is a credential for which models they have, and name those of ours that are gone or
  announced to go within 60 days. In sandbox mode the stand-ins of the running service are asked.
  Exits with 1 if something is gone, with 2 if a list cannot be read.`

export async function runCatalogCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readArguments(args)
  if (values.help) return print(HELP)
  const [command, ...rest] = positionals
  if (rest.length > 0) throw new UsageError(HELP)
  switch (command) {
    case 'show':
      return show()
    case 'check':
      return await check()
    case undefined:
    default:
      throw new UsageError(HELP)
  }
}

function readArguments(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h' } },
    })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`)
  }
}

function show(): void {
  const catalog = openCatalog(loadConfig(process.env), systemClock)
  const head = ['NAME', 'SERVED BY', 'INPUT', 'CACHED', 'OUTPUT', 'RETIRES ON', 'THEN']
  const rows = [head, ...catalog.list().map((model) => describeModel(model, catalog))]
  const widths = head.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  for (const row of rows) {
    print(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
  }
}

function describeModel(model: Model, { retirement_rule }: Catalog): string[] {
  if (model.kind !== 'chat') {
    // As chat models: for a million tokens.
    const price =
      model.kind === 'embedding'
        ? dollars(model.price, 1_000_000)
        : `${dollars(model.price, 1_000_000_000_000)} per ${INPUT_UNITS[model.kind]}`
    return [model.name, model.upstream_id, price, '', '', '-', '']
  }
  const { prices, retires_on = '-', retired, successor } = model
  const listed = [prices.input, prices.cache_read, prices.output]
  const then = retirement_rule === 'succeed' ? (successor?.upstream_id ?? '') : ''
  return [
    model.name,
    retired ? 'nobody (MODEL_SUCCESSORS=off, or no successor)' : model.upstream_id,
    ...listed.map((price) => dollars(price, 1_000_000)),
    retires_on,
    retired ? '' : then,
  ]
}

function dollars(credits: bigint, per: number): string {
  return `$${Number((Number(credits) / per).toFixed(6))}`
}

async function check(): Promise<void> {
  const config = joinSandbox(loadConfig(process.env))
  const http_client = createHttpClient()
  try {
    const upstreams = createProviders(config, http_client)
    const catalog = openCatalog(config, systemClock)
    const parts = { catalog, upstreams, http_client, clock: systemClock }
    const checks = await checkModels(parts, new AbortController().signal)
    if (checks.length === 0) {
      throw new UsageError('nobody can be asked: no provider has a credential, and no sandbox runs')
    }
    report(checks, catalog)
  } finally {
    await http_client.close()
  }
}

function report(checks: readonly ProviderCheck[], catalog: Catalog): void {
  for (const { provider, fault, findings } of checks) {
    const ours = catalog.list().filter((model) => model.provider === provider)
    print(`${provider}: ${fault === undefined ? `${ours.length} models compared` : fault}`)
    for (const { state, message } of findings)
      print(`  ${state.toUpperCase().padEnd(8)}  ${message}`)
  }
  const asked = checks.map((one) => one.provider)
  const others = (['openai', 'anthropic', 'google'] as const).filter((one) => !asked.includes(one))
  for (const provider of others) print(`${provider}: not asked, there is no credential`)
  const is_gone = checks.some(({ findings }) => findings.some(({ state }) => state === 'gone'))
  const is_unread = checks.some(({ fault }) => fault !== undefined)
  if (is_gone) process.exitCode = 1
  else if (is_unread) process.exitCode = 2
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
