// One process with its embedded database: first start, clean stop, start again, kill.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import {
  call,
  createKey,
  isAlive,
  isListening,
  launch,
  makeFolder,
  PASSWORD,
  postmasterOf,
  register,
  runToEnd,
  SERVER,
  startServer,
} from '../support/service.ts'

const COMMAND: [string, ...string[]] = [process.execPath, SERVER]
const data_dir = path.join(makeFolder(), 'data')
const settings = { DATA_DIR: data_dir }
const honest = { ...settings, NODE_DISABLE_COMPILE_CACHE: '1' }
const known = { email: 'first@example.com', key: '' }

function postgresLog(): string {
  return readFileSync(path.join(data_dir, 'postgres.log'), 'utf8')
}

async function logIn(url: string, email: string) {
  return await call(url, '/auth/login', { body: { email, password: PASSWORD } })
}

test('an empty data folder is all that a first start needs: a user registers, logs in, and uses a key', async (t) => {
  const server = await startServer(honest)
  t.diagnostic(`first start: ${Math.round(server.started_ms)} ms`)
  await register(server.url, known.email)
  const login = await logIn(server.url, known.email)
  assert.equal(login.status, 200)
  const { session_token } = login.json<{ session_token: string }>()
  const { key } = await createKey(server.url, session_token)
  known.key = key
  const own = await call(server.url, '/v1/key', { bearer: key })
  assert.equal(own.status, 200)

  const postmaster = postmasterOf(data_dir)
  assert.ok(postmaster)
  const ended = await server.stop()
  assert.deepEqual([ended.code, ended.signal], [0, null], server.output())
  assert.equal(isAlive(postmaster), false)
  assert.match(postgresLog(), /database system is shut down\n$/)
  assert.equal(server.logs().at(-1)?.msg, 'stopped', 'the log is complete')
  assert.doesNotMatch(server.output(), /^\s+at /m)
})

test('a second start finds everything, and needs no recovery', async (t) => {
  const before = postgresLog().length
  const server = await startServer(honest)
  t.diagnostic(`second start: ${Math.round(server.started_ms)} ms`)
  assert.equal((await logIn(server.url, known.email)).status, 200)
  assert.equal((await call(server.url, '/v1/key', { bearer: known.key })).status, 200)
  assert.doesNotMatch(postgresLog().slice(before), /recovery|not properly shut down/)

  await register(server.url, 'before-the-kill@example.com')
  const ended = await server.kill()
  assert.equal(ended.signal, 'SIGKILL')
})

test('after kill -9 the next start keeps what was committed, and replaces the orphaned database', async (t) => {
  const orphan = postmasterOf(data_dir)
  assert.ok(orphan)
  const server = await startServer(honest)
  t.diagnostic(`start after kill -9: ${Math.round(server.started_ms)} ms`)
  assert.equal((await logIn(server.url, 'before-the-kill@example.com')).status, 200)
  assert.equal(isAlive(orphan), false)
  await server.stop()
})

test('who comes second is told in one line whose folder or port it is, and leaves nothing behind', async (t) => {
  const owner = await startServer(settings)
  t.after(() => owner.kill())

  const same_folder = await runToEnd(COMMAND, settings)
  assert.equal(same_folder.code, 1)
  assert.equal(
    same_folder.stderr,
    `svc: data folder ${data_dir} is in use by process ${owner.pid}: stop it, or set DATA_DIR to another folder\n`,
  )

  const other_dir = path.join(makeFolder(), 'data')
  const PORT = String(owner.port)
  const same_port = await runToEnd(COMMAND, { DATA_DIR: other_dir, PORT })
  assert.equal(same_port.code, 1)
  assert.equal(
    same_port.stderr,
    `svc: port ${PORT} of 127.0.0.1 is in use by another process: stop it, or set PORT\n`,
  )
  assert.equal(postmasterOf(other_dir), undefined)
  assert.match(
    readFileSync(path.join(other_dir, 'postgres.log'), 'utf8'),
    /database system is shut down\n$/,
  )

  const cluster = await runToEnd(COMMAND, { DATA_DIR: other_dir, PORT, WORKERS: '2' })
  assert.deepEqual([cluster.code, cluster.stderr], [1, same_port.stderr])
  assert.equal(postmasterOf(other_dir), undefined)

  assert.equal((await call(owner.url, '/ready')).status, 200)
  await owner.stop()
})

test('what cannot start says why in one line', async () => {
  const nowhere = { DATABASE_URL: 'postgres://127.0.0.1:1/none' }
  const wrong: [Record<string, string>, RegExp][] = [
    [{ PORT: 'eighty' }, /^svc: PORT="eighty" is not allowed: expected .*65535\n$/],
    [{ TRUST_PROXY: 'true' }, /^svc: TRUST_PROXY="true" is not allowed: .*CIDR.*\n$/],
    [
      { DATABASE_URL: 'mysql://root:pw@h/d' },
      /^svc: DATABASE_URL=\(hidden\) is not allowed: .*\n$/,
    ],
    [{ ...nowhere, HOST: '203.0.113.1' }, /^svc: HOST=203\.0\.113\.1 is no address of this .*\n$/],
    [{ DATA_DIR: '/dev/null/data' }, /^svc: .*\/dev\/null\/data.*\n$/],
  ]
  const ends = await Promise.all(wrong.map(([given]) => runToEnd(COMMAND, given)))
  for (const [index, { code, stderr }] of ends.entries()) {
    assert.equal(code, 1)
    assert.match(stderr, wrong[index]?.[1] ?? /never/)
  }
})

test('a signal during the start ends it without a fault and without a database left running', async (t) => {
  const server = launch(COMMAND, settings)
  t.after(() => server.kill())
  await eventually('the database starts', () => postmasterOf(data_dir) !== undefined)
  const ended = await server.stop()
  assert.deepEqual([ended.code, ended.signal], [0, null], server.output())
  assert.equal(server.stderr().includes('svc:'), false, server.stderr())
  assert.equal(postmasterOf(data_dir), undefined)
})

test('a second signal ends the process at once, and the database with it', async (t) => {
  const server = await startServer({ ...settings, DRAIN_MS: '60000' })
  t.after(() => server.kill())
  const postmaster = postmasterOf(data_dir)
  assert.ok(postmaster)
  server.signal('SIGINT')
  await eventually('it drains', async () => (await call(server.url, '/ready')).status === 503)
  // One Ctrl-C may arrive twice, so only a signal that comes later counts as a second one.
  await eventually('it ends', () => {
    if (server.ended() === undefined) server.signal('SIGINT')
    return server.ended() !== undefined
  })
  assert.equal(server.ended()?.code, 1)
  await eventually('the database ends', () => !isAlive(postmaster))
  assert.match(postgresLog(), /database system is shut down\n$/)
})

test('the process ends when its database does, so that whoever watches it can start both again', async () => {
  const server = await startServer(settings)
  const postmaster = postmasterOf(data_dir)
  assert.ok(postmaster)
  process.kill(postmaster, 'SIGQUIT')
  assert.equal((await server.end()).code, 1)
  assert.ok(server.logs().some((line) => line.msg === 'the embedded database ended'))
  assert.equal(await isListening(server.port), false)
})
