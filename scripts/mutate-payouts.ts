// Changes one thing at a time in the payout rules and looks whether a test notices: each constant, comparison and sum of
// src/payouts/rules.ts, and those of the claim that decide about money. Prints what survived and the share that did not.
// Run with `node scripts/mutate-payouts.ts`; with `--fast`, only the rules.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres.ts'

const TIME_LIMIT_MS = 120_000

type Target = { file: string; tests: readonly string[]; lines?: RegExp }

const fast = process.argv.includes('--fast')
const BATCH = ['test/payouts/batch.test.ts', 'src/payouts/rules.test.ts']
const TARGETS: readonly Target[] = [
  { file: 'src/payouts/rules.ts', tests: ['src/payouts/rules.test.ts'] },
  ...(fast
    ? []
    : [
        {
          file: 'src/payouts/payouts.ts',
          tests: BATCH,
          lines:
            /amount:|reachesMinimum|amount_cents|payouts_enabled|status ===|attempt|reversed_cents|!==/,
        },
        { file: 'src/payouts/sql/unclaimed_until.sql', tests: BATCH, lines: /<|>|\+/ },
      ]),
]

const CHANGES: readonly [from: RegExp, to: string][] = [
  [/ >= /g, ' > '],
  [/ <= /g, ' < '],
  [/ < /g, ' <= '],
  [/ > /g, ' >= '],
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
  [/ \* /g, ' / '],
  [/ \/ /g, ' * '],
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/: -(?=\w)/g, ': '],
  [/(?<=\? \{ pending_payout: )eligible/g, '0n'],
  [/(?<![\w.])(\d[\d_]*)(n?)(?!\w)/g, 'number'],
]

const folder = mkdtempSync(path.join(tmpdir(), 'svc-mutants-'))
const postgres = await startEmbeddedPostgres({ data_dir: folder, log: () => {} })
let made = 0
let killed = 0
try {
  for (const target of TARGETS) {
    if (!passes(target)) throw new Error(`${target.file}: its tests fail without a change`)
    tryMutants(target)
  }
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}
process.stdout.write(
  `${killed} of ${made} mutants killed (${Math.round((killed / made) * 100)} %)\n`,
)

function tryMutants(target: Target): void {
  const original = readFileSync(target.file, 'utf8')
  try {
    for (const mutant of mutantsOf(original, target.lines)) {
      made++
      writeFileSync(target.file, mutant.text)
      if (passes(target)) process.stdout.write(`survived ${target.file}: ${mutant.line.trim()}\n`)
      else killed++
    }
  } finally {
    writeFileSync(target.file, original)
  }
}

function passes({ tests }: Target): boolean {
  const { status } = spawnSync(process.execPath, ['--test', ...tests], {
    env: { ...process.env, SVC_TEST_DATABASE_URL: postgres.url },
    timeout: TIME_LIMIT_MS,
  })
  return status === 0
}

function* mutantsOf(text: string, only = /./): Generator<{ text: string; line: string }> {
  const lines = text.split('\n')
  for (const [index, line] of lines.entries()) {
    if (/^\s*(\/\/|\/?\*|--|import|export type)/.test(line) || !only.test(line)) continue
    for (const changed of changesOf(line)) {
      yield { text: lines.with(index, changed).join('\n'), line: changed }
    }
  }
}

function* changesOf(line: string): Generator<string> {
  for (const [from, to] of CHANGES) {
    for (const found of line.matchAll(from)) {
      const replacement = to === 'number' ? nextNumber(found) : to
      yield line.slice(0, found.index) + replacement + line.slice(found.index + found[0].length)
    }
  }
}

function nextNumber([, digits = '0', suffix = '']: RegExpExecArray): string {
  return `${BigInt(digits.replaceAll('_', '')) + 1n}${suffix}`
}
