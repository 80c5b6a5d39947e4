// WORKERS=2: one parent with the database, two children on one port.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { readCommandLine } from '../../src/platform/data-dir.ts'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  childrenOf,
  hammer,
  isAlive,
  isListening,
  makeFolder,
  openSocket,
  postmasterOf,
  register,
  SLOW_SERVER,
  startServer,
} from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const data_dir = path.join(makeFolder(), 'data')
const settings = { DATA_DIR: data_dir, WORKERS: '2', DRAIN_MS: '200' }
const server = await startServer(settings, { entry: SLOW_SERVER })

/** Asked on new connections, which go to the children in turn. */
async function servingPids(): Promise<number[]> {
  const pids = new Set<number>()
  for (let i = 0; i < 6; i += 1) {
    pids.add((await call(server.url, '/test/pid')).json<{ pid: number }>().pid)
  }
  return [...pids].sort((a, b) => a - b)
}

/** The children of the parent without its database and the sandbox. */
function forked(pid: number): number[] {
  const postmaster = postmasterOf(data_dir)
  return childrenOf(pid).filter(
    (child) => child !== postmaster && !readCommandLine(child).includes('sandbox'),
  )
}

/** Whether a process has a connection to a port of this machine. */
function isConnected(pid: number, port: number): boolean {
  const files = openFiles(pid)
  // Of each line: its number, our address, theirs, …, and at the tenth place the socket.
  const lines = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1)
  return lines.some((line) => {
    const fields = line.trim().split(/\s+/)
    const far_port = Number.parseInt(fields[2]?.split(':')[1] ?? '', 16)
    return far_port === port && files.includes(`socket:[${fields[9]}]`)
  })
}

function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`
  try {
    return readdirSync(folder).map((name) => readlinkSync(path.join(folder, name)))
  } catch {
    // One of them was closed meanwhile.
    return []
  }
}

test('both children serve, and neither is the parent', async () => {
  const pids = await servingPids()
  assert.equal(pids.length, 2)
  assert.deepEqual(
    forked(server.pid).sort((a, b) => a - b),
    pids,
  )
  const { token } = await register(server.url)
  for (const _ of pids) {
    assert.equal((await call(server.url, '/auth/me', { bearer: token })).status, 200)
  }
})

test('a child that is killed is replaced', async () => {
  const [victim = 0, other = 0] = await servingPids()
  process.kill(victim, 'SIGKILL')
  // A connection that the parent has just handed to the dying child is lost with it.
  const died = () => server.logs().find((line) => line.msg === 'a child died')
  await eventually('the parent notices', () => died() !== undefined)
  assert.equal(died()?.['pid'], victim)
  await eventually(
    'the other one gets company',
    async () => {
      const pids = await servingPids()
      assert.ok(pids.includes(other) && !pids.includes(victim))
      return pids.length === 2
    },
    20_000,
  )
})

test('SIGHUP replaces every child under load: no request fails and no stream is cut', async (t) => {
  const before = await servingPids()
  const load = hammer(server.url, { connections: 4, paths: ['/health', '/no/such/page'] })
  const streams = [1, 2].map(() => call(server.url, '/test/stream?ms=1500'))
  await eventually('the load runs', () => load.count() > 50)
  const rounds = () => server.logs().filter((line) => line.msg === 'every child was replaced')
  server.signal('SIGHUP')
  await eventually('the first is being replaced', () => forked(server.pid).length === 3)
  // Again while it runs: one more round, not two at the same time.
  server.signal('SIGHUP')
  await eventually('every child is replaced twice', () => rounds().length === 2, 60_000)
  const asked = load.count()
  await eventually('the load goes on', () => load.count() > asked + 50)
  const { failures } = await load.stop()
  assert.deepEqual(failures, [])
  for (const stream of await Promise.all(streams)) assert.match(stream.text, /\[DONE\]/)
  const now = await servingPids()
  assert.equal(now.length, 2)
  assert.ok(now.every((pid) => !before.includes(pid)))
  assert.equal(forked(server.pid).length, 2)
  t.diagnostic(`${load.count()} requests, 0 failed`)
})

test('SIGTERM ends the parent, its children, its database and the sandbox', async () => {
  const processes = childrenOf(server.pid)
  assert.equal(processes.length, 4)
  const ended = await server.stop()
  assert.deepEqual([ended.code, ended.signal], [0, null], server.output())
  await eventually('all of them end', () => !processes.some(isAlive))
  assert.equal(postmasterOf(data_dir), undefined)
  assert.equal(await isListening(server.port), false)
})

test('a stop while a child starts ends that child too', async (t) => {
  const proxy = await startTcpProxy(await createDatabase())
  const parent = await startServer(
    { ...settings, DATA_DIR: makeFolder(), DATABASE_URL: proxy.url },
    { entry: SLOW_SERVER },
  )
  t.after(() => parent.kill())
  const before = childrenOf(parent.pid)
  // The new child asks the database, and nothing answers until the stop has begun.
  proxy.freeze()
  parent.signal('SIGHUP')
  const port = Number(new URL(proxy.url).port)
  const asks = () =>
    childrenOf(parent.pid).some((pid) => !before.includes(pid) && isConnected(pid, port))
  await eventually('a child starts', asks, 20_000)
  parent.signal('SIGTERM')
  await eventually('the stop has begun', async () => !(await isListening(parent.port)))
  proxy.restore()
  const ended = await parent.end()
  t.diagnostic(`ended after ${Math.round(ended.took_ms)} ms`)
  assert.deepEqual([ended.code, ended.signal], [0, null], parent.output())
})

test('kill -9 of the parent closes the port, and its children end after what they are answering', async (t) => {
  const parent = await startServer(settings, { entry: SLOW_SERVER })
  t.after(() => parent.kill())
  const children = forked(parent.pid)
  assert.equal(children.length, 2)
  const stream = await openSocket(parent.port)
  stream.write('GET /test/stream?ms=1000 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
  await eventually('the stream runs', () => stream.received().includes('data: 1'))
  await parent.kill()
  await eventually('the port closes', async () => !(await isListening(parent.port)), 2_000)
  await eventually('the children end', () => !children.some(isAlive))
  assert.match(stream.received(), /\[DONE\]/)
})
