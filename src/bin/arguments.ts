// Arguments of commands that have commands of their own: `svc ledger …`, `svc payouts …`, `svc webhooks …`.

import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { UsageError } from './usage-error.ts'

const HELP_OPTION = { help: { type: 'boolean', short: 'h' } } as const

export type ArgumentRules<Options extends ParseArgsOptionsConfig> = {
  options: Options
  /** Shown with what is wrong. */
  help: string
  /** Options that belong to some of the commands, the first word, only. */
  only_for?: { readonly [Option in keyof Options]?: readonly string[] }
}

/** A mistake is a UsageError that says what is wrong. */
export function readArguments<const Options extends ParseArgsOptionsConfig>(
  args: readonly string[],
  { options, help, only_for = {} }: ArgumentRules<Options>,
) {
  const parsed = explainMistakes(help, () =>
    parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { ...options, ...HELP_OPTION },
    }),
  )
  const [command = ''] = parsed.positionals
  for (const [option, owners] of Object.entries(only_for)) {
    if (!(option in parsed.values) || !owners || owners.includes(command)) continue
    const names = owners.map((owner) => `\`${owner}\``).join(' and ')
    throw new UsageError(`--${option} is an option of ${names}\n\n${help}`)
  }
  return parsed
}

function explainMistakes<Result>(help: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}
