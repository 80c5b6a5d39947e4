// The one hook that decides who calls and whether they may: it reads the credential, counts the request, and
// holds the caller against what the route declared.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { findActiveSession, type KnownSession } from '../accounts/sessions.ts'
import type { KeyPrincipal, Principal, RoutePolicy, TokenPrincipal } from '../http/access.ts'
import type { Lifecycle } from '../http/lifecycle.ts'
import { addressBucket, type RateLimits, type Slot, setLimitHeaders } from '../http/rate-limit.ts'
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
  app.addHook('onRequest', async (request, reply) => {
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
    const principal = await findPrincipal(parts, credential).catch(asMissingUser)
    // Counted before anything is refused, also where the credential leads to nobody any more.
    request.principal = principal instanceof ApiError ? null : principal
    await countRequest(parts, request, { reply, policy })
    if (principal instanceof ApiError && policy.access !== 'public') throw principal
    requireAccess(request, { policy, credential, public_origin })
    if (principal instanceof ApiError || principal?.kind !== 'key') return
    parts.last_used.touch(principal.key_id, parts.clock.now())
    if (credential.kind === 'key' && credential.user_token !== undefined) {
      request.user_token = await requireUserToken(parts, principal, credential.user_token)
    }
  })
}

async function findPrincipal(
  parts: AccessParts,
  credential: Credential,
): Promise<Principal | null> {
  switch (credential.kind) {
    case 'none':
    case 'unknown':
      return null
    case 'key':
      return unexpired(parts, await findActiveKey(parts, credential.secret))
    case 'token':
      return unexpired(parts, await findAccessToken(parts, credential.secret))
    case 'session': {
      const session = unexpired(parts, await findActiveSession(parts, credential.secret))
      return session && { ...session, by_cookie: credential.by_cookie }
    }
  }
}

/** The token is good, but its user's account is gone. */
function asMissingUser(error: unknown): ApiError {
  if (error instanceof ApiError && error.code === 'user_not_found') return error
  throw error
}

/** A token that was issued to an app of somebody else is none that this key can act with. */
async function requireUserToken(
  parts: AccessParts,
  key: KeyPrincipal,
  secret: string,
): Promise<TokenPrincipal> {
  const token = unexpired(parts, await findAccessToken(parts, secret))
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
async function countRequest(
  parts: AccessParts,
  request: FastifyRequest,
  route: { reply: FastifyReply; policy: RoutePolicy },
): Promise<void> {
  if (route.policy.counts_itself) {
    setLimitHeaders(route.reply, parts.limits.peek('global', addressBucket(request.ip)))
    return
  }
  const slot = await takeGlobalSlot(parts.limits, request)
  setLimitHeaders(route.reply, slot)
  if (!slot.allowed) throw parts.limits.refusal('global', slot)
  const { rate_limit } = route.policy
  if (rate_limit === undefined) return
  const own = await parts.limits.take(rate_limit, addressBucket(request.ip))
  setLimitHeaders(route.reply, own)
  if (!own.allowed) throw parts.limits.refusal(rate_limit, own)
}

function takeGlobalSlot(limits: RateLimits, request: FastifyRequest): Slot | Promise<Slot> {
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
