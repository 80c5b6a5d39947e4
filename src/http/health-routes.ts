// What the operator's machines ask: is the process there, may it get traffic, what has it counted.

import { timingSafeEqual } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Metrics } from '../platform/metrics.ts'
import { digestSecret } from '../platform/tokens.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { App } from './server.ts'

const PROBE_TIMEOUT_MS = 1_500
const PROBE_FRESH_MS = 300
/** What proxies add, beside X-Forwarded-…. */
const PROXY_HEADERS = new Set(['forwarded', 'via', 'x-real-ip'])
const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1'])

const Health = Type.Object({
  status: Type.Literal('ok'),
  phase: Type.Enum(['starting', 'ready', 'draining']),
  database: Type.Enum(['ok', 'unreachable']),
})

const Ready = Type.Object({
  ready: Type.Literal(true),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      examples: [['gpt-4o: openai shuts gpt-4o down on 2027-01-14']],
    }),
  ),
})

export type HealthParts = {
  feed_db: Db
  metrics: Metrics
  lifecycle: Lifecycle
  metrics_token: string | undefined
  /** Whether a proxy stands before this process, as far as the settings say. */
  behind_proxy: boolean
  /** What the operator should see to, though requests are answered. */
  readWarnings: () => string[]
  /** The text of all processes that belong together. */
  readMetrics: () => Promise<string>
}

export function healthRoutes(app: App, parts: HealthParts): void {
  // On a connection of its own: a pool that is busy is no database that is gone.
  const database = new DatabaseProbe(parts.feed_db)
  const probe = { access: 'public', unlimited: true, while_starting: true } as const
  app.get(
    '/health',
    {
      config: probe,
      schema: {
        tags: ['Operations'],
        operationId: 'health',
        summary: 'Is the process there?',
        description:
          'Always 200 while the process answers; the body says whether its database does. Exempt from rate limits.',
        response: { 200: Health },
      },
    },
    async () => ({
      status: 'ok' as const,
      phase: parts.lifecycle.phase,
      database: (await database.isReachable()) ? ('ok' as const) : ('unreachable' as const),
    }),
  )
  app.get(
    '/ready',
    {
      config: { ...probe, errors: ['service_unavailable'] },
      schema: {
        tags: ['Operations'],
        operationId: 'ready',
        summary: 'May it get traffic?',
        description:
          '503 while starting, while draining before a stop, and without a database. `warnings` do not make it fail: settings that are dangerous, and models that their provider has shut down or will, where this process watches that.',
        response: { 200: Ready },
      },
    },
    async () => {
      if (parts.lifecycle.phase !== 'ready') throw notReady(`it is ${parts.lifecycle.phase}`)
      if (!(await database.isReachable())) throw notReady('its database cannot be reached')
      const warnings = parts.readWarnings()
      return { ready: true as const, ...(warnings.length > 0 && { warnings }) }
    },
  )
  app.get(
    '/metrics',
    {
      config: { ...probe, errors: ['invalid_api_key', 'service_unavailable'] },
      schema: {
        tags: ['Operations'],
        operationId: 'metrics',
        summary: 'Prometheus metrics',
        description:
          'Of all processes that serve this port. Answers loopback callers that no proxy stands before, or the bearer of `METRICS_TOKEN` when that is set.',
        produces: ['text/plain'],
        response: { 200: Type.String() },
      },
    },
    async (request, reply) => {
      requireOperator(request, parts)
      const text = await parts.readMetrics()
      reply.type(parts.metrics.registry.contentType).serializer(String)
      return text
    },
  )
}

function notReady(why: string): ApiError {
  return new ApiError('service_unavailable', {
    message: `Not ready: ${why}.`,
    headers: { 'retry-after': '1' },
  })
}

/** One question at a time, and its answer for a moment: probes must not crowd out those who pay. */
class DatabaseProbe {
  readonly #db: Db
  #asked: Promise<boolean> | undefined
  #asked_at = Number.NEGATIVE_INFINITY

  constructor(db: Db) {
    this.#db = db
  }

  async isReachable(): Promise<boolean> {
    if (!this.#asked || performance.now() - this.#asked_at > PROBE_FRESH_MS) {
      this.#asked_at = performance.now()
      this.#asked = this.#db.isReachable()
    }
    const limit = new AbortController()
    const options = { signal: limit.signal, ref: false }
    const expired = wait(PROBE_TIMEOUT_MS, false, options).catch(() => false)
    const answer = await Promise.race([this.#asked, expired])
    limit.abort()
    return answer
  }
}

// The socket's own address: behind a proxy on the same machine every caller looks local.
function requireOperator(
  request: FastifyRequest,
  { metrics_token, behind_proxy }: HealthParts,
): void {
  if (metrics_token === undefined) {
    const is_local = LOOPBACK.has(request.socket.remoteAddress ?? '')
    if (is_local && !behind_proxy && !cameThroughProxy(request)) return
    throw new ApiError('not_found')
  }
  const given = digestSecret(request.headers.authorization ?? '')
  if (!timingSafeEqual(given, digestSecret(`Bearer ${metrics_token}`)))
    throw new ApiError('invalid_api_key')
}

function cameThroughProxy({ headers }: FastifyRequest): boolean {
  return Object.keys(headers).some(
    (name) => PROXY_HEADERS.has(name) || name.startsWith('x-forwarded-'),
  )
}
