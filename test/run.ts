// Runs every test: gets the system parts, starts one PostgreSQL server for all of them, and hands the files
// to Node's test runner. `node test/run.ts [--long] [part of a file name …]`

import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { buildConsole } from '../scripts/build-console.ts'
import { installCodex } from './support/codex.ts'
import { installSystemParts } from './support/system-parts.ts'
import { startTestServer } from './support/test-server.ts'

const CONCURRENCY = 2
const TEST_TIMEOUT_MS = 300_000
const LONG_TEST_TIMEOUT_MS = 3_600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { long: { type: 'boolean', default: false } },
})

const files = globSync('{src,test,sandbox}/**/*.test.ts')
  .filter((file) => file !== path.join('test', 'tidy.test.ts'))
  .filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)))
  .sort()
if (files.length === 0) throw new Error('no test file has that name')

installSystemParts()
installCodex(files)
await buildConsole()
const folder = mkdtempSync(path.join(tmpdir(), 'svc-tests-'))
const postgres = await startTestServer(folder)
try {
  process.exitCode = await runTests(postgres.url)
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

function runTests(database_url: string): Promise<number> {
  const timeout_ms = values.long ? LONG_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS
  const options = ['--test', `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${timeout_ms}`]
  const child = spawn(process.execPath, [...options, ...files], {
    stdio: 'inherit',
    env: {
      ...process.env,
      SVC_TEST_DATABASE_URL: database_url,
      // Each file is a process of its own that loads the same modules; this takes 0.8 of its 2 seconds away.
      NODE_COMPILE_CACHE: path.resolve('node_modules/.cache/e2e'),
      ...(values.long && { SVC_LONG: '1' }),
    },
  })
  // The server is stopped in `finally`, also when somebody loses patience.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal))
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 1)))
}
