// Reads what a caller presents: a bearer token, an API key header, or the session cookie.

import type { FastifyRequest } from 'fastify'
import { readSessionCookie } from '../http/session-cookie.ts'

export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'key'; readonly secret: string; readonly user_token?: string }
  | { readonly kind: 'token'; readonly secret: string }
  | { readonly kind: 'session'; readonly secret: string; readonly by_cookie: boolean }
  /** Something was sent that is none of ours. */
  | { readonly kind: 'unknown' }
  /** Two that contradict each other. */
  | { readonly kind: 'two' }

const NONE: Credential = { kind: 'none' }
const UNKNOWN: Credential = { kind: 'unknown' }
const TWO: Credential = { kind: 'two' }

/** Headers win over the cookie: a program that sends a token means that token. */
export function readCredential(request: FastifyRequest): Credential {
  const { authorization } = request.headers
  const key = request.headers['x-api-key']
  if (authorization !== undefined) {
    const bearer = readBearer(authorization)
    return typeof key === 'string' ? readBoth(authorization, bearer, key) : bearer
  }
  if (key !== undefined) return typeof key === 'string' ? readKeyHeader(key) : UNKNOWN
  const cookie = readSessionCookie(request)
  return cookie === undefined ? NONE : { kind: 'session', secret: cookie, by_cookie: true }
}

/** A developer's key and a user's token together: the developer acts for that user. No other two go together. */
function readBoth(authorization: string, bearer: Credential, key: string): Credential {
  const secret = readBearerSecret(authorization)
  // Some other scheme, such as a proxy's Basic, was never taken for a credential of ours.
  if (secret === undefined || secret === key) return bearer
  if (bearer.kind !== 'token' || readKeyHeader(key).kind !== 'key') return TWO
  return { kind: 'key', secret: key, user_token: bearer.secret }
}

function readBearerSecret(authorization: string): string | undefined {
  if (authorization.slice(0, 7).toLowerCase() !== 'bearer ') return undefined
  return authorization.slice(7).trim()
}

function readBearer(authorization: string): Credential {
  const secret = readBearerSecret(authorization)
  if (secret === undefined) return UNKNOWN
  if (secret.startsWith('sk-svc-')) return { kind: 'key', secret }
  if (secret.startsWith('svc_token_')) return { kind: 'token', secret }
  if (secret.startsWith('sess_')) return { kind: 'session', secret, by_cookie: false }
  return UNKNOWN
}

/** Anthropic's clients know no other header for what pays. */
function readKeyHeader(secret: string): Credential {
  return secret.startsWith('svc_token_') ? { kind: 'token', secret } : { kind: 'key', secret }
}
