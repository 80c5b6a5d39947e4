// A client that reads slowly slows its provider, not our memory; and one that does not read at all is not
// waited for without end.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import { EventStream } from '../../src/http/event-stream.ts'
import { atEnd } from '../support/cleanup.ts'
import { eventually } from '../support/eventually.ts'
import {
  assertBooksClosed,
  costOf,
  mark,
  onlyUsageOf,
  openChat,
  startGateway,
} from '../support/gateway.ts'

const READERS = 30
const PIECE = 'word '.repeat(3_200)
const PIECES = 2_500
/** More than the buffers of the machine take for one connection. */
const ANSWER_BYTES = PIECE.length * PIECES
const MAX_TOKENS = 1_000

/** Sends as fast as it is read, and remembers how much that was. */
const sent = new Map<string, number>()
const provider = createServer((request, response) => {
  void answer(request, response).catch(() => response.destroy())
})
provider.listen(0, '127.0.0.1')
await once(provider, 'listening')
atEnd(() => {
  provider.closeAllConnections()
  provider.close()
})
const gateway = await startGateway({ OPENAI_BASE_URL: `http://127.0.0.1:${portOf(provider)}/v1` })
const customer = await gateway.customer(10_000_000_000n)

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  const marker = /call-\d+-end/.exec(body)?.[0] ?? ''
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const choice = { index: 0, delta: { content: PIECE }, finish_reason: null }
  const piece = `data: ${JSON.stringify({ id: 'c', model: 'm', choices: [choice] })}\n\n`
  for (let i = 1; i <= PIECES && !response.destroyed; i++) {
    sent.set(marker, i * PIECE.length)
    if (!response.write(piece)) await once(response, 'drain')
  }
  const stop = { index: 0, delta: {}, finish_reason: 'stop' }
  response.write(`data: ${JSON.stringify({ id: 'c', model: 'm', choices: [stop] })}\n\n`)
  response.end('data: [DONE]\n\n')
}

function portOf(server: Server): number {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}

test('thirty streams whose clients do not read are held back at the provider', async (t) => {
  const before = process.memoryUsage().rss
  const readers = await Promise.all(
    Array.from({ length: READERS }, async (_, index) => {
      const key = await customer.newKey()
      const marker = mark()
      const dialect = index % 2 === 0 ? ('openai' as const) : ('anthropic' as const)
      const ask = { key: key.key, model: 'gpt-4o-mini', prompt: marker, dialect, stream: true }
      const request = openChat(gateway.url, { ...ask, max_tokens: MAX_TOKENS })
      const [response]: IncomingMessage[] = await once(request, 'response')
      assert.ok(response)
      response.pause()
      return { key, marker, response }
    }),
  )
  const total = () => readers.reduce((sum, { marker }) => sum + (sent.get(marker) ?? 0), 0)
  let last = -1
  const isStill = async () => {
    last = total()
    await wait(300)
    return total() === last
  }
  await eventually('nothing moves any more', isStill, 8_000)
  for (const { marker } of readers) {
    assert.ok((sent.get(marker) ?? 0) < ANSWER_BYTES, 'the provider waits for the reader')
  }
  const grown = process.memoryUsage().rss - before
  t.diagnostic(`${Math.round(grown / 1e6)} MB more; ${Math.round(last / 1e6)} MB left the provider`)
  // Provider and clients live in this process, too.
  assert.ok(grown < READERS * 6_000_000, `${grown} bytes`)

  const [first, ...others] = readers
  assert.ok(first)
  for (const { response } of others) response.destroy()
  let bytes = 0
  for await (const chunk of first.response) bytes += (chunk as Buffer).length
  assert.ok(first.response.complete && bytes > ANSWER_BYTES, 'who reads on gets everything')
  // It said nothing about usage and sent far more than was asked for: the estimate ends at the hold.
  const most = costOf('gpt-4o-mini', { input: 200, output: MAX_TOKENS })
  for (const { key } of readers) {
    const row = await onlyUsageOf(gateway, key.id)
    assert.equal(row.estimated, true)
    assert.ok(row.credits_used > 0n && row.credits_used <= most, `${row.credits_used}`)
  }
})

test('a client that takes nothing for a minute has left', async () => {
  const written = Promise.withResolvers<boolean>()
  const server = createServer((_request, response) => {
    void fill(response).then(written.resolve, written.reject)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => server.close())
  const socket = connect(portOf(server), '127.0.0.1')
  atEnd(() => socket.destroy())
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  assert.equal(await written.promise, true)
})

test('a client that had left before anybody looked has left', async () => {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(() => server.close())
  const socket = connect(portOf(server), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const asked = Promise.withResolvers<ServerResponse>()
  server.once('request', (_request, response) => asked.resolve(response))
  const response = await asked.promise
  socket.destroy()
  await once(response, 'close')
  const client = new EventStream({ raw: response } as unknown as FastifyReply)
  assert.equal(client.left, true)
  await client.write('data: 1\n\n')
})

/** Writes to a client that does not read until it is seen to have left. */
async function fill(response: ServerResponse): Promise<boolean> {
  const reply = { raw: response } as unknown as FastifyReply
  const client = new EventStream(reply, { stall_limit_ms: 300 })
  response.writeHead(200)
  for (let i = 0; i < 2_000 && !client.left; i++) await client.write('x'.repeat(65_536))
  await eventually('it is gone', () => client.left, 1_000)
  return client.left
}

test('after all of this no hold is open and the ledger proves itself', () =>
  assertBooksClosed(gateway))
