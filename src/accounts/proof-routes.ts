// What the links in our mails open: pages for people, JSON for programs.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type Html, html } from '../http/html.ts'
import { renderNotice, sendPage, wantsPage } from '../http/page.ts'
import { Success } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { type ProofParts, resetPassword, verifyEmail } from './mail-proofs.ts'
import { renderResetForm } from './pages.ts'

/** Long ones are refused by the rule, which knows their size in bytes. */
export const Password = Type.String({
  maxLength: 1_200_000,
  description: 'At least 8 characters.',
  examples: ['correct horse battery'],
})

const Token = Type.String({ minLength: 1, maxLength: 200, description: 'From the mail.' })

export function proofPageRoutes(app: App, parts: ProofParts): void {
  app.get(
    '/auth/verify',
    {
      // Mail scanners look with HEAD; only a person's GET may use the link up.
      exposeHeadRoute: false,
      config: {
        access: 'public',
        rate_limit: 'recovery',
        errors: ['bad_request', 'invalid_request'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'verify',
        summary: 'Confirm an email address',
        description:
          'The link in the verification mail. Works once, for 24 hours. Browsers get a page.',
        querystring: Type.Object({ token: Token }),
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      const done = { title: 'Address confirmed', text: 'Thank you. You can close this page.' }
      await answer(request, reply, { work: () => verifyEmail(parts, request.query.token), done })
    },
  )
  app.get(
    '/auth/reset-password',
    {
      config: { access: 'public' },
      schema: { hide: true, querystring: Type.Object({ token: Token }) },
    },
    (request, reply) => sendPage(reply, renderResetForm({ token: request.query.token })),
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
          'With the token of the mail, which works once, for one hour. Every session ends.',
        body: Type.Object({
          token: Token,
          new_password: Password,
        }),
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      const done = {
        title: 'Password changed',
        text: 'You are signed out everywhere.',
        details: html`<p><a href="/oauth/login">Sign in with your new password</a></p>`,
      }
      const { token } = request.body
      await answer(request, reply, { work: () => resetPassword(parts, request.body), done, token })
    },
  )
}

type Answer = {
  work: () => Promise<void>
  done: { title: string; text: string; details?: Html }
  /** The form can be tried again with it. */
  token?: string
}

async function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  options: Answer,
): Promise<void> {
  if (!wantsPage(request)) {
    await options.work()
    reply.send({ success: true })
    return
  }
  try {
    await options.work()
    sendPage(reply, renderNotice(options.done))
  } catch (error) {
    if (!(error instanceof ApiError) || error.status >= 500) throw error
    sendPage(reply, renderFault(error, options), error.status)
  }
}

function renderFault(error: ApiError, options: Answer): string {
  if (error.code === 'weak_password' && options.token !== undefined) {
    return renderResetForm({ token: options.token, fault: `${error.message} ${error.hint ?? ''}` })
  }
  // The hint names an endpoint, which means nothing to somebody who opened a mail.
  return renderNotice({
    title: 'This did not work',
    text: error.message,
    ...(options.token !== undefined && {
      details: html`<p><a href="/oauth/login">Ask for a new link</a></p>`,
    }),
  })
}
