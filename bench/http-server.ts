// The two servers of bench/http.ts, each in a process of its own: `bare`, a Fastify route that sends the same
// JSON, and `service`, the whole walk of an authenticated request. Tells its CPU time when asked.

import Fastify from 'fastify'
import { pino } from 'pino'
import { buildApp } from '../src/app.ts'
import { compose } from '../src/compose.ts'
import { loadConfig } from '../src/config.ts'
import { createLog } from '../src/platform/log.ts'

const REPLY = {
  id: '01989f2e-7c1a-7b3e-9d7e-2f6f0d1c5a10',
  name: 'bench',
  billing_mode: 'developer',
  client_id: null,
  prefix: 'sk-svc-4fT9x',
  expires_at: null,
  rate_limit_per_minute: 1_000_000,
  spend_limit_credits: null,
  spend_limit_period: null,
}

const [, , kind, database_url = ''] = process.argv
const address = kind === 'bare' ? await startBare() : await startService(database_url)
process.on('message', () => process.send?.(process.cpuUsage()))
process.on('disconnect', () => process.exit(0))
process.send?.(address)

async function startBare(): Promise<string> {
  const app = Fastify()
  const nullable = (type: string) => ({ anyOf: [{ type }, { type: 'null' }] })
  const properties = {
    id: { type: 'string' },
    name: { type: 'string' },
    billing_mode: { type: 'string' },
    client_id: nullable('string'),
    prefix: { type: 'string' },
    expires_at: nullable('string'),
    rate_limit_per_minute: { type: 'integer' },
    spend_limit_credits: nullable('integer'),
    spend_limit_period: nullable('string'),
  }
  const schema = { response: { 200: { type: 'object', properties } } }
  app.get('/v1/key', { schema }, (_request, reply) => {
    reply.send(REPLY)
  })
  return await app.listen({ port: 0, host: '127.0.0.1' })
}

async function startService(url: string): Promise<string> {
  const parts = compose({
    config: loadConfig({ RATE_LIMIT_PER_MINUTE: '1000000' }),
    database_url: url,
    // Written as in production, to a file that keeps nothing.
    log: createLog({
      level: 'info',
      destination: pino.destination({ dest: '/dev/null', sync: true, minLength: 4096 }),
    }),
  })
  const app = await buildApp(parts)
  await parts.feed.start()
  parts.lifecycle.phase = 'ready'
  return await app.listen({ port: 0, host: '127.0.0.1' })
}
