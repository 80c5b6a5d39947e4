// Who looks at a page of ours, and whether a form came from a page that we showed to that browser.

import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { requireNotSuspended } from '../accounts/suspension.ts'
import { isCrossSite, readCookie, readSessionCookie } from '../http/session-cookie.ts'
import type { Clock } from '../platform/clock.ts'
import { ApiError } from '../platform/errors.ts'
import type { AuthorizationRequest } from './authorize.ts'
import { isProven, proveForm } from './consent.ts'

/** Before anybody is signed in, a cookie of its own takes the place of the session in the proof. */
const VISITOR_COOKIE = 'svc_pre'
const VISITOR_PATTERN = /^[A-Za-z0-9_-]{43}$/
const VISITOR_MAX_AGE_S = 3600

/** The second step of a sign-in that is under way. */
const CHALLENGE_COOKIE = 'svc_challenge'
const CHALLENGE_MAX_AGE_S = 300

export type PageParts = { clock: Clock; public_url: string; secure_cookies: boolean }

export type Viewer = {
  account_id: string
  /** The session cookie: what proofs are made with. */
  session_token: string
}

/** The session of the cookie. A bearer token is a program's, and programs have no use for pages. */
export function viewerOf(request: FastifyRequest): Viewer | undefined {
  const { principal } = request
  const session_token = readSessionCookie(request)
  if (principal?.kind !== 'session' || !principal.by_cookie || session_token === undefined) {
    return undefined
  }
  requireNotSuspended(principal)
  return { account_id: principal.account_id, session_token }
}

/** The proof for a form that is shown to somebody who is not signed in. */
export function proveVisit(parts: PageParts, request: FastifyRequest, reply: FastifyReply): string {
  const visitor = readVisitor(request) ?? randomBytes(32).toString('base64url')
  const secure = parts.secure_cookies ? '; Secure' : ''
  reply.header(
    'set-cookie',
    `${VISITOR_COOKIE}=${visitor}; Path=/oauth; Max-Age=${VISITOR_MAX_AGE_S}; HttpOnly; SameSite=Lax${secure}`,
  )
  return proveForm(visitor, 'visit', parts.clock.now())
}

export function requireVisit(parts: PageParts, request: FastifyRequest, csrf: unknown): void {
  requireProof(parts, request, { csrf, secret: readVisitor(request), subject: 'visit' })
}

/** An empty id takes it away. */
export function setChallengeCookie(parts: PageParts, reply: FastifyReply, id: string): void {
  const secure = parts.secure_cookies ? '; Secure' : ''
  const max_age_s = id === '' ? 0 : CHALLENGE_MAX_AGE_S
  reply.header(
    'set-cookie',
    `${CHALLENGE_COOKIE}=${id}; Path=/oauth; Max-Age=${max_age_s}; HttpOnly; SameSite=Lax${secure}`,
  )
}

export function readChallengeCookie(request: FastifyRequest): string | undefined {
  return readCookie(request, CHALLENGE_COOKIE)
}

export function requireViewerForm(
  parts: PageParts,
  request: FastifyRequest,
  form: { csrf: unknown; viewer: Viewer; subject: string | AuthorizationRequest },
): void {
  const { csrf, viewer, subject } = form
  requireProof(parts, request, { csrf, secret: viewer.session_token, subject })
}

type Form = { csrf: unknown; secret: string | undefined; subject: string | AuthorizationRequest }

function requireProof(
  parts: PageParts,
  request: FastifyRequest,
  { csrf, secret, subject }: Form,
): void {
  const elsewhere = isCrossSite(request, new URL(parts.public_url).origin)
  const now = parts.clock.now()
  if (!elsewhere && secret !== undefined && isProven(csrf, secret, { subject, now })) return
  throw new ApiError('forbidden', {
    message: 'This form is too old, or was not sent from our page.',
    hint: 'Go back, load the page again and send it within ten minutes. Your browser must allow cookies.',
  })
}

function readVisitor(request: FastifyRequest): string | undefined {
  const visitor = readCookie(request, VISITOR_COOKIE)
  return visitor !== undefined && VISITOR_PATTERN.test(visitor) ? visitor : undefined
}
