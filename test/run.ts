// Runs tests: gets the system parts, starts one PostgreSQL server for all of them, and hands the files to Node's test
// runner. `node test/run.ts [--processes | --long] [part of a file name …]`
//   nothing       all but those that start the service as processes; `npm test` runs this
//   --processes   those: starts, stops, kills, races of two processes; CI runs both suites
//   --long        all of them, with all cases of those that have many
//   names         these files, of whichever kind
//
// A process takes two seconds of processor time to load the service, so one process runs several files after each
// other. They share the process and the browser; each has its own stand-ins, service and database.

import { spawn } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { buildConsole } from '../scripts/build-console.ts'
import { installCodex } from './support/codex.ts'
import { installSystemParts } from './support/system-parts.ts'
import { startTestServer } from './support/test-server.ts'

/** On two cores: one of three mostly waits, for a page or the database. */
const LANES = 3
/** Whoever starts processes has several of its own. */
const PROCESS_LANES = 2
const FILES_OF_A_PROCESS = 12
/** Up to here each has a process of its own, as when it is run by hand. */
const FEW_FILES = 8
/** They start and kill processes, count all that reaches the stand-ins, or change what belongs to the whole process. */
const ALONE = {
  folders: ['test/e2e/', 'test/wallet/'],
  words:
    /\b(?:spawn|fork)\b.* from 'node:child_process'|support\/(?:service|remote)|-process\.ts|requests\(\)\.length|mock\.timers|process\.(chdir|umask|env\[\S+\] = )|setGlobalDispatcher|memoryUsage/,
}
/** A process of the service takes seconds to start, and these start several hundred. */
const STARTS_PROCESSES = /support\/(?:service|remote)\.ts|-process\.ts|embedded-postgres/
const TEST_TIMEOUT_MS = 600_000
const LONG_TEST_TIMEOUT_MS = 3_600_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    processes: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
  },
})

const files = globSync('{src,test,sandbox}/**/*.test.ts')
  .filter((file) => file !== path.join('test', 'tidy.test.ts'))
  .filter(isWanted)
  .sort()
if (files.length === 0) throw new Error('no test file has that name')

installSystemParts()
installCodex(files)
await buildConsole()
const folder = mkdtempSync(path.join(tmpdir(), 'svc-tests-'))
const postgres = await startTestServer(folder)
try {
  process.exitCode = await runTests(postgres.url, inProcesses(files))
} finally {
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
}

function isWanted(file: string): boolean {
  if (positionals.length > 0) return positionals.some((part) => file.includes(part))
  return values.long || startsProcesses(file) === values.processes
}

function startsProcesses(file: string): boolean {
  return file.startsWith('test/e2e/') || STARTS_PROCESSES.test(readFileSync(file, 'utf8'))
}

/** What Node is given to run, a process for each: a test file, or a file that loads several. */
function inProcesses(files: readonly string[]): string[] {
  if (values.long || files.length <= FEW_FILES) return [...files]
  const together = files.filter((file) => !runsAlone(file))
  const count = Math.ceil(together.length / FILES_OF_A_PROCESS)
  const shared = Array.from({ length: count }, (_, place) => {
    const from = place * FILES_OF_A_PROCESS
    const file = path.join(folder, `tests-${place}.js`)
    writeFileSync(file, loaderOf(together.slice(from, from + FILES_OF_A_PROCESS)))
    return file
  })
  return [...shared, ...files.filter(runsAlone)]
}

function runsAlone(file: string): boolean {
  if (ALONE.folders.some((start) => file.startsWith(start))) return true
  return ALONE.words.test(readFileSync(file, 'utf8'))
}

/** Tests begin when all are loaded: what is undone at the end of tests would else be undone between two files. */
function loaderOf(files: readonly string[]): string {
  return [
    `import { before } from 'node:test'`,
    `import { forgetSandbox } from '${urlOf('test/support/shared-sandbox.ts')}'`,
    'const { promise, resolve } = Promise.withResolvers()',
    'before(() => promise)',
    ...files.flatMap((file) => ['forgetSandbox()', `await import('${urlOf(file)}')`]),
    'resolve()',
  ].join('\n')
}

function urlOf(file: string): string {
  return pathToFileURL(path.resolve(file)).href
}

function runTests(database_url: string, files: readonly string[]): Promise<number> {
  const timeout_ms = values.long ? LONG_TEST_TIMEOUT_MS : TEST_TIMEOUT_MS
  const lanes = values.processes || values.long ? PROCESS_LANES : LANES
  const options = ['--test', `--test-concurrency=${lanes}`, `--test-timeout=${timeout_ms}`]
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
