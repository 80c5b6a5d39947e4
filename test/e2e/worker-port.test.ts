// WORKER_PORT of ROLE=worker: a process without the API can be probed and measured like one that has it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  isListening,
  launch,
  makeFolder,
  runToEnd,
  SERVER,
  type Settings,
} from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const COMMAND: [string, ...string[]] = [process.execPath, SERVER]
const DATABASE_URL = await createDatabase()
const proxy = await startTcpProxy(DATABASE_URL)

/** Waits until its port is open; it need not be ready. */
async function startWorker(settings: Settings = {}) {
  const DATA_DIR = makeFolder()
  const worker = launch(COMMAND, { DATABASE_URL, DATA_DIR, ROLE: 'worker', ...settings })
  const address = () => worker.stdout().match(/listening at (http[^",]+)/)?.[1] ?? ''
  await eventually('it listens', () => address() !== '' || worker.ended() !== undefined)
  const url = address()
  assert.notEqual(url, '', worker.output())
  return { ...worker, url, port: Number(new URL(url).port) }
}

async function statusOf(url: string, at: string): Promise<number> {
  return (await call(url, at)).status
}

test('a worker says where it stands: starting, ready, without its database, ready again', async (t) => {
  proxy.cut()
  const worker = await startWorker({ DATABASE_URL: proxy.url })
  t.after(() => worker.kill())
  const health = async () => (await call(worker.url, '/health')).json()
  const isReady = async () => (await statusOf(worker.url, '/ready')) === 200
  assert.deepEqual(await health(), { status: 'ok', phase: 'starting', database: 'unreachable' })
  assert.equal(await statusOf(worker.url, '/ready'), 503)

  proxy.restore()
  await eventually('it is ready', isReady)
  assert.deepEqual(await health(), { status: 'ok', phase: 'ready', database: 'ok' })
  const said = () => worker.logs().find((line) => line.msg === 'ready')
  await eventually('it says so', () => said() !== undefined)
  assert.deepEqual([said()?.['address'], said()?.['role']], [worker.url, 'worker'])

  proxy.cut()
  await eventually('it notices', async () => !(await isReady()))
  assert.deepEqual(await health(), { status: 'ok', phase: 'ready', database: 'unreachable' })
  proxy.restore()
  await eventually('it is ready again', isReady)
})

test('a worker shows what it has done, and serves nothing of the API', async (t) => {
  const worker = await startWorker()
  t.after(() => worker.kill())
  await eventually('it is ready', async () => (await statusOf(worker.url, '/ready')) === 200)
  await eventually('it has worked', async () =>
    /svc_job_seconds_count\{.*job="accounts\.send_mail".*outcome="ok".*\} [1-9]/.test(
      (await call(worker.url, '/metrics')).text,
    ),
  )
  for (const at of ['/v1/models', '/docs', '/auth/login']) {
    assert.equal(await statusOf(worker.url, at), 404)
  }
  assert.equal((await call(worker.url, '/ready', { method: 'POST' })).status, 405)
  assert.equal(worker.stderr(), '', 'no greeting')
})

test('/metrics of a worker is for loopback callers, or for the bearer of METRICS_TOKEN', async (t) => {
  const METRICS_TOKEN = 'a-token-of-the-operator'
  const worker = await startWorker({ METRICS_TOKEN })
  t.after(() => worker.kill())
  assert.equal(await statusOf(worker.url, '/metrics'), 401)
  assert.equal((await call(worker.url, '/metrics', { bearer: METRICS_TOKEN })).status, 200)
  assert.equal(await statusOf(worker.url, '/health'), 200)
})

test('a worker that stops says 503 first, then closes its port, then ends', async (t) => {
  const worker = await startWorker({ DRAIN_MS: '1500' })
  t.after(() => worker.kill())
  await eventually('it is ready', async () => (await statusOf(worker.url, '/ready')) === 200)
  worker.signal('SIGTERM')
  await eventually('it drains', async () => (await statusOf(worker.url, '/ready')) === 503, 1_000)
  const draining = await call(worker.url, '/health')
  assert.equal(draining.json<{ phase: string }>().phase, 'draining')
  assert.equal(draining.headers.connection, 'close')
  assert.equal(await statusOf(worker.url, '/metrics'), 200)
  const ended = await worker.end()
  assert.deepEqual([ended.code, ended.signal], [0, null], worker.output())
  assert.equal(worker.logs().at(-1)?.msg, 'stopped')
  assert.equal(await isListening(worker.port), false)
})

test('a WORKER_PORT that is taken stops the start in one line; 0 gives each worker its own', async (t) => {
  const [owner, other] = await Promise.all([startWorker(), startWorker()])
  t.after(() => Promise.all([owner.kill(), other.kill()]))
  assert.notEqual(owner.port, other.port)

  const WORKER_PORT = String(owner.port)
  const taken = `svc: port ${WORKER_PORT} of 127.0.0.1 is in use by another process: stop it, or set WORKER_PORT\n`
  const those: Settings[] = [{ ROLE: 'worker' }, { WORKERS: '2' }, { WORKERS: '2', ROLE: 'api' }]
  const seconds = those.map((settings) =>
    runToEnd(COMMAND, { DATABASE_URL, DATA_DIR: makeFolder(), WORKER_PORT, ...settings }),
  )
  for (const second of await Promise.all(seconds)) {
    assert.deepEqual([second.code, second.stderr], [1, taken])
  }
})
