// What no well-behaved client sends, byte for byte over a socket. Each gets one 4xx in the envelope or a closed
// connection; none gets a second response, a 5xx, or no answer at all.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { call, openSocket, SLOW_SERVER, startServer } from '../support/service.ts'

const REQUEST_TIMEOUT_MS = 1_000
const server = await startServer(
  {
    DATABASE_URL: await createDatabase(),
    TEST_REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
  },
  { entry: SLOW_SERVER },
)

const LOGIN = 'POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n'
const LONG = 'a'.repeat(20_000)
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'

const ABUSE: Record<string, { bytes: string; status: number }> = {
  'Content-Length and Transfer-Encoding': {
    bytes: `${LOGIN}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
    status: 400,
  },
  'two Content-Length headers': {
    bytes: `${LOGIN}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}${SMUGGLED}`,
    status: 400,
  },
  'a negative Content-Length': { bytes: `${LOGIN}Content-Length: -1\r\n\r\n`, status: 400 },
  'a chunk size that is no number': {
    bytes: `${LOGIN}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    status: 400,
  },
  'lines that end in a bare LF': { bytes: 'GET /health HTTP/1.1\nHost: x\n\n', status: 400 },
  'a NUL in a header': {
    bytes: 'GET /health HTTP/1.1\r\nHost: x\r\nX-Test: a\0b\r\n\r\n',
    status: 400,
  },
  'a header of 20 kB': {
    bytes: `GET /health HTTP/1.1\r\nHost: x\r\nX-Test: ${LONG}\r\n\r\n`,
    status: 431,
  },
  'a request line of 20 kB': { bytes: `GET /${LONG} HTTP/1.1\r\nHost: x\r\n\r\n`, status: 431 },
  'two Host headers': {
    bytes: 'GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
    status: 400,
  },
  'a space before the colon': {
    bytes: 'GET /health HTTP/1.1\r\nHost: x\r\nX-Test : 1\r\n\r\n',
    status: 400,
  },
  'a folded header': {
    bytes: 'GET /health HTTP/1.1\r\nHost: x\r\nX-Test: 1\r\n 2\r\n\r\n',
    status: 400,
  },
  'a version that does not exist': {
    bytes: 'GET /health HTTP/9.9\r\nHost: x\r\n\r\n',
    status: 400,
  },
  'garbage bytes': { bytes: '\x16\x03\x01\x02\x00\x01\xff\xfe\x80garbage\r\n\r\n', status: 400 },
  'a broken escape in the path': {
    bytes: 'GET /developers/keys/%zz HTTP/1.1\r\nHost: x\r\n\r\n',
    status: 400,
  },
}

/** The responses on a connection, in order. */
function readResponses(received: string) {
  return received
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((part) => part !== '')
    .map((part) => {
      const [head = '', body = ''] = part.split('\r\n\r\n')
      return { status: Number(head.slice(9, 12)), head, body }
    })
}

function isComplete(received: string): boolean {
  const [response] = readResponses(received)
  const length = response?.head.match(/content-length: (\d+)/i)?.[1]
  return length !== undefined && (response?.body.length ?? 0) >= Number(length)
}

function assertEnvelope(received: string, status: number): void {
  const responses = readResponses(received)
  assert.equal(responses.length, 1, received)
  assert.equal(responses[0]?.status, status, received)
  const { error } = JSON.parse(responses[0]?.body ?? '')
  assert.equal(error.code, 'bad_request')
  for (const field of ['message', 'docs_url', 'request_id']) assert.ok(error[field], field)
}

describe('over a bare socket,', { concurrency: true }, () => {
  for (const [what, { bytes, status }] of Object.entries(ABUSE)) {
    test(`${what} is refused with one ${status}`, async () => {
      const socket = await openSocket(server.port)
      socket.write(bytes)
      await eventually('an answer', () => isComplete(socket.received()) || socket.isClosed())
      assertEnvelope(socket.received(), status)
      socket.destroy()
    })
  }

  test('a request without a Host header gets one 400 and a closed connection', async () => {
    const socket = await openSocket(server.port)
    socket.write('GET /health HTTP/1.1\r\n\r\n')
    await eventually('the connection closes', socket.isClosed)
    assertEnvelope(socket.received(), 400)
  })

  test('a target in absolute form is routed by its path, whoever it names', async () => {
    const socket = await openSocket(server.port)
    socket.write('GET http://other.example/no/such/page HTTP/1.1\r\nHost: x\r\n\r\n')
    await eventually('an answer', () => isComplete(socket.received()))
    const statuses = readResponses(socket.received()).map((response) => response.status)
    assert.deepEqual(statuses, [404])
    socket.destroy()
  })

  test('garbage after a good request gets no second good answer', async () => {
    const socket = await openSocket(server.port)
    socket.write(`GET /health HTTP/1.1\r\nHost: x\r\n\r\n\0\0\0${SMUGGLED}`)
    await eventually('the connection closes', socket.isClosed)
    assert.ok(readResponses(socket.received()).length <= 2)
    assert.doesNotMatch(socket.received(), /smuggled/)
  })

  test('a body that drips in one byte a second is cut off with one 408', async (t) => {
    const socket = await openSocket(server.port)
    const started = performance.now()
    socket.write(`${LOGIN}Content-Length: 100000\r\n\r\n`)
    while (!socket.isClosed() && performance.now() - started < 15_000) {
      socket.write('{')
      await wait(1_000)
    }
    assert.ok(socket.isClosed())
    assertEnvelope(socket.received(), 408)
    t.diagnostic(`cut off after ${Math.round(performance.now() - started)} ms`)
  })

  test('headers that never end are cut off with one 408', async (t) => {
    const socket = await openSocket(server.port)
    const started = performance.now()
    socket.write('GET /health HTTP/1.1\r\nHost: x\r\n')
    while (!socket.isClosed() && performance.now() - started < 15_000) {
      socket.write('X-Test: 1\r\n')
      await wait(1_000)
    }
    assert.ok(socket.isClosed())
    assertEnvelope(socket.received(), 408)
    t.diagnostic(`cut off after ${Math.round(performance.now() - started)} ms`)
  })
})

test('after all of that the service still answers, and has logged no fault of its own', async () => {
  assert.equal((await call(server.url, '/ready')).status, 200)
  assert.deepEqual(
    server.logs().filter((line) => line.level === 'error' || line.level === 'fatal'),
    [],
  )
})
