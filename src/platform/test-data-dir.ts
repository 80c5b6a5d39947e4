// Data folders for tests, and other processes that take them.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import {
  type EmbeddedPostgres,
  findRunningPostgres,
  startEmbeddedPostgres,
} from './embedded-postgres.ts'

type StartOptions = Partial<Parameters<typeof startEmbeddedPostgres>[0]>

export function start(data_dir: string, options: StartOptions = {}): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ data_dir, log: () => {}, ...options })
}

/** A temporary folder; a PostgreSQL that a failed test left running in it ends with it. */
export function makeFolder(t: TestContext): string {
  const path = fs.mkdtempSync(join(fs.realpathSync(tmpdir()), 'svc-postgres-'))
  t.after(async () => {
    for (const folder of [path, join(path, 'data')]) {
      if (findRunningPostgres(folder) !== undefined) await (await start(folder)).stop()
    }
    fs.rmSync(path, { recursive: true, force: true })
  })
  return path
}

type Child = { child: ChildProcess; line: string; errors(): string }

/** Another process that takes the folder, says one line, and then lives until it is killed. */
export async function startChild(
  t: TestContext,
  folder: string,
  work: 'lock' | 'serve',
): Promise<Child> {
  const code = `
    import { lockDataDir } from ${JSON.stringify(import.meta.resolve('./data-dir.ts'))}
    import { startEmbeddedPostgres } from ${JSON.stringify(import.meta.resolve('./embedded-postgres.ts'))}
    process.on('SIGINT', () => {})
    setInterval(() => {}, 60_000)
    const data_dir = ${JSON.stringify(folder)}
    lockDataDir(data_dir)
    const server = ${work === 'serve'} && await startEmbeddedPostgres({ data_dir, log() {} })
    console.log(server ? server.url : 'locked')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += String(chunk)
  })
  const ended = once(child, 'exit').then(() => assert.fail(`the child ended: ${errors}`))
  ended.catch(() => {})
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended])
  return { child, line: String(line), errors: () => errors }
}

export async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

export function readMode(path: string): number {
  return fs.statSync(path).mode & 0o777
}
