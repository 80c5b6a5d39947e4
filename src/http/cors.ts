// What a page of another site may read. Pages may call the gateway and the token endpoint, with no cookie ever; that each call comes
// from a page of its own app is decided where the credential is known (access/page-origin.ts), because a preflight names none.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'
import { addressBucket, type RateLimits, setLimitHeaders } from './rate-limit.ts'
import type { App } from './server.ts'

/** Routes whose replies are the same for everybody. */
const FOR_EVERYBODY: readonly unknown[] = ['/.well-known/oauth-authorization-server', '/sdk/:name']
const FOR_APPS: readonly string[] = ['/oauth/token', '/oauth/revoke', '/oauth/userinfo']
const ORIGIN_LENGTH_MAX = 300
/** https, or anything on the user's own machine. */
const WEB_ORIGIN =
  /^(?:https:\/\/(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])|http:\/\/(?:(?:[a-z0-9-]+\.)*localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/
/** Made up by the shell around a page: capacitor://localhost, tauri://localhost. Pages of the web cannot have one. */
const SHELL_ORIGIN = /^(?!https?:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+$/
const METHODS = 'GET, POST, PUT, PATCH, DELETE'
/** Reflected instead of listed: OpenAI's client alone adds seven of its own, other ones with each version. */
const HEADER_NAME = /^[a-z0-9-]{1,64}$/
const HEADERS_MAX = 40
const MAX_AGE_S = '7200'
const EXPOSED = [
  'X-Request-Id',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  // A device whose clock is wrong learns the time from it, without which it can make no proof (oauth/dpop.ts).
  'Date',
  'WWW-Authenticate',
  'X-Svc-Generation-Id',
  'X-Svc-Billing-Mode',
  'X-Svc-Credits-Used',
  'X-Svc-Balance-Before',
  'X-Svc-Balance-After',
  'X-Svc-Upstream-Model',
  'X-Svc-Ignored-Fields',
].join(', ')

/** Register before authentication: a refusal has to be readable too. */
export function addCors(app: App, { limits }: { limits: RateLimits }): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { origin } = request.headers
    if (isForEverybody(request)) allow(reply, '*')
    else if (origin !== undefined && isOpenToPages(request)) {
      reply.header('vary', 'Origin')
      const is_allowed = isPageOrigin(origin)
      if (is_allowed) allow(reply, origin)
      if (isPreflight(request)) return answerPreflight(limits, { request, reply, is_allowed })
    }
    done()
    return undefined
  })
}

/** Whether pages of other sites may call this address at all. */
export function isOpenToPages(request: FastifyRequest): boolean {
  const path = pathOf(request)
  return path.startsWith('/v1/') || FOR_APPS.includes(path)
}

function isForEverybody(request: FastifyRequest): boolean {
  const { url } = request.policy
  if (FOR_EVERYBODY.includes(url)) return true
  const { authorization, 'x-api-key': key } = request.headers
  const is_known = authorization !== undefined || key !== undefined
  return url === '/v1/models' && !is_known && request.method !== 'OPTIONS'
}

/** The template where there is a route: the same address can be spelled in many ways. */
function pathOf({ policy, url }: FastifyRequest): string {
  return policy.url ?? url.split('?', 1)[0] ?? ''
}

function isPageOrigin(origin: string): boolean {
  if (origin.length > ORIGIN_LENGTH_MAX) return false
  return WEB_ORIGIN.test(origin) || SHELL_ORIGIN.test(origin)
}

function allow(reply: FastifyReply, origin: string): void {
  reply.header('access-control-allow-origin', origin)
  reply.header('access-control-expose-headers', EXPOSED)
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
}

type Preflight = { request: FastifyRequest; reply: FastifyReply; is_allowed: boolean }

async function answerPreflight(
  limits: RateLimits,
  { request, reply, is_allowed }: Preflight,
): Promise<FastifyReply> {
  const slot = await limits.take('global', addressBucket(request.ip))
  setLimitHeaders(reply, slot)
  if (!slot.allowed) throw limits.refusal('global', slot)
  if (!is_allowed) {
    throw new ApiError('forbidden', {
      message: 'Pages of this origin cannot call the API.',
      hint: 'Serve the page over https, or from localhost.',
    })
  }
  const asked = request.headers['access-control-request-headers'] ?? ''
  return reply
    .code(204)
    .header('access-control-allow-methods', METHODS)
    .header('access-control-allow-headers', reflectHeaders(asked))
    .header('access-control-max-age', MAX_AGE_S)
    .send()
}

function reflectHeaders(asked: string): string {
  const names = asked.split(',', HEADERS_MAX).map((name) => name.trim().toLowerCase())
  return names.filter((name) => HEADER_NAME.test(name)).join(', ')
}
