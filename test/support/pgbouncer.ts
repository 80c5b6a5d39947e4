// A real PgBouncer on loopback in session mode, in front of the server of a test database. Apart from addresses and
// sizes it has its own defaults, and so refuses startup parameters it does not know.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { atEnd } from './cleanup.ts'
import { sql } from './database.ts'
import { eventually } from './eventually.ts'
import { freePort } from './redis.ts'
import { findPart, skipWithout } from './system-parts.ts'

const START_WITHIN_MS = 10_000
/** As root it refuses to run. Its Debian package brings this user. */
const SYSTEM_USER = 'postgres'

/** For node:test's `skip`. */
export const skipWithoutPgBouncer = skipWithout('pgbouncer')

/** Returns the address of the same database through the pooler. */
export async function startPgBouncer(database_url: string): Promise<string> {
  const url = new URL(database_url)
  const server_port = url.port
  url.port = String(await freePort())
  const folder = writeFolder(url, server_port)
  const pooler = spawnPgBouncer(folder)
  let output = ''
  for (const stream of [pooler.stdout, pooler.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk
    })
  }
  const ended = once(pooler, 'exit')
  atEnd(async () => {
    // Not TERM, which this version takes to mean "at once" and the next "when every client has left".
    pooler.kill('SIGKILL')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
  await eventually(
    'PgBouncer answers',
    async () => {
      if (pooler.exitCode !== null) throw new Error(`pgbouncer ended: ${output}`)
      return await sql(url.toString(), 'select 1').then(
        () => true,
        () => false,
      )
    },
    START_WITHIN_MS,
  )
  return url.toString()
}

function writeFolder(url: URL, server_port: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-pgbouncer-'))
  const users = path.join(folder, 'users.txt')
  writeFileSync(users, `"${url.username}" "${url.password}"\n`, { mode: 0o600 })
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${server_port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${url.port}`,
    'unix_socket_dir =',
    'auth_type = scram-sha-256',
    `auth_file = ${users}`,
    'pool_mode = session',
    'default_pool_size = 80',
  ]
  writeFileSync(path.join(folder, 'pgbouncer.ini'), `${lines.join('\n')}\n`)
  return folder
}

function spawnPgBouncer(folder: string): ChildProcess {
  const program = findPart('pgbouncer')
  if (program === undefined) throw new Error('pgbouncer is not installed')
  const is_root = process.getuid?.() === 0
  if (is_root) spawnSync('chown', ['-R', SYSTEM_USER, folder])
  const args = [...(is_root ? ['-u', SYSTEM_USER] : []), path.join(folder, 'pgbouncer.ini')]
  return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
}
