// Who pays: the one place that decides which wallet a call is charged to.

import { isUtf8 } from 'node:buffer'
import type { FastifyRequest } from 'fastify'
import { requireNotSuspended } from '../accounts/suspension.ts'
import {
  callerOf,
  type KeyPrincipal,
  type SessionPrincipal,
  type TokenPrincipal,
} from '../http/access.ts'
import { capOf } from '../oauth/connections.ts'
import { EXTERNAL_USER_ID_RULE, isExternalUserId } from '../oauth/external-user-id.ts'
import {
  findLinkInMemory,
  type LinkedUser,
  type LinkParts,
  type LinkWanted,
  requireLinkedUser,
} from '../oauth/links.ts'
import { insufficientScope } from '../oauth/scopes.ts'
import { ApiError } from '../platform/errors.ts'
import type { SpendLimit } from '../wallet/spend-limits.ts'

export type Payer = {
  /** The wallet that is charged. */
  account_id: string
  billing_mode: 'developer' | 'user'
  /** Whose key or app it is; earns the markup of a user-billed call. */
  developer_id: string
  /** The app a user-billed call came through. */
  client_id: string | null
  external_user_id: string | null
  /** The developer's markup in hundredths of a percent; 0 where payer and developer are one. */
  markup_bps: number
  /** What the user lets the app spend, if the user said so. */
  cap: SpendLimit | null
}

export type PayerParts = LinkParts

/** How a call names its end user. */
type NamedUser = { external_user_id: string; by: 'X-Svc-User' | 'X-External-User-ID' | 'path' }

/** Undefined if the payer is a linked user who is not in memory; `resolvePayer` then finds the link. */
export function resolvePayerInMemory(
  parts: Omit<PayerParts, 'db'>,
  request: FastifyRequest,
): Payer | undefined {
  const { payer, link } = namePayer(request)
  if (payer) return payer
  const linked = findLinkInMemory(parts, link)
  return linked && linkedUserPays(request, linked)
}

export async function resolvePayer(parts: PayerParts, request: FastifyRequest): Promise<Payer> {
  const { payer, link } = namePayer(request)
  return payer ?? linkedUserPays(request, await requireLinkedUser(parts, link))
}

/** What credential and headers say: the payer, or by which link to find one. */
type NamedPayer = { payer: Payer; link?: undefined } | { payer?: undefined; link: LinkWanted }

function namePayer(request: FastifyRequest): NamedPayer {
  if (request.principal?.kind === 'session') {
    return { payer: ownerPays(request, request.principal) }
  }
  const caller = callerOf(request)
  const user = readNamedUser(request)
  const { user_token } = request
  if (user && (caller.kind === 'token' || user_token)) throw twoUsers()
  if (caller.kind === 'token') return { payer: userPays(caller) }
  if (user_token) return { payer: tokenPays(request, caller, user_token) }
  return nameKeyPayer(caller, user)
}

/** A user's token beside a developer's key. */
function tokenPays(request: FastifyRequest, key: KeyPrincipal, token: TokenPrincipal): Payer {
  if (key.billing_mode !== 'user') {
    throw new ApiError('bad_request', {
      message: 'This key bills the developer, but the request carries a user’s token.',
      hint: 'Send the token alone, or with a key made with billing_mode "user".',
    })
  }
  requireScopeOfRoute(request, token.scopes)
  return userPays(token)
}

function nameKeyPayer(key: KeyPrincipal, user: NamedUser | undefined): NamedPayer {
  if (key.billing_mode === 'developer') {
    if (!user) return { payer: developerPays(key) }
    if (user.by !== 'X-Svc-User') {
      throw new ApiError('bad_request', {
        message: 'This key bills the developer, but the request names a user to bill.',
        hint: 'Send X-Svc-User, or use a key made with billing_mode "user".',
      })
    }
  } else if (!user) {
    throw new ApiError('bad_request', {
      message: 'This key bills the end user, but the request does not say which.',
      hint: 'Send X-Svc-User or X-External-User-ID with the external user id, call /v1/users/<external_user_id>/…, or send the key as X-API-Key and the user’s access token as bearer.',
    })
  }
  const { account_id: developer_id, client_id } = key
  return { link: { developer_id, client_id, external_user_id: user.external_user_id } }
}

function linkedUserPays(request: FastifyRequest, linked: LinkedUser): Payer {
  requireNotSuspended(linked)
  requireScopeOfRoute(request, linked.scopes)
  return userPays(linked)
}

/** In the playground. Only routes of a session let one in, so no other route can be paid like this. */
function ownerPays(request: FastifyRequest, { account_id }: SessionPrincipal): Payer {
  if (readNamedUser(request)) {
    throw new ApiError('bad_request', {
      message: 'A call with a session is paid by the session’s own account, but it names a user.',
      hint: 'Leave out X-Svc-User and X-External-User-ID, or make the call with an API key.',
    })
  }
  return developerPays({ account_id, client_id: null })
}

function developerPays(key: Pick<KeyPrincipal, 'account_id' | 'client_id'>): Payer {
  return {
    account_id: key.account_id,
    billing_mode: 'developer',
    developer_id: key.account_id,
    client_id: key.client_id,
    external_user_id: null,
    markup_bps: 0,
    cap: null,
  }
}

type User = Omit<TokenPrincipal, 'kind' | 'expires_at' | 'origins' | 'suspended_reason'> & {
  external_user_id?: string
}

function userPays(user: User): Payer {
  const { account_id, developer_id, client_id, external_user_id = null } = user
  return {
    account_id,
    billing_mode: 'user',
    developer_id,
    client_id,
    external_user_id,
    // Nobody earns from themselves.
    markup_bps: account_id === developer_id ? 0 : user.markup_bps,
    cap: capOf(user),
  }
}

/** A token alone was held against the route's scope when it came in; a grant that a key leads to is here. */
function requireScopeOfRoute(request: FastifyRequest, scopes: readonly string[]): void {
  const { scope } = request.policy
  if (scope !== undefined && !scopes.includes(scope)) throw insufficientScope(scope)
}

function readNamedUser(request: FastifyRequest): NamedUser | undefined {
  const named: NamedUser[] = []
  const add = (by: NamedUser['by'], value: unknown) => {
    if (value !== undefined) named.push({ by, external_user_id: requireUserId(by, value) })
  }
  add('X-Svc-User', fromHeader(request.headers['x-svc-user']))
  add('X-External-User-ID', fromHeader(request.headers['x-external-user-id']))
  add('path', pathUser(request.params))
  const [first] = named
  if (named.some((other) => other.external_user_id !== first?.external_user_id)) {
    throw new ApiError('bad_request', { message: 'The request names two different users.' })
  }
  // A name that only a user key may use decides, wherever else the same name stands.
  return named.find((one) => one.by !== 'X-Svc-User') ?? first
}

function twoUsers(): ApiError {
  return new ApiError('bad_request', {
    message: 'The request carries a user’s token and names a user as well.',
    hint: 'An access token already says who pays: leave out X-Svc-User, X-External-User-ID and /v1/users/….',
  })
}

/** Header bytes arrive as Latin-1; names outside ASCII are sent as UTF-8, as in an address. */
function fromHeader(value: string | string[] | undefined): unknown {
  if (typeof value !== 'string') return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

function pathUser(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'external_user_id' in params
    ? params.external_user_id
    : undefined
}

function requireUserId(by: string, value: unknown): string {
  if (isExternalUserId(value)) return value
  throw new ApiError('bad_request', {
    message: `${by} must be one external user id of ${EXTERNAL_USER_ID_RULE}.`,
    param: by === 'path' ? 'external_user_id' : by,
  })
}
