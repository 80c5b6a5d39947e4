// The one hook that decides who calls and whether they may: it reads the credential, counts the request, and
// holds the caller against what the route declared.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { findActiveSession, type KnownSession } from '../accounts/sessions.ts'
import type { KeyPrincipal, Principal, RoutePolicy, TokenPrincipal } from '../http/access.ts'
import type { Lifecycle } from '../http/lifecycle.ts'
import {
  addressBucket,
  type LimitName,
  type RateLimits,
  type Slot,
  setLimitHeaders,
} from '../http/rate-limit.ts'
import type { App } from '../http/server.ts'
import { isCrossSite } from '../http/session-cookie.ts'
import { findActiveKey } from '../keys/keys.ts'
import type { LastUsed } from '../keys/last-used.ts'
import { insufficientScope } from '../oauth/scopes.ts'
import { findAccessToken } from '../oauth/tokens.ts'
import type { Clock } from '../platform/clock.ts'
import type { CredentialCache } from '../platform/credential-cache.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { andThen, type Eventual } from '../platform/eventual.ts'
import { type Credential, readCredential } from './credentials.ts'

export type AccessParts = {
  db: Db
  clock: Clock
  limits: RateLimits
  lifecycle: Lifecycle
  keys: CredentialCache<KeyPrincipal>
  sessions: CredentialCache<KnownSession>
  tokens: CredentialCache<TokenPrincipal>
  last_used: LastUsed
  public_url: string
}

export function addAuthentication(app: App, parts: AccessParts): void {
  const public_origin = new URL(parts.public_url).origin
  app.decorateRequest('principal', null)
  app.decorateRequest('user_token', null)
  app.addHook('onRequest', (request, reply, done) => {
    const admitted = admit(parts, request, { reply, public_origin })
    if (admitted instanceof Promise) return admitted
    done()
    return undefined
  })
}

/** Waits only for what is not in memory: mostly for nothing. */
function admit(
  parts: AccessParts,
  request: FastifyRequest,
  { reply, public_origin }: { reply: FastifyReply; public_origin: string },
): Eventual<void> {
  const { policy } = request
  if (policy.unlimited) {
    setLimitHeaders(reply, parts.limits.peek('global', addressBucket(request.ip)))
    return
  }
  if (parts.lifecycle.phase === 'starting') {
    throw new ApiError('service_unavailable', {
      message: 'The service is starting.',
      headers: { 'retry-after': '1' },
    })
  }
  const credential = readCredential(request)
  return andThen(findPrincipal(parts, credential), (principal) => {
    // Counted before anything is refused, also where the credential leads to nobody any more.
    request.principal = principal instanceof ApiError ? null : principal
    return andThen(countRequest(parts, request, { reply, policy }), () => {
      if (principal instanceof ApiError && policy.access !== 'public') throw principal
      requireAccess(request, { policy, credential, public_origin })
      return noteKey(parts, request, credential)
    })
  })
}

/** That a key was used, and for whom. */
function noteKey(
  parts: AccessParts,
  request: FastifyRequest,
  credential: Credential,
): Eventual<void> {
  const { principal: key } = request
  if (key?.kind !== 'key') return
  parts.last_used.touch(key.key_id, parts.clock.now())
  if (credential.kind !== 'key' || credential.user_token === undefined) return
  return andThen(findAccessToken(parts, credential.user_token), (token) => {
    request.user_token = requireTokenOf(key, unexpired(parts, token))
  })
}

/** An error in place of a principal: the token is good, but its user's account is gone. */
function findPrincipal(
  parts: AccessParts,
  credential: Credential,
): Eventual<Principal | ApiError | null> {
  switch (credential.kind) {
    case 'none':
    case 'unknown':
      return null
    case 'key':
      return andThen(findActiveKey(parts, credential.secret), (key) => unexpired(parts, key))
    case 'token': {
      const found = findAccessToken(parts, credential.secret)
      return found instanceof Promise
        ? found.then((token) => unexpired(parts, token), asMissingUser)
        : unexpired(parts, found)
    }
    case 'session':
      return andThen(findActiveSession(parts, credential.secret), (known) => {
        const session = unexpired(parts, known)
        return session && { ...session, by_cookie: credential.by_cookie }
      })
  }
}

function asMissingUser(error: unknown): ApiError {
  if (error instanceof ApiError && error.code === 'user_not_found') return error
  throw error
}

/** A token that was issued to an app of somebody else is none that this key can act with. */
function requireTokenOf(key: KeyPrincipal, token: TokenPrincipal | null): TokenPrincipal {
  const fits =
    token?.developer_id === key.account_id &&
    (key.client_id === null || key.client_id === token.client_id)
  if (!token || !fits) throw invalidToken()
  return token
}

function unexpired<Known extends { expires_at: Date | null }>(
  parts: AccessParts,
  known: Known | undefined,
): Known | null {
  if (!known) return null
  return known.expires_at && known.expires_at <= parts.clock.now() ? null : known
}

// A credential that is not valid counts for its address: a new invented key must not be a new allowance.
function countRequest(
  { limits }: AccessParts,
  request: FastifyRequest,
  { reply, policy }: { reply: FastifyReply; policy: RoutePolicy },
): Eventual<void> {
  if (policy.counts_itself) {
    setLimitHeaders(reply, limits.peek('global', addressBucket(request.ip)))
    return
  }
  const use = (name: LimitName) => (slot: Slot) => {
    setLimitHeaders(reply, slot)
    if (!slot.allowed) throw limits.refusal(name, slot)
  }
  const counted = andThen(takeGlobalSlot(limits, request), use('global'))
  const { rate_limit } = policy
  if (rate_limit === undefined) return counted
  return andThen(counted, () =>
    andThen(limits.take(rate_limit, addressBucket(request.ip)), use(rate_limit)),
  )
}

function takeGlobalSlot(limits: RateLimits, request: FastifyRequest): Eventual<Slot> {
  const { principal } = request
  switch (principal?.kind) {
    case undefined:
      return limits.take('global', addressBucket(request.ip))
    case 'key':
      return limits.take('global', principal.key_id, principal.rate_limit_per_minute ?? undefined)
    case 'session':
      return limits.take('global', principal.session_id)
    case 'token':
      // By grant: a refreshed token must not be a new allowance.
      return limits.take('global', principal.grant_id)
  }
}

type Asked = { policy: RoutePolicy; credential: Credential; public_origin: string }

function requireAccess(request: FastifyRequest, asked: Asked): void {
  const { principal } = request
  const { policy } = asked
  switch (policy.access) {
    case 'public':
      return
    case 'key':
      if (principal?.kind === 'key') return
      throw new ApiError('invalid_api_key', { hint: 'Send an API key (sk-svc-…).' })
    case 'token':
      if (principal?.kind !== 'token') throw invalidToken()
      return requireScope(principal, policy)
    case 'caller':
      if (principal?.kind === 'key') return
      if (principal?.kind === 'token') return requireScope(principal, policy)
      throw asked.credential.kind === 'token' ? invalidToken() : noCaller()
    case 'session':
      requireSession(request, asked)
  }
}

function requireScope(token: TokenPrincipal, { scope }: RoutePolicy): void {
  if (scope !== undefined && !token.scopes.includes(scope)) throw insufficientScope(scope)
}

function requireSession(request: FastifyRequest, { policy, public_origin }: Asked): void {
  const { principal } = request
  if (principal?.kind !== 'session') {
    throw new ApiError(policy.denied ?? 'invalid_api_key', {
      hint: 'Send a session token (sess_…) from POST /auth/login as bearer.',
    })
  }
  if (principal.by_cookie && !isRead(request) && isCrossSite(request, public_origin)) {
    throw new ApiError('forbidden', {
      message: 'This was asked for by a page of another site.',
    })
  }
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
