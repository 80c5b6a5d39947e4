import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { test } from 'node:test'
import Fastify from 'fastify'
import { EventStream } from '../../http/event-stream.ts'
import { sendEmbeddings } from './reply.ts'

const NUMBERS = { credits_used: 1n, balance_before: 2n, balance_after: 1n }

test('who reads the vectors too slowly is cut off, and their room is free again', async () => {
  const app = Fastify()
  const vector = Buffer.alloc(4 * 3_072).toString('base64')
  const answer = {
    vectors: Array.from({ length: 2_048 }, () => vector),
    model: 'text-embedding-3-large',
    encoding: 'base64' as const,
    tokens: 1,
    svc: { ...NUMBERS, billing_mode: 'developer' as const },
  }
  const sent = Promise.withResolvers<void>()
  app.get('/', async (_request, reply) => {
    await sendEmbeddings({}, answer, { reply, client: new EventStream(reply), limit_ms: 300 })
    sent.resolve()
    return reply
  })
  const address = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const socket = connect(Number(address.port), address.hostname)
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')
  let received = 0
  socket.on('data', (piece) => {
    received += piece.length
    socket.pause()
    setTimeout(() => socket.resume(), 20)
  })
  const closed = once(socket, 'close')
  await sent.promise
  await closed
  assert.ok(received < 2_048 * vector.length, `${received} bytes were read`)
  await app.close()
})
