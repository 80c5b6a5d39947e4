// What a route declares about its callers, and what its handler gets to know about them. The one hook that
// enforces it is access/authenticate.ts; a route that declares nothing fails at start.

import type { FastifyRequest } from 'fastify'
import type { ErrorCode } from '../platform/errors.ts'
import { ApiError } from '../platform/errors.ts'
import type { LimitName } from './rate-limit.ts'
import type { Content, Header, Parameter } from './reference/document.ts'

export const ACCESS_KINDS = [
  /** Anyone. */
  'public',
  /** A session token as bearer or, from our own pages, the session cookie. */
  'session',
  /** An API key. */
  'key',
  /** An OAuth access token. */
  'token',
  /** Either of the two: whoever makes calls that cost. */
  'caller',
  /** The session of an operator. To everybody else the address does not exist. */
  'operator',
  /** Any credential there is; the handler says what each may see. Only for reading. */
  'anyone_known',
] as const
export type Access = (typeof ACCESS_KINDS)[number]

/** Error bodies differ by who reads them. */
export type Dialect = 'openai' | 'anthropic' | 'oauth'

export type RoutePolicy = {
  access: Access
  /** A limit of its own, counted by address, on top of the global one. */
  rate_limit?: LimitName
  /** Callers with the cookie of an earlier sign-in are not counted by it: the handler counts those that lie. */
  spares_devices?: boolean
  /** Answered whatever the limits say: probes of the operator's own machines, and signed events of Stripe. */
  unlimited?: boolean
  /** Answers also while the service starts. */
  while_starting?: boolean
  /** Of a session: takes the cookie only, no bearer. */
  cookie_only?: boolean
  /** The code for a missing or wrong session; the specification has two. */
  denied?: 'invalid_api_key' | 'unauthorized'
  /** The code for input that is not as the schema says; the specification has two. */
  invalid?: 'bad_request' | 'invalid_request'
  /** Takes application/x-www-form-urlencoded, for forms that work without script. */
  accepts_form?: boolean
  /** Takes multipart/form-data, which the handler reads itself from the connection. */
  accepts_upload?: boolean
  /** The handler gets the body as the text that came: a signature is over these bytes. */
  raw_body?: boolean
  /** What an access token must have been granted. */
  scope?: 'credits.read' | 'credits.spend'
  /** Counts its requests itself, once it knows whose they are. */
  counts_itself?: boolean
  /** For people: who asks for HTML gets errors as a page. */
  page?: boolean
  dialect?: Dialect
  /** Only says which methods its address takes. */
  method_fallback?: boolean
  /** Error codes beyond those that access and limits imply; for the documentation. */
  errors?: readonly ErrorCode[]
  /** What the handler reads and writes by itself, past the schemas; for the documentation. */
  documents?: Documents
}

export type Documents = {
  readonly parameters?: readonly Parameter[]
  /** The request's body, by content type. */
  readonly body?: Content
  /** What 200 may come with, by content type. */
  readonly reply?: Content
  readonly reply_headers?: Readonly<Record<string, Header>>
}

/** With the route's template, which is undefined for an address that is no route. */
export type RequestPolicy = RoutePolicy & { readonly url?: string }

/** Addresses that are no route: anyone may ask, all are counted. */
export const UNROUTED: RequestPolicy = { access: 'public' }

export function policyOf(config: Partial<RequestPolicy>): RequestPolicy {
  return isDeclared(config) ? config : UNROUTED
}

function isDeclared(config: Partial<RequestPolicy>): config is RequestPolicy {
  return config.access !== undefined
}

export type SessionPrincipal = {
  readonly kind: 'session'
  readonly account_id: string
  readonly session_id: string
  readonly expires_at: Date
  /** When its owner last showed who they are: accounts/step-up.ts. */
  readonly proved_at: Date
  /** As the database had it; accounts/last-seen.ts knows of later uses. */
  readonly last_seen_at: Date
  readonly suspended_reason: string | null
  readonly has_second_factor: boolean
  readonly is_operator: boolean
  /** The cookie names the session, so the reply of a write must not be one another site asked for. */
  readonly by_cookie: boolean
}

/** Null: no bound. */
export type KeyRestrictions = {
  /** Templates of routes. */
  readonly endpoints: ReadonlySet<string> | null
  readonly addresses: { contains(ip: string): boolean } | null
}

export type KeyPrincipal = {
  readonly kind: 'key'
  readonly account_id: string
  readonly key_id: string
  readonly name: string
  readonly prefix: string
  readonly billing_mode: 'developer' | 'user'
  readonly client_id: string | null
  readonly created_at: Date
  /** When the secret that was presented stops working: of two that overlap, the older ends first. */
  readonly expires_at: Date | null
  readonly rate_limit_per_minute: number | null
  readonly spend_limit_credits: bigint | null
  readonly spend_limit_period: 'day' | 'month' | 'total' | null
  readonly restrictions: KeyRestrictions | null
  /** Why an operator has suspended its account or app, if so. */
  readonly suspended_reason: string | null
}

/** An end user, through an app that they let spend their credits. */
export type TokenPrincipal = {
  readonly kind: 'token'
  readonly account_id: string
  readonly grant_id: string
  readonly connection_id: string
  readonly client_id: string
  readonly developer_id: string
  /** What is granted and still allowed to the app. */
  readonly scopes: readonly string[]
  readonly markup_bps: number
  readonly cap_credits: bigint | null
  readonly cap_period: 'day' | 'month'
  readonly expires_at: Date
  /** Of the app's pages: no other page may call with the token. */
  readonly origins: readonly string[]
  /** Why an operator has suspended the user, the developer or the app, if so. */
  readonly suspended_reason: string | null
}

export type Principal = SessionPrincipal | KeyPrincipal | TokenPrincipal

declare module 'fastify' {
  interface FastifyContextConfig extends Partial<RoutePolicy> {}
  interface FastifyRequest {
    principal: Principal | null
    /** The access token that came beside an API key: the user whom the key's developer acts for. */
    user_token: TokenPrincipal | null
    /** What its route declared; read once, because Fastify makes `routeOptions` anew at each look. */
    policy: RequestPolicy
  }
}

/** The caller of a route that declared `access: 'session'` or `'operator'`. */
export function sessionOf(request: FastifyRequest): SessionPrincipal {
  if (request.principal?.kind === 'session') return request.principal
  throw new ApiError('internal_error', {
    detail: 'handler asked for a session its route does not need',
  })
}

/** The caller of a route that declared `access: 'token'`. */
export function tokenOf(request: FastifyRequest): TokenPrincipal {
  if (request.principal?.kind === 'token') return request.principal
  throw new ApiError('internal_error', {
    detail: 'handler asked for a token its route does not need',
  })
}

/** The caller of a route that declared `access: 'caller'`. */
export function callerOf(request: FastifyRequest): KeyPrincipal | TokenPrincipal {
  const { principal } = request
  if (principal?.kind === 'key' || principal?.kind === 'token') return principal
  throw new ApiError('internal_error', {
    detail: 'handler asked for a caller its route does not need',
  })
}

/** The key that makes a call; null where a user's own token or session does. */
export function callingKeyOf({ principal }: FastifyRequest): KeyPrincipal | null {
  return principal?.kind === 'key' ? principal : null
}

/** The caller of a route that declared `access: 'anyone_known'`. */
export function principalOf(request: FastifyRequest): Principal {
  if (request.principal) return request.principal
  throw new ApiError('internal_error', {
    detail: 'handler asked for a principal its route does not need',
  })
}

/** The caller of a route that declared `access: 'key'`. */
export function keyOf(request: FastifyRequest): KeyPrincipal {
  if (request.principal?.kind === 'key') return request.principal
  throw new ApiError('internal_error', {
    detail: 'handler asked for a key its route does not need',
  })
}
