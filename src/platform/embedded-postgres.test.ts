import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import { connect } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { lockDataDir, prepareDataDir } from './data-dir.ts'
import { type EmbeddedPostgres, findRunningPostgres } from './embedded-postgres.ts'
import { kill, makeFolder, readMode, start, startChild } from './test-data-dir.ts'

const LIMIT = { timeout: 60_000 }
const RECOVERY = /not properly shut down|automatic recovery|redo starts/
const NOBODY = 65_534

describe('a running embedded PostgreSQL', LIMIT, () => {
  let folder = ''
  let server: EmbeddedPostgres

  before(async () => {
    folder = fs.mkdtempSync(join(fs.realpathSync(tmpdir()), 'svc-postgres-'))
    server = await start(folder)
  })

  after(async () => {
    await server.stop()
    fs.rmSync(folder, { recursive: true, force: true })
  })

  test('answers on the first start, durable, checksummed, in UTF-8 and UTC', async () => {
    const [row] = await query(
      server.url,
      `select current_database(), current_user,
        current_setting('server_version_num')::int / 10000 as major,
        current_setting('server_encoding') as encoding,
        current_setting('data_checksums') as checksums,
        current_setting('fsync') as fsync,
        current_setting('synchronous_commit') as synchronous_commit,
        current_setting('max_connections') as max_connections,
        current_setting('timezone') as timezone`,
    )
    assert.deepEqual(row, {
      current_database: 'svc',
      current_user: 'svc',
      major: 18,
      encoding: 'UTF8',
      checksums: 'on',
      fsync: 'on',
      synchronous_commit: 'on',
      max_connections: '200',
      timezone: 'UTC',
    })
  })

  test('has a URL with its password and a loopback port', () => {
    assert.match(server.url, /^postgres:\/\/svc:[\w-]{32}@127\.0\.0\.1:\d+\/svc$/)
  })

  test('is found by a command that looks for it', () => {
    assert.equal(findRunningPostgres(folder), server.url)
  })

  test('refuses a wrong password', async () => {
    const url = server.url.replace(/svc:[\w-]+@/, 'svc:wrong@')
    await assert.rejects(query(url, 'select 1'), { code: '28P01' })
  })

  test('refuses a connection without a password', async () => {
    const url = server.url.replace(/svc:[\w-]+@/, 'svc@')
    await assert.rejects(query(url, 'select 1'), /password/)
  })

  test('listens on loopback only, and on no socket file', async () => {
    const port = Number(new URL(server.url).port)
    const addresses = Object.values(networkInterfaces())
      .flatMap((list) => list ?? [])
      .filter(({ family, internal }) => family === 'IPv4' && !internal)
      .map(({ address }) => address)
    for (const address of addresses) assert.equal(await canConnect(address, port), false, address)
    assert.equal(await canConnect('127.0.0.1', port), true)
    const [row] = await query(
      server.url,
      `select current_setting('listen_addresses') as listen_addresses,
        current_setting('unix_socket_directories') as unix_socket_directories`,
    )
    assert.deepEqual(row, { listen_addresses: '127.0.0.1', unix_socket_directories: '' })
  })

  test('keeps password, log and cluster from other users', () => {
    assert.equal(readMode(join(folder, 'postgres-password')), 0o600)
    assert.equal(readMode(join(folder, 'postgres.log')), 0o600)
    assert.equal(readMode(join(folder, 'postgres')), 0o700)
    assert.equal(readMode(folder), 0o700)
  })
})

describe('an embedded PostgreSQL that starts again', LIMIT, () => {
  test('keeps its data and password, and a clean stop leaves nothing to recover', async (t) => {
    const folder = makeFolder(t)
    const first = await start(folder)
    await query(first.url, 'create table kept as select 41 + 1 as answer')
    const ends: string[] = []
    first.onExit((detail) => ends.push(detail))
    const idle = new Client({ connectionString: first.url })
    idle.on('error', () => {})
    await idle.connect()
    await Promise.all([first.stop(), first.stop()])
    assert.equal(findRunningPostgres(folder), undefined)
    assert.equal(isAlive(first.pid), false)

    const second = await start(folder)
    assert.deepEqual(await query(second.url, 'select answer from kept'), [{ answer: 42 }])
    assert.equal(new URL(second.url).password, new URL(first.url).password)
    await second.stop()
    assert.doesNotMatch(readLog(folder), RECOVERY)
    assert.deepEqual(ends, [], 'a stop that was asked for is no accident')
  })

  test('takes over from an owner killed with -9, with everything that was committed', async (t) => {
    const folder = makeFolder(t)
    const owner = await startChild(t, folder, 'serve')
    await query(owner.line, 'create table kept as select 1 as answer')
    await kill(owner.child)
    assert.equal(findRunningPostgres(folder), owner.line, 'the orphan still runs')

    const lock = lockDataDir(folder)
    t.after(() => lock.release())
    const lines: string[] = []
    const server = await start(folder, { log: (line) => lines.push(line) })
    assert.match(lines.join('\n'), /killed server left behind/)
    assert.deepEqual(await query(server.url, 'select answer from kept'), [{ answer: 1 }])
    assert.equal(await canConnect('127.0.0.1', Number(new URL(owner.line).port)), false)
    await server.stop()
  })

  test('reports a killed postmaster and recovers what was committed', async (t) => {
    const folder = makeFolder(t)
    const first = await start(folder)
    await query(first.url, 'create table kept as select 1 as answer')
    const ended = new Promise<string>((resolve) => first.onExit(resolve))
    process.kill(first.pid, 'SIGKILL')
    assert.match(await ended, /SIGKILL/)
    await first.stop()

    const second = await start(folder)
    assert.deepEqual(await query(second.url, 'select answer from kept'), [{ answer: 1 }])
    assert.match(readLog(folder), RECOVERY)
    await second.stop()
  })

  test('ignores a stale lock file whose pid now belongs to someone else, who lives on', async (t) => {
    const folder = makeFolder(t)
    await (await start(folder)).stop()
    const stranger = spawn('sleep', ['60'])
    t.after(() => stranger.kill('SIGKILL'))
    const lines = [stranger.pid, join(folder, 'postgres'), 1, 5432, '', '127.0.0.1', '1 1', 'ready']
    fs.writeFileSync(join(folder, 'postgres', 'postmaster.pid'), `${lines.join('\n')}\n`)
    assert.equal(findRunningPostgres(folder), undefined)
    const server = await start(folder)
    assert.deepEqual(await query(server.url, 'select 1 as one'), [{ one: 1 }])
    await server.stop()
    assert.equal(stranger.exitCode ?? stranger.signalCode, null)
  })

  test('starts from the beginning after a first start that broke off', async (t) => {
    const folder = makeFolder(t)
    fs.mkdirSync(join(folder, 'postgres.new-broken', 'base'), { recursive: true })
    fs.writeFileSync(join(folder, 'postgres-password'), '', { mode: 0o644 })
    const server = await start(folder)
    await server.stop()
    assert.deepEqual(fs.readdirSync(folder).sort(), [
      'postgres',
      'postgres-password',
      'postgres.log',
    ])
    assert.equal(readMode(join(folder, 'postgres-password')), 0o600)
  })

  test('empties a log of more than ten megabytes', async (t) => {
    const folder = makeFolder(t)
    fs.writeFileSync(join(folder, 'postgres.log'), Buffer.alloc(11 * 1024 * 1024))
    await (await start(folder)).stop()
    assert.ok(fs.statSync(join(folder, 'postgres.log')).size < 100_000)
  })
})

describe('an embedded PostgreSQL in hard circumstances', LIMIT, () => {
  test('says why it could not start, with the lines of its log', async (t) => {
    const folder = makeFolder(t)
    await assert.rejects(
      start(folder, { settings: { shared_buffers: 'plenty' } }),
      /did not start: ended by exit code 1; the end of .*postgres\.log:\n.*shared_buffers.*plenty/,
    )
    assert.equal(findRunningPostgres(folder), undefined)
  })

  test('takes settings of the caller over its defaults', async (t) => {
    const server = await start(makeFolder(t), { settings: { max_connections: '20' } })
    const rows = await query(server.url, "select current_setting('max_connections') as value")
    await server.stop()
    assert.deepEqual(rows, [{ value: '20' }])
  })

  test('does not hear the Ctrl-C that its gateway gets from the terminal', async (t) => {
    const folder = makeFolder(t)
    const owner = await startChild(t, folder, 'serve')
    assert.ok(owner.child.pid)
    process.kill(-owner.child.pid, 'SIGINT')
    await sleep(300)
    assert.deepEqual(await query(owner.line, 'select 1 as one'), [{ one: 1 }])
  })

  test("works for root below another user's closed folder", async (t) => {
    if (process.geteuid?.() !== 0 || process.platform !== 'linux') return t.skip('needs root')
    const home = makeFolder(t)
    const folder = prepareDataDir(join(home, 'data'))
    fs.chownSync(home, NOBODY, NOBODY)
    for (const answer of [1, 2]) {
      const server = await start(folder)
      assert.deepEqual(await query(server.url, `select ${answer} as answer`), [{ answer }])
      await server.stop()
    }
    assert.doesNotMatch(readLog(folder), RECOVERY)
    // In reach again, it may run under another account: then every file changes hands.
    fs.chownSync(home, 0, 0)
    await (await start(folder)).stop()
    const cluster = join(folder, 'postgres')
    const names = fs.readdirSync(cluster, { recursive: true, encoding: 'utf8' })
    const owners = new Set(['.', ...names].map((name) => fs.lstatSync(join(cluster, name)).uid))
    assert.equal(owners.size, 1)
  })

  test('is nowhere to be found without a folder, or in an empty one', (t) => {
    const folder = makeFolder(t)
    assert.equal(findRunningPostgres(folder), undefined)
    assert.equal(findRunningPostgres(join(folder, 'missing')), undefined)
  })
})

async function query(url: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  try {
    await client.connect()
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

async function canConnect(host: string, port: number): Promise<boolean> {
  const socket = connect({ host, port, timeout: 2000 })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function readLog(folder: string): string {
  return fs.readFileSync(join(folder, 'postgres.log'), 'utf8')
}
