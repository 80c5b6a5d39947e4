// The service with routes that take their time, for tests of the stop and of slow callers. Everything else,
// the stop included, is the product's own.

import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { Type } from 'typebox'
import { serveWith } from '../../src/bin/server.ts'
import { describeStartFault } from '../../src/bin/start-fault.ts'

const CHUNK_MS = 50

const route = {
  config: { access: 'public' },
  schema: { hide: true, querystring: Type.Object({ ms: Type.Integer() }) },
} as const

async function* count(ms: number): AsyncGenerator<string> {
  const chunks = Math.ceil(ms / CHUNK_MS)
  for (let i = 0; i < chunks; i += 1) {
    yield `data: ${i}\n\n`
    await wait(CHUNK_MS)
  }
  yield 'data: [DONE]\n\n'
}

const request_timeout_ms = Number(process.env['TEST_REQUEST_TIMEOUT_MS'] ?? '30000')

serveWith({
  request_timeout_ms,
  addRoutes: (app) => {
    // Node looks for slow requests every 30 seconds only, and takes the shorter limit for that of the headers.
    const headersTimeout = Math.min(app.server.headersTimeout, request_timeout_ms)
    Object.assign(app.server, { connectionsCheckingInterval: 250, headersTimeout })
    app.get('/test/stream', route, (request, reply) => {
      reply.type('text/event-stream').send(Readable.from(count(request.query.ms)))
    })
    app.get('/test/late', route, async (request) => {
      await wait(request.query.ms)
      return { late: true }
    })
    app.get('/test/pid', { config: { access: 'public' }, schema: { hide: true } }, () => ({
      pid: process.pid,
    }))
  },
}).catch((error: unknown) => {
  process.stderr.write(`svc: ${describeStartFault(error)}\n`)
  process.exit(1)
})
