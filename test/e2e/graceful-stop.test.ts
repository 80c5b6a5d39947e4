// A stop that drops no request and cuts no stream, and that always comes to an end.

import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, test } from 'node:test'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  call,
  hammer,
  isListening,
  openSocket,
  type Settings,
  SLOW_SERVER,
  startServer,
} from '../support/service.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'

const DATABASE_URL = await createDatabase()

function startSlowServer(settings: Settings) {
  return startServer({ DATABASE_URL, ...settings }, { entry: SLOW_SERVER })
}

async function isDraining(url: string): Promise<boolean> {
  return (await call(url, '/ready')).status === 503
}

test('a stop under load fails no request: it says so first, then closes the port, then ends the streams', async (t) => {
  const server = await startSlowServer({ DRAIN_MS: '1500' })
  t.after(() => server.kill())
  const load = hammer(server.url, { connections: 4, paths: ['/health', '/no/such/page'] })
  await eventually('the load runs', () => load.count() > 50)
  const kept = new http.Agent({ keepAlive: true })
  t.after(() => kept.destroy())
  const late = call(server.url, '/test/late?ms=2000', { agent: kept })
  const stream = await openSocket(server.port)
  stream.write('GET /test/stream?ms=3000 HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually('the stream runs', () => stream.received().includes('data: 1'))

  server.signal('SIGTERM')
  await eventually('/ready says 503', () => isDraining(server.url), 500)
  const refused = await call(server.url, '/ready')
  assert.equal(refused.headers.connection, 'close')
  assert.equal(refused.json<{ error: { code: string } }>().error.code, 'service_unavailable')
  // A balancer that asks /ready has left by now; until then everything is served, on new connections too.
  const asked = load.count()
  await eventually('requests are served while draining', () => load.count() > asked + 10, 700)
  const { failures, statuses } = await load.stop()
  assert.deepEqual(failures, [])
  assert.deepEqual(
    [...statuses.keys()].sort((a, b) => a - b),
    [200, 404],
  )
  assert.ok(load.closes() > 0, 'replies say Connection: close')

  await eventually('the port closes', async () => !(await isListening(server.port)), 2_000)
  assert.equal(server.ended(), undefined, 'the stream is still running')
  const slow = await late
  assert.deepEqual([slow.status, slow.headers.connection], [200, 'close'])
  await eventually('the stream is complete', () => stream.received().endsWith('0\r\n\r\n'))
  const sent = [...stream.received().matchAll(/data: (\d+)/g)].map((match) => Number(match[1]))
  assert.deepEqual(sent, [...Array(60).keys()])
  assert.match(stream.received(), /\[DONE\]/)
  // Its caller keeps the connection open; nobody waits for that.
  const ended = await server.end()
  assert.equal(ended.code, 0)
  assert.ok(ended.took_ms < 2_000, `${ended.took_ms} ms after the stream`)
  t.diagnostic(`${load.count()} requests, ${load.closes()} told to close, 0 failed`)
})

describe('whatever holds on to a stopping process,', { concurrency: true }, () => {
  test('a stream that outlasts the grace period is ended, and so is the process', async (t) => {
    const server = await startSlowServer({ SHUTDOWN_GRACE_MS: '300' })
    t.after(() => server.kill())
    const stream = await openSocket(server.port)
    stream.write('GET /test/stream?ms=60000 HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the stream runs', () => stream.received().includes('data: 1'))
    const ended = await server.stop()
    assert.equal(ended.code, 0)
    assert.ok(ended.took_ms < 5_000, `${ended.took_ms} ms`)
    await eventually('it closes', stream.isClosed)
    assert.doesNotMatch(stream.received(), /DONE/)
  })

  test('connections that ask nothing are not waited for', async (t) => {
    const server = await startSlowServer({ SHUTDOWN_GRACE_MS: '60000' })
    t.after(() => server.kill())
    const silent = await openSocket(server.port)
    const half = await openSocket(server.port)
    half.write('GET /health HTTP/1.1\r\nHost:')
    const idle = await openSocket(server.port)
    idle.write('GET /no/such/page HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('the reply arrives', () => idle.received().includes('HTTP/1.1 404'))
    const ended = await server.stop()
    assert.equal(ended.code, 0)
    assert.ok(ended.took_ms < 5_000, `${ended.took_ms} ms`)
    for (const socket of [silent, half, idle]) await eventually('it closes', socket.isClosed)
  })

  test('a database that has stopped answering is not waited for without a limit', async (t) => {
    const proxy = await startTcpProxy(DATABASE_URL)
    const server = await startSlowServer({ DATABASE_URL: proxy.url })
    t.after(() => server.kill())
    proxy.freeze()
    const ended = await server.stop()
    assert.equal(ended.code, 0, server.output())
    t.diagnostic(`ended after ${Math.round(ended.took_ms)} ms`)
  })
})
