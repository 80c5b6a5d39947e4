// /oauth/login and /oauth/register: the pages for people who are not signed in. They carry the authorize query, or
// the console's page as `return_to`, along; there is nowhere else they could be made to lead.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AccountParts, type LoggedIn, login, register } from '../accounts/accounts.ts'
import { type ProofParts, requestReset } from '../accounts/mail-proofs.ts'
import { describePasswordRule } from '../accounts/password-policy.ts'
import {
  clientOf,
  closeSession,
  closeSessionOfToken,
  SESSION_LIFETIME_S,
} from '../accounts/sessions.ts'
import { html } from '../http/html.ts'
import { renderNotice, sendFormPage } from '../http/page.ts'
import type { LimitName } from '../http/rate-limit.ts'
import { readReturnPath } from '../http/return-path.ts'
import type { App } from '../http/server.ts'
import { readSessionCookie, setDeviceCookie, setSessionCookie } from '../http/session-cookie.ts'
import { ApiError } from '../platform/errors.ts'
import { findAppOfClient } from './apps.ts'
import {
  type PageParts,
  proveVisit,
  requireViewerForm,
  requireVisit,
  setChallengeCookie,
  viewerOf,
} from './page-session.ts'
import { type CredentialsForm, renderCredentials } from './pages.ts'

export type SignInParts = PageParts & AccountParts & ProofParts

const ENTRANCES = { login, register }

type Kind = keyof typeof ENTRANCES

export function signInRoutes(app: App, parts: SignInParts): void {
  const shown = { config: { access: 'public', page: true }, schema: { hide: true } } as const
  app.get('/oauth/login', shown, (request, reply) => showForm(parts, 'login', { request, reply }))
  app.get('/oauth/register', shown, (request, reply) =>
    showForm(parts, 'register', { request, reply }),
  )
  app.post('/oauth/login', formRoute('login'), (request, reply) =>
    enter(parts, 'login', { request, reply }),
  )
  app.post('/oauth/register', formRoute('register'), (request, reply) =>
    enter(parts, 'register', { request, reply }),
  )
  forgotPasswordRoute(app, parts)
  logoutRoute(app, parts)
}

/** Counted together with what /auth/login and /auth/register count. */
function formRoute(rate_limit: LimitName) {
  const spares_devices = rate_limit === 'login'
  return {
    config: { access: 'public', page: true, accepts_form: true, rate_limit, spares_devices },
    schema: { hide: true },
  } as const
}

/** The address of the sign-in page that comes back to what was asked. A wish to sign in anew is then fulfilled. */
export function loginAddress(request: FastifyRequest): string {
  const query = carriedQuery(request)
  return query === '' ? '/oauth/login' : `/oauth/login?${query}`
}

/** Of the page that asks again who it is, and comes back to what was asked. */
export function stepUpAddress(request: FastifyRequest): string {
  return `/oauth/step-up?${carriedQuery(request)}`
}

type Exchange = { request: FastifyRequest; reply: FastifyReply }

async function showForm(
  parts: SignInParts,
  kind: Kind,
  { request, reply }: Exchange,
  refused?: { email: string; error: ApiError },
): Promise<FastifyReply> {
  const query = carriedQuery(request)
  const client_id = new URLSearchParams(query).get('client_id')
  const app = client_id === null ? undefined : await findAppOfClient(parts.db, client_id)
  const page = renderCredentials({
    kind,
    query,
    csrf: proveVisit(parts, request, reply),
    app_name: app?.name,
    password_rule: describePasswordRule(parts),
    ...(refused && { email: refused.email, fault: describeRefusal(refused.error) }),
  })
  return sendFormPage(reply, page, { status: refused?.error.status ?? 200 })
}

async function enter(parts: SignInParts, kind: Kind, exchange: Exchange): Promise<FastifyReply> {
  const { request, reply } = exchange
  const { csrf, email, password } = readFields(request.body)
  requireVisit(parts, request, csrf)
  try {
    const is_for_app = new URLSearchParams(carriedQuery(request)).has('client_id')
    const opened = await ENTRANCES[kind](parts, {
      email,
      password,
      client: clientOf(request),
      came_from: is_for_app ? 'consent' : 'registration',
    })
    return await openSessionOnPage(parts, exchange, opened)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'second_factor_required') return askSecondStep(parts, exchange, error)
    if (!isAboutTheForm(error)) throw error
    return await showForm(parts, kind, { request, reply }, { email, error })
  }
}

/** The second step is a page of its own, so that it can be loaded again without the password. */
function askSecondStep(
  parts: SignInParts,
  { request, reply }: Exchange,
  { fields }: ApiError,
): FastifyReply {
  const challenge_id = fields?.['challenge_id']
  setChallengeCookie(parts, reply, typeof challenge_id === 'string' ? challenge_id : '')
  const query = carriedQuery(request)
  return reply.redirect(`/oauth/second-factor${query === '' ? '' : `?${query}`}`, 303)
}

export async function openSessionOnPage(
  parts: SignInParts,
  { request, reply }: Exchange,
  opened: LoggedIn,
): Promise<FastifyReply> {
  // A cookie planted before must not stay good.
  const planted = readSessionCookie(request)
  if (planted !== undefined) await closeSessionOfToken(parts, planted)
  setSessionCookie(reply, {
    token: opened.session_token,
    max_age_s: SESSION_LIFETIME_S,
    secure: parts.secure_cookies,
  })
  setDeviceCookie(reply, { token: opened.device_token, secure: parts.secure_cookies })
  return reply.redirect(wayOn(carriedQuery(request)), 303)
}

/** After signing in: back to the console's page, to the app that asked, or to the connections. */
export function wayOn(query: string): string {
  const return_path = readReturnPath(new URLSearchParams(query).get('return_to'))
  if (return_path !== undefined) return return_path
  return query === '' ? '/oauth/connections' : `/oauth/authorize?${query}`
}

function forgotPasswordRoute(app: App, parts: SignInParts): void {
  app.post('/oauth/forgot-password', formRoute('recovery'), async (request, reply) => {
    const { csrf, email } = readFields(request.body)
    requireVisit(parts, request, csrf)
    await requestReset(parts, email)
    const page = renderNotice({
      title: 'Check your mail',
      text: 'If there is an account with this address, a mail with a link is on its way.',
      hint: 'The link works for one hour. Nothing there? Look into the spam folder.',
      details: html`<p><a href="${loginAddress(request)}">Back to sign in</a></p>`,
    })
    return sendFormPage(reply, page)
  })
}

function logoutRoute(app: App, parts: SignInParts): void {
  app.post(
    '/oauth/logout',
    {
      config: { access: 'public', page: true, accepts_form: true },
      schema: { hide: true },
    },
    async (request, reply) => {
      const viewer = viewerOf(request)
      if (viewer && request.principal?.kind === 'session') {
        const { csrf } = readFields(request.body)
        requireViewerForm(parts, request, { csrf, viewer, subject: 'connections' })
        await closeSession(parts, request.principal.session_id)
        setSessionCookie(reply, { token: '', max_age_s: 0, secure: parts.secure_cookies })
      }
      return reply.redirect('/oauth/login', 303)
    },
  )
}

/** The query of the page, without the wish that signing in has fulfilled. */
export function carriedQuery(request: FastifyRequest): string {
  const start = request.url.indexOf('?')
  const query = new URLSearchParams(start < 0 ? '' : request.url.slice(start + 1))
  query.delete('prompt')
  return query.toString()
}

/** What came twice, or as something else than text, is as good as not filled in. */
export function readFields(body: unknown): Record<'csrf' | 'email' | 'password', string> {
  const fields = new Map(Object.entries(body ?? {}))
  const read = (name: string): string => {
    const value: unknown = fields.get(name)
    return typeof value === 'string' ? value : ''
  }
  return { csrf: read('csrf'), email: read('email'), password: read('password') }
}

function isAboutTheForm(error: ApiError): boolean {
  return ['invalid_credentials', 'invalid_email', 'weak_password', 'email_exists'].includes(
    error.code,
  )
}

/** The table's hints name endpoints, which mean nothing to somebody in front of a form. */
function describeRefusal({ code, message }: ApiError): NonNullable<CredentialsForm['fault']> {
  if (code === 'email_exists') {
    return { field: 'email', text: 'There is an account with this address. Sign in instead.' }
  }
  if (code === 'invalid_email') {
    return { field: 'email', text: `${message} Enter one such as name@example.com.` }
  }
  return { field: 'password', text: message }
}
