// What the links in our mails open. The page of a link changes nothing: programs that scan mail follow links. What
// proves something is its form, or JSON from a program.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Html, html } from '../http/html.ts'
import { renderNotice, sendFormPage, wantsPage } from '../http/page.ts'
import { Success } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { isCrossSite, setDeviceCookie } from '../http/session-cookie.ts'
import { ApiError } from '../platform/errors.ts'
import { describeProof, type ProofParts, resetPassword, verifyEmail } from './mail-proofs.ts'
import { renderResetForm, renderVerifyForm } from './pages.ts'
import { describePasswordRule } from './password-policy.ts'
import { clientOf } from './sessions.ts'

/** Long ones are refused by the rule, which knows their size in bytes. */
export const Password = Type.String({
  maxLength: 1_200_000,
  description: 'At least 8 characters.',
  examples: ['correct horse battery'],
})

export const Token = Type.String({ minLength: 1, maxLength: 200, description: 'From the mail.' })

export type ProofRouteParts = ProofParts & { public_url: string; secure_cookies: boolean }

export function proofPageRoutes(app: App, parts: ProofRouteParts): void {
  verifyRoutes(app, parts)
  resetRoutes(app, parts)
}

function verifyRoutes(app: App, parts: ProofRouteParts): void {
  app.get(
    '/auth/verify',
    {
      config: { access: 'public' },
      schema: { hide: true, querystring: Type.Object({ token: Token }) },
    },
    async (request, reply) => await showVerify(parts, { request, reply }, request.query.token),
  )
  app.post(
    '/auth/verify',
    {
      config: {
        access: 'public',
        rate_limit: 'recovery',
        accepts_form: true,
        errors: ['invalid_request', 'invalid_credentials', 'rate_limited'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'verify',
        summary: 'Confirm an email address',
        description:
          'With the token of the mail, which works once, for 24 hours, and the password of the account. A session of the account takes the place of the password. The link in the mail opens a page with a form that asks for the same. A wrong password uses up an attempt, and not the link.',
        body: Type.Object({ token: Token, password: Type.Optional(Password) }),
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      const { token, password } = request.body
      const account_id = ownSessionOf(parts, request)
      await answer(request, reply, {
        work: () => verifyEmail(parts, { token, password, account_id, client: clientOf(request) }),
        done: {
          title: 'Address confirmed',
          text: 'Thank you. You can close this page.',
          details: html`<p><a href="/console/">To the console</a></p>`,
        },
        showAgain: (error) => showVerify(parts, { request, reply }, token, error),
      })
    },
  )
}

function resetRoutes(app: App, parts: ProofRouteParts): void {
  app.get(
    '/auth/reset-password',
    {
      config: { access: 'public' },
      schema: { hide: true, querystring: Type.Object({ token: Token }) },
    },
    async (request, reply) => await showReset(parts, reply, request.query.token),
  )
  app.post(
    '/auth/reset-password',
    {
      config: {
        access: 'public',
        rate_limit: 'recovery',
        accepts_form: true,
        errors: ['invalid_request', 'weak_password'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'reset_password',
        summary: 'Set a new password',
        description:
          'With the token of the mail, which works once, for one hour. Every session ends, and so do API keys and what apps may spend, unless `keep_connections` is true. Apps of your own stay. If the address was never confirmed, everything ends that was made before, whatever is asked for, and the address is confirmed.',
        body: Type.Object({
          token: Token,
          new_password: Password,
          keep_connections: Type.Optional(
            Type.Union([Type.Boolean(), Type.Literal('true')], {
              description: 'Keep API keys and connected apps. `"true"` is what a form sends.',
              examples: [false],
            }),
          ),
        }),
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      const { token, new_password, keep_connections } = request.body
      await answer(request, reply, {
        work: async () => {
          const { device_token } = await resetPassword(parts, {
            token,
            new_password,
            keep_connections: keep_connections === true || keep_connections === 'true',
            client: clientOf(request),
          })
          setDeviceCookie(reply, { token: device_token, secure: parts.secure_cookies })
        },
        done: {
          title: 'Password changed',
          text: 'You are signed out everywhere.',
          details: html`<p><a href="/oauth/login">Sign in with your new password</a></p>`,
        },
        showAgain: (error) => showReset(parts, reply, token, error),
      })
    },
  )
}

type Exchange = { request: FastifyRequest; reply: FastifyReply }

async function showVerify(
  parts: ProofRouteParts,
  { request, reply }: Exchange,
  token: string,
  error?: ApiError,
): Promise<FastifyReply> {
  const proof = await describeProof(parts, { token, purpose: 'verify_email' })
  if (!proof) return sendDeadLink(reply)
  const page = renderVerifyForm({
    token,
    email: proof.email,
    asks_password: ownSessionOf(parts, request) !== proof.account_id,
    fault: error?.message,
  })
  return sendFormPage(reply, page, { status: error?.status ?? 200 })
}

async function showReset(
  parts: ProofRouteParts,
  reply: FastifyReply,
  token: string,
  error?: ApiError,
): Promise<FastifyReply> {
  const proof = await describeProof(parts, { token, purpose: 'reset_password' })
  const page = renderResetForm({
    token,
    rule: describePasswordRule(parts),
    may_keep: proof?.is_verified === true,
    ...(error && { fault: `${error.message} ${error.hint ?? ''}` }),
  })
  return sendFormPage(reply, page, { status: error?.status ?? 200 })
}

export function sendDeadLink(reply: FastifyReply): FastifyReply {
  const page = renderNotice({
    title: 'This did not work',
    text: 'The link was used before or is too old.',
    details: html`<p><a href="/oauth/login">Sign in</a></p>`,
  })
  return sendFormPage(reply, page, { status: 400 })
}

/** Whose session it comes with. One of the cookie counts only if no other site has sent the form. */
function ownSessionOf({ public_url }: ProofRouteParts, request: FastifyRequest) {
  const { principal } = request
  if (principal?.kind !== 'session') return undefined
  const is_forged = principal.by_cookie && isCrossSite(request, new URL(public_url).origin)
  return is_forged ? undefined : principal.account_id
}

type Answer = {
  work: () => Promise<unknown>
  done: { title: string; text: string; details?: Html }
  /** For what can be put right in the form. */
  showAgain: (error: ApiError) => Promise<FastifyReply>
}

const PUT_RIGHT_IN_THE_FORM: readonly string[] = ['weak_password', 'invalid_credentials']

/** A page for people, JSON for programs. */
export async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { work, done, showAgain }: Answer,
): Promise<void> {
  if (!wantsPage(request)) {
    await work()
    reply.send({ success: true })
    return
  }
  try {
    await work()
    sendFormPage(reply, renderNotice(done))
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    if (PUT_RIGHT_IN_THE_FORM.includes(error.code)) await showAgain(error)
    else sendFault(reply, error)
  }
}

/** The hint names an endpoint, which means nothing to somebody who opened a mail. */
export function sendFault(reply: FastifyReply, error: ApiError): FastifyReply {
  const page = renderNotice({
    title: 'This did not work',
    text: error.message,
    details: html`<p><a href="/oauth/login">Sign in, or ask for a new link</a></p>`,
  })
  return sendFormPage(reply, page, { status: error.status })
}
