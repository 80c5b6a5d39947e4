// Servers of bench/gateway.ts, each in a process of its own: `bare`, the least that a proxy on the same libraries
// does, `piped`, the same without looking at what it passes on, and `service`, this gateway as in production.

import Fastify from 'fastify'
import { pino } from 'pino'
import { Agent, request } from 'undici'
import { loadConfig } from '../src/config.ts'
import { createLog } from '../src/platform/log.ts'
import { startService } from '../src/service.ts'

const [, , kind, upstream_url = '', database_url = ''] = process.argv
process.send?.(kind === 'service' ? await startGateway() : await startBare())

async function startBare(): Promise<string> {
  const app = Fastify()
  const dispatcher = new Agent({ connections: 2_000, pipelining: 1 })
  app.post('/v1/chat/completions', async (incoming, reply) => {
    const { statusCode, headers, body } = await request(`${upstream_url}/v1/chat/completions`, {
      dispatcher,
      method: 'POST',
      headers: { authorization: 'Bearer bench', 'content-type': 'application/json' },
      body: JSON.stringify(incoming.body),
    })
    const type = String(headers['content-type'])
    reply.code(statusCode).header('content-type', type)
    const gathers = kind === 'bare' && type.startsWith('application/json')
    return gathers ? await body.text() : reply.send(body)
  })
  return await app.listen({ port: 0, host: '127.0.0.1' })
}

async function startGateway(): Promise<string | undefined> {
  const { address } = await startService({
    config: loadConfig({
      PORT: '0',
      RATE_LIMIT_PER_MINUTE: '1000000',
      OPENAI_API_KEY: 'bench',
      OPENAI_BASE_URL: `${upstream_url}/v1`,
      ELEVENLABS_API_KEY: 'bench',
      ELEVENLABS_BASE_URL: upstream_url,
    }),
    database_url,
    // Written as in production, to a file that keeps nothing.
    log: createLog({
      level: 'info',
      destination: pino.destination({ dest: '/dev/null', sync: true, minLength: 4096 }),
    }),
  })
  return address
}
