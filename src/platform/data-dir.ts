// The folder that holds the embedded database, generated secrets and captured mail; the lock that gives it
// to one process at a time, and the account that programs run under in it. The lock is SQLite's fcntl lock
// on `svc.lock`: the kernel frees it however its holder dies, so there is no stale pid file to judge.
// Nothing else in this process may open `svc.lock`: closing a descriptor of it would drop the lock.

import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const LOCK_FILE = 'svc.lock'
const PID_FILE = 'svc.pid'
const OWNER_ONLY_FOLDER = 0o700
const OWNER_ONLY_FILE = 0o600
const SQLITE_BUSY = 5
const TRIAL_LIMIT_MS = 10_000

/** Not the caller's environment: PGOPTIONS would change the server, and API keys are not its business. */
export const SURROUNDINGS = {
  env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  cwd: '/',
}

export type DataDirLock = { release(): void }

/** What to put before a command, and who then owns the files it works on, if that is to be arranged. */
export type Account = { prefix: string[]; owner?: { uid: number; gid: number } }

export class DataDirTaken extends Error {
  readonly owner_pid: number | undefined

  constructor(path: string, owner_pid: number | undefined) {
    const owner = owner_pid === undefined ? 'another process' : `process ${owner_pid}`
    super(`data folder ${path} is in use by ${owner}: stop it, or set DATA_DIR to another folder`)
    this.name = 'DataDirTaken'
    this.owner_pid = owner_pid
  }
}

/** Makes the folder, for its owner only, and returns its absolute real path. */
export function prepareDataDir(path: string): string {
  fs.mkdirSync(path, { recursive: true, mode: OWNER_ONLY_FOLDER })
  const real_path = fs.realpathSync(path)
  if (isOurs(real_path)) fs.chmodSync(real_path, OWNER_ONLY_FOLDER)
  return real_path
}

// A folder with other things in it (DATA_DIR=/tmp, or the home folder) keeps its mode: closing that to
// everyone else would break the machine. Each secret has a mode of its own.
function isOurs(path: string): boolean {
  if (fs.statSync(path).uid !== process.geteuid?.()) return false
  return fs.existsSync(join(path, LOCK_FILE)) || fs.readdirSync(path).length === 0
}

// A lock that its holder forgot would be closed by the garbage collector, and so released.
const heldLocks = new Set<DatabaseSync>()

/** Takes the folder for this process, until `release` or the end of the process. */
export function lockDataDir(path: string): DataDirLock {
  const lock = openLock(path)
  heldLocks.add(lock)
  writeSecret(join(path, PID_FILE), String(process.pid))
  return {
    release() {
      if (!heldLocks.delete(lock)) return
      fs.rmSync(join(path, PID_FILE), { force: true })
      lock.close()
    },
  }
}

function openLock(path: string): DatabaseSync {
  const lock_path = join(path, LOCK_FILE)
  let lock: DatabaseSync | undefined
  try {
    lock = new DatabaseSync(lock_path, { timeout: 0 })
    // The journal in memory: a journal file left by a killed holder would have to be played back.
    lock.exec('pragma locking_mode = exclusive; pragma journal_mode = memory; begin exclusive')
    fs.chmodSync(lock_path, OWNER_ONLY_FILE)
    return lock
  } catch (error) {
    lock?.close()
    if (isBusy(error)) throw new DataDirTaken(path, readOwner(path))
    throw new Error(`cannot lock data folder ${path}: ${String(error)}`, { cause: error })
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY
}

/** The pid that the holder wrote; undefined in the moment before it did. */
function readOwner(path: string): number | undefined {
  const pid = Number.parseInt(readIfPresent(join(path, PID_FILE)) ?? '', 10)
  return pid > 0 && isAlive(pid) ? pid : undefined
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Not permitted to signal it: it lives, and belongs to someone else.
    return hasCode(error, 'EPERM')
  }
}

// PostgreSQL refuses to run as root, and initdb to run as a user without a name. In a user namespace root
// merely has another number and no file changes hands, but it may not pass other people's closed folders.
// Where that matters, or namespaces are refused, a system user gets the cluster, and with it the right to
// pass; without that right it would need a copy of all binaries, and every folder above opened for it.
export function chooseAccount(initdb: string, data_dir: string): Account {
  const [uid, gid] = [process.geteuid?.() ?? 0, process.getegid?.() ?? 0]
  if (uid !== 0 && hasName()) return { prefix: [] }
  const user = findSystemUser(fs.statSync(data_dir).uid)
  const ids = [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
  // The secure bit makes access(2), by which PostgreSQL looks for its own files, respect the right too.
  const right = ['--inh-caps=+dac_override', '--ambient-caps=+dac_override']
  const respected = '--securebits=+no_setuid_fixup'
  const namespace = ['unshare', '--user', `--map-user=${user.uid}`, `--map-group=${user.gid}`]
  const accounts: Account[] = [
    { prefix: namespace, owner: { uid, gid } },
    { prefix: ['setpriv', ...ids, respected, ...right], owner: user },
  ]
  const account = accounts.find(({ prefix }) => canWork(prefix, initdb, data_dir))
  if (account) return account
  const who = uid === 0 ? 'root' : `user ${uid}, who has no name`
  throw new Error(
    `PostgreSQL does not run as ${who}, and neither unshare nor setpriv works here: ` +
      'start as an ordinary user, or set DATABASE_URL',
  )
}

function hasName(): boolean {
  try {
    return userInfo().username !== ''
  } catch {
    return false
  }
}

/** The owner of the data folder unless that is root; else the user whose work this is, or nobody's. */
function findSystemUser(folder_uid: number): { uid: number; gid: number } {
  const users = (readIfPresent('/etc/passwd') ?? '')
    .split('\n')
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
    .filter(({ uid, gid }) => uid > 0 && gid > 0)
  const user =
    users.find(({ uid }) => uid === folder_uid) ??
    users.find(({ name }) => name === 'postgres') ??
    users.find(({ name }) => name === 'nobody') ??
    users[0]
  if (!user) throw new Error('/etc/passwd has no user that PostgreSQL could run as')
  return { uid: user.uid, gid: user.gid }
}

/** Tried for real: what a container, a security module or a closed folder forbids cannot be foreseen. */
function canWork(prefix: string[], initdb: string, data_dir: string): boolean {
  const script = '"$1" --show -D "$2" && test -w "$2"'
  const [command, ...args] = [...prefix, 'sh', '-c', script, 'sh', initdb, data_dir]
  return spawnSync(command, args, { ...SURROUNDINGS, timeout: TRIAL_LIMIT_MS }).status === 0
}

/** Hands a folder over. The folder itself comes last, so that a broken walk is done again. */
export function giveFolder(folder: string, owner: Account['owner']): void {
  if (!owner || fs.statSync(folder).uid === owner.uid) return
  for (const name of fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    fs.lchownSync(join(folder, name), owner.uid, owner.gid)
  }
  fs.lchownSync(folder, owner.uid, owner.gid)
}

/** Gives a finished folder its final name, on the disk too: what is then written in it must not be lost. */
export function publishFolder(folder: string, final_path: string): void {
  fs.renameSync(folder, final_path)
  syncFolder(dirname(final_path))
}

function syncFolder(path: string): void {
  const folder = fs.openSync(path, 'r')
  fs.fsyncSync(folder)
  fs.closeSync(folder)
}

export function writeSecret(path: string, secret: string): void {
  // Anew: the mode does not count for an existing file, and that may be another user's.
  fs.rmSync(path, { force: true })
  fs.writeFileSync(path, `${secret}\n`, { mode: OWNER_ONLY_FILE, flush: true })
}

/** A secret that is made once, whichever of the processes that start together comes first, and then only read. */
export function readOrMakeSecret(path: string, mint: () => string): string {
  const known = readIfPresent(path)
  if (known !== undefined) return known.trim()
  const draft = `${path}.${randomUUID()}`
  writeSecret(draft, mint())
  try {
    // Unlike a rename it never replaces, and unlike a write it is complete from the first moment.
    fs.linkSync(draft, path)
    syncFolder(dirname(path))
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
  } finally {
    fs.rmSync(draft, { force: true })
  }
  return fs.readFileSync(path, 'utf8').trim()
}

export function readIfPresent(path: string): string | undefined {
  try {
    return fs.readFileSync(path, 'utf8')
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Empty for a process that has ended, or has not been waited for. */
export function readCommandLine(pid: number): string {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-ww', '-p', `${pid}`, '-o', 'command='], { encoding: 'utf8' }).stdout
  }
  return (readIfPresent(`/proc/${pid}/cmdline`) ?? '').replaceAll('\0', ' ')
}

export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  // Zero and below would mean whole process groups, our own among them.
  if (!(pid > 0)) throw new Error(`${pid} is not a process`)
  try {
    process.kill(pid, signal)
  } catch (error) {
    // It may end by itself in this moment.
    if (!hasCode(error, 'ESRCH')) throw error
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
