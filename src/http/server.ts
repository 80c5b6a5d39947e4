// The Fastify instance with everything every route shares: limits on what is read, ids, headers, validation,
// errors, one log line a request.

import { randomBytes } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import { ApiError } from '../platform/errors.ts'
import { type Log, logRequest } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { policyOf, type RoutePolicy, UNROUTED } from './access.ts'
import { createErrorHandler, renderConnectionError } from './error-handler.ts'
import { headerFault } from './header-fault.ts'
import { isShallowJson, tooDeep } from './json-depth.ts'
import type { Lifecycle } from './lifecycle.ts'
import { addressBucket, type RateLimits } from './rate-limit.ts'
import { addSchemaCompilers } from './schema-compilers.ts'

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

export type HttpOptions = {
  log: Log
  metrics: Metrics
  lifecycle: Lifecycle
  public_url: string
  limits: RateLimits
  trust_proxy: readonly string[]
  /** How long a request may take to arrive in full. */
  request_timeout_ms?: number
}

/** For everything but chat and audio, which raise it for themselves. */
export const BODY_LIMIT_BYTES = 1_500_000
/** Forms are what people fill in and what OAuth libraries send: never long. */
const FORM_LIMIT_BYTES = 16_384
const HEADER_LIMIT_BYTES = 16_384
const PATH_PART_LENGTH_MAX = 512
const REQUEST_TIMEOUT_MS = 30_000
const HEADERS_TIMEOUT_MS = 10_000
/** How often slow requests are looked for; Node's default lets them live twice as long. */
const TIMEOUT_CHECK_INTERVAL_MS = 2_000
const KEEP_ALIVE_TIMEOUT_MS = 72_000

/** For JSON and streams; pages set a policy of their own. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
}

export function createHttpServer(options: HttpOptions): App {
  const app = Fastify({
    // Lines are written by us, through `options.log`; Fastify would make a logger for each request.
    logger: false,
    genReqId: requestIds(),
    bodyLimit: BODY_LIMIT_BYTES,
    routerOptions: { maxParamLength: PATH_PART_LENGTH_MAX },
    requestTimeout: options.request_timeout_ms ?? REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: {
      maxHeaderSize: HEADER_LIMIT_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      // Node's own answer would be an empty 400; ours is below.
      requireHostHeader: false,
    },
    // Requests that arrive on open connections while closing are served: a 503 would be a failed request.
    return503OnClosing: false,
    trustProxy: options.trust_proxy.length > 0 ? [...options.trust_proxy] : false,
    clientErrorHandler: (error, socket) => answerClientError(error, socket, options),
    // An address that cannot be decoded never reaches the hooks.
    frameworkErrors: (error, request, reply) => {
      request.policy = UNROUTED
      reply.headers(sharedHeaders(options.public_url)).header('x-request-id', request.id)
      void createErrorHandler(options)(error, request, reply)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
  // An expectation that nobody knows is none: Node would answer it alone, past everything here.
  app.server.on('checkExpectation', (request, response) =>
    app.server.emit('request', request, response),
  )
  app.setErrorHandler(createErrorHandler(options))
  app.setNotFoundHandler((request) => {
    throw unknownAddress(request)
  })
  addParsers(app)
  addSchemaCompilers(app)
  addRequestHooks(app, options)
  return app
}

/** What clients of OpenAI may look for, and the way out. */
const MISSED_ADDRESSES: readonly (readonly [RegExp, string])[] = [
  [
    /^\/v1\/responses\/./,
    'No response is kept here: read it when it comes, and send the whole conversation in `input` of POST /v1/responses.',
  ],
  [
    /^\/v1\/completions$/,
    'Use POST /v1/chat/completions or POST /v1/responses: no model here has the old format.',
  ],
]

export function unknownAddress(request: FastifyRequest): ApiError {
  const path = pathOf(request)
  const [, hint] = MISSED_ADDRESSES.find(([pattern]) => pattern.test(path)) ?? []
  return new ApiError('not_found', {
    message: `There is no ${request.method} ${path}.`,
    ...(hint !== undefined && { hint }),
  })
}

/** A random part for each process and a count: unique, and cheaper than random bytes for each request. */
function requestIds(): () => string {
  const prefix = `req_${randomBytes(10).toString('hex')}`
  let count = 0
  return () => prefix + (++count).toString(16).padStart(12, '0')
}

function addRequestHooks(app: App, options: HttpOptions): void {
  const headers = sharedHeaders(options.public_url)
  app.decorateRequest('policy')
  app.addHook('onRequest', (request, reply, done) => {
    request.policy = policyOf(request.routeOptions.config)
    reply.headers(headers)
    reply.header('x-request-id', request.id)
    if (options.lifecycle.phase === 'draining') reply.header('connection', 'close')
    done(headerFault(request))
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { method, id, principal } = request
    const route = request.policy.url ?? 'none'
    const status = reply.statusCode
    const duration_ms = reply.elapsedTime
    options.metrics.http_requests.observe({ method, route, status }, duration_ms / 1000)
    logRequest(options.log, {
      request_id: id,
      method,
      route,
      status,
      duration_ms,
      ip: request.ip,
      principal,
    })
    done()
  })
}

function sharedHeaders(public_url: string): Record<string, string> {
  if (!public_url.startsWith('https:')) return SECURITY_HEADERS
  return {
    ...SECURITY_HEADERS,
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
  }
}

function addParsers(app: App): void {
  app.removeAllContentTypeParsers()
  const parseJson = app.getDefaultJsonParser('error', 'error')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    // Many clients send the header on a bodiless POST or DELETE; a route that needs a body says so itself.
    if (request.policy.raw_body) done(null, body)
    else if (body === '') done(null, undefined)
    else void parseJson(request, body.toString(), withDepthChecked(body.toString(), done))
  })
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: FORM_LIMIT_BYTES },
    (request, body, done) => {
      if (!request.policy.accepts_form) {
        done(Object.assign(new Error('no form here'), { statusCode: 415 }))
      } else {
        done(null, parseForm(body.toString()))
      }
    },
  )
  app.addContentTypeParser('multipart/form-data', (request, _payload, done) => {
    if (request.policy.accepts_upload) done(null, undefined)
    else done(Object.assign(new Error('no upload here'), { statusCode: 415 }))
  })
}

type Parsed = (error: Error | null, value?: unknown) => void

function withDepthChecked(text: string, done: Parsed): Parsed {
  return (error, value) => {
    if (error || isShallowJson(text, value)) done(error, value)
    else done(tooDeep())
  }
}

/** A field that comes twice becomes a list, as in a query: a reader that asks for text then refuses it. */
function parseForm(text: string): Record<string, string | string[]> {
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const before = fields.get(name)
    if (before === undefined) fields.set(name, value)
    else if (Array.isArray(before)) before.push(value)
    else fields.set(name, [before, value])
  }
  return Object.fromEntries(fields)
}

/** Answers known addresses asked with another method: 405 and what is allowed. Call after the last route. */
export function addMethodNotAllowed(
  app: App,
  routes: readonly { method: string; url: string; policy: RoutePolicy }[],
): void {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const
  for (const url of new Set(routes.map((route) => route.url))) {
    const there = routes.filter((route) => route.url === url)
    const allowed = there.map((route) => route.method)
    // What only operators may know of is not given away by its methods either.
    const is_hidden = there.every((route) => route.policy.access === 'operator')
    const missing = methods.filter((method) => !allowed.includes(method))
    app.route({
      method: [...missing],
      url,
      schema: { hide: true },
      config: { access: is_hidden ? 'operator' : 'public', method_fallback: true },
      preParsing: (request, _reply, _payload, done) => {
        if (!request.policy.method_fallback) return done()
        done(
          new ApiError('bad_request', {
            status: 405,
            message: `${pathOf(request)} does not take ${request.method}.`,
            hint: `It takes ${allowed.join(', ')}.`,
            headers: { allow: allowed.join(', ') },
          }),
        )
      },
      handler: () => undefined,
    })
  }
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?')[0]?.slice(0, 200) ?? ''
}

function answerClientError(
  error: Error & { code?: string },
  socket: Socket,
  options: HttpOptions,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : timedOut(error) ? 408 : 400
  const request_id = `req_${randomBytes(16).toString('hex')}`
  const body = renderConnectionError(status, { public_url: options.public_url, request_id })
  const slot = options.limits.peek('global', addressBucket(socket.remoteAddress ?? ''))
  const headers = [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${request_id}`,
    `X-RateLimit-Limit: ${slot.limit}`,
    `X-RateLimit-Remaining: ${slot.remaining}`,
    `X-RateLimit-Reset: ${slot.reset_at_s}`,
    'Connection: close',
  ]
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers.join('\r\n')}\r\n\r\n${body}`)
}

function timedOut(error: Error & { code?: string }): boolean {
  return error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
}
