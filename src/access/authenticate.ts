// The one hook that decides who calls and whether they may: it reads the credential, counts the request, and
// holds the caller against what the route declared.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireNotSuspended } from '../accounts/suspension.ts'
import {
  type KeyPrincipal,
  type RoutePolicy,
  type SessionPrincipal,
  type TokenPrincipal,
  UNROUTED,
} from '../http/access.ts'
import type { Lifecycle } from '../http/lifecycle.ts'
import type { Lookups } from '../http/lookups.ts'
import type { RateLimits } from '../http/rate-limit.ts'
import type { App } from '../http/server.ts'
import { isCrossSite } from '../http/session-cookie.ts'
import type { LastUsed } from '../keys/last-used.ts'
import { requireWithin } from '../keys/restrictions.ts'
import { insufficientScope } from '../oauth/scopes.ts'
import { ApiError } from '../platform/errors.ts'
import { type Credential, readCredential } from './credentials.ts'
import { answerUnknown, isOperator } from './operator-door.ts'
import { requireOwnPage } from './page-origin.ts'
import {
  asRefusal,
  findPrincipal,
  findPrincipalInMemory,
  findUserToken,
  findUserTokenInMemory,
  type PrincipalParts,
  unexpired,
  userTokenOf,
} from './principal.ts'
import { applySlot, counterOf, countRequest, showAllowance } from './request-count.ts'

export type AccessParts = PrincipalParts & {
  limits: RateLimits
  lookups: Lookups
  lifecycle: Lifecycle
  last_used: LastUsed
  public_url: string
}

export function addAuthentication(app: App, parts: AccessParts): void {
  const public_origin = new URL(parts.public_url).origin
  app.decorateRequest('principal', null)
  app.decorateRequest('user_token', null)
  app.addHook('onRoute', (route) => {
    if (route.config?.access === 'operator') route.preValidation = answerUnknown
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { policy } = request
    if (!policy.while_starting) refuseWhileStarting(parts.lifecycle)
    if (policy.unlimited) {
      showAllowance(parts.limits, request, reply)
      done()
      return undefined
    }
    const arrival = { request, reply, policy, public_origin, credential: readCredential(request) }
    if (!admitFromMemory(parts, arrival)) return admit(parts, arrival)
    done()
    return undefined
  })
}

/** A request at the door. */
type Arrival = {
  request: FastifyRequest
  reply: FastifyReply
  policy: RoutePolicy
  credential: Credential
  public_origin: string
}

function refuseWhileStarting(lifecycle: Lifecycle): void {
  if (lifecycle.phase !== 'starting') return
  throw new ApiError('service_unavailable', {
    message: 'The service is starting.',
    headers: { 'retry-after': '1' },
  })
}

/**
 * The same steps as `admit` for a request whose answer is in memory, as it is for nearly all: without a promise. With
 * nothing but the functions that wait, here and in payer.ts, a JSON call took 3.8 % more CPU (bench/README.md). False,
 * with nothing counted, if something has to be waited for.
 */
function admitFromMemory(parts: AccessParts, arrival: Arrival): boolean {
  const { request, reply, policy, credential } = arrival
  const { limits } = parts
  // Routes with a limit of their own are rare and slow.
  if (limits.shared || policy.rate_limit !== undefined) return false
  const principal = findPrincipalInMemory(parts, credential)
  const user_token = findUserTokenInMemory(parts, credential)
  if (principal === undefined || user_token === undefined) return false
  request.principal = unexpired(parts, principal)
  if (policy.counts_itself) showAllowance(limits, request, reply)
  else {
    const { name, key, max } = counterOf(request)
    applySlot(limits, reply, name, limits.takeInMemory(name, key, max))
  }
  requireAccess(arrival)
  noteUse(parts, request)
  actForUser(parts, arrival, user_token)
  return true
}

async function admit(parts: AccessParts, arrival: Arrival): Promise<void> {
  const { request, policy, credential } = arrival
  const principal = await lookUp(parts, arrival).catch(asRefusal)
  request.principal = principal instanceof ApiError ? null : unexpired(parts, principal)
  // Counted before anything is refused, also where the credential leads to nobody any more.
  await countRequest(parts.limits, arrival)
  if (principal instanceof ApiError && !isOpen(policy)) throw principal
  requireAccess(arrival)
  noteUse(parts, request)
  if (request.principal?.kind === 'key') {
    actForUser(parts, arrival, await findUserToken(parts, credential))
  }
}

/** Made-up credentials of an address that has had its share of them cost no query. */
async function lookUp(parts: AccessParts, { request, credential }: Arrival) {
  if (!('secret' in credential)) return undefined
  const { ip } = request
  return await parts.lookups.find({ ip, secret: credential.secret }, () =>
    findPrincipal(parts, credential),
  )
}

function noteUse(parts: AccessParts, { principal }: FastifyRequest): void {
  const { last_used, last_seen, clock } = parts
  if (principal?.kind === 'key') last_used.touch(principal.key_id, clock.now())
  else if (principal?.kind === 'session') last_seen.touch(principal.session_id, clock.now())
}

/** A key that comes with a user's token acts for that user. */
function actForUser(
  parts: AccessParts,
  { request, credential }: Arrival,
  token: TokenPrincipal | null | undefined,
): void {
  const { principal: key } = request
  if (key?.kind !== 'key' || userTokenOf(credential) === undefined) return
  request.user_token = requireTokenOf(key, unexpired(parts, token))
}

/** A token that was issued to an app of somebody else is none that this key can act with. */
function requireTokenOf(key: KeyPrincipal, token: TokenPrincipal | null): TokenPrincipal {
  const fits =
    token?.developer_id === key.account_id &&
    (key.client_id === null || key.client_id === token.client_id)
  if (!token || !fits) throw invalidToken()
  requireNotSuspended(token)
  return token
}

function requireAccess(arrival: Arrival): void {
  const { policy, credential, request } = arrival
  const { principal } = request
  if (credential.kind === 'two') throw twoCredentials()
  requireOwnPage(arrival)
  if (principal && !isOpen(policy)) requireNotSuspended(principal)
  switch (policy.access) {
    case 'public':
      return
    case 'key':
      if (principal?.kind === 'key') return requireWithin(principal, request)
      throw new ApiError('invalid_api_key', { hint: 'Send an API key (sk-svc-…).' })
    case 'token':
      if (principal?.kind !== 'token') throw invalidToken()
      return requireScope(principal, policy)
    case 'caller':
      if (principal?.kind === 'key') return requireWithin(principal, request)
      if (principal?.kind === 'token') return requireScope(principal, policy)
      throw credential.kind === 'token' ? invalidToken() : noCaller()
    case 'anyone_known':
      if (principal?.kind === 'key') return requireWithin(principal, request)
      if (principal) return
      throw credential.kind === 'token' ? invalidToken() : noCaller()
    case 'session':
      return requireSession(arrival)
    case 'operator':
      if (isOperator(principal)) refuseCrossSite(arrival, principal)
      else request.policy = UNROUTED
  }
}

/** Answered whoever asks: an operator's address too, to most as one that does not exist. */
function isOpen({ access }: RoutePolicy): boolean {
  return access === 'public' || access === 'operator'
}

function requireScope(token: TokenPrincipal, { scope }: RoutePolicy): void {
  if (scope !== undefined && !token.scopes.includes(scope)) throw insufficientScope(scope)
}

function requireSession(arrival: Arrival): void {
  const { request, policy } = arrival
  const { principal } = request
  const takes_it = principal?.kind === 'session' && (principal.by_cookie || !policy.cookie_only)
  if (!takes_it) {
    throw new ApiError(policy.denied ?? 'invalid_api_key', {
      hint: policy.cookie_only
        ? 'Send the cookie svc_session that POST /auth/login sets, and no other credential.'
        : 'Send a session token (sess_…) from POST /auth/login as bearer.',
    })
  }
  refuseCrossSite(arrival, principal)
}

function refuseCrossSite(
  { request, public_origin }: Arrival,
  { by_cookie }: SessionPrincipal,
): void {
  if (by_cookie && !isRead(request) && isCrossSite(request, public_origin)) {
    throw new ApiError('forbidden', {
      message: 'This was asked for by a page of another site.',
    })
  }
}

function twoCredentials(): ApiError {
  return new ApiError('bad_request', {
    message: 'The bearer token and X-API-Key are two different credentials.',
    hint: 'Send one of them. Only an API key in X-API-Key and a user’s svc_token_… as bearer go together.',
  })
}

function noCaller(): ApiError {
  return new ApiError('invalid_api_key', {
    hint: 'Send an API key (sk-svc-…) or an OAuth access token (svc_token_…).',
  })
}

function invalidToken(): ApiError {
  return new ApiError('invalid_token', {
    hint: 'Send a current access token (svc_token_…) as bearer; get a new one from /oauth/token.',
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
}

function isRead(request: FastifyRequest): boolean {
  return request.method === 'GET' || request.method === 'HEAD'
}
