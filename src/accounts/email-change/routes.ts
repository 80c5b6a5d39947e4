// /account/email: a change of address, and the page that both mails lead to.

import { Type } from 'typebox'
import { sessionOf } from '../../http/access.ts'
import { renderNotice, sendFormPage, wantsPage } from '../../http/page.ts'
import { Success } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ProofParts } from '../mail-proofs.ts'
import { renderEmailChange } from '../pages.ts'
import { sendDeadLink, sendFault, Token } from '../proof-routes.ts'
import { clientOf } from '../sessions.ts'
import {
  askEmailChange,
  decideEmailChange,
  describeEmailChange,
  type EmailChangeState,
} from './email-change.ts'

const TAGS = ['Accounts']

const SAID: Record<EmailChangeState, { title: string; text: string }> = {
  changed: { title: 'Address changed', text: 'Sign in with the new address from now on.' },
  waiting: {
    title: 'Thank you',
    text: 'The address changes as soon as the other one agrees too. A mail is on its way there.',
  },
  stopped: {
    title: 'The address stays',
    text: 'If you did not ask for the change, set a new password: somebody is signed in to your account.',
  },
}

export function emailChangeRoutes(app: App, parts: ProofParts): void {
  app.post(
    '/account/email',
    {
      config: { access: 'session', errors: ['invalid_email', 'forbidden', 'rate_limited'] },
      schema: {
        tags: TAGS,
        operationId: 'change_email',
        summary: 'Ask for another email address',
        description:
          'Mails both addresses. The change takes effect when both have agreed, within 24 hours; a new request takes the place of the one before. The answer never says whether the new address has an account. Needs a sign-in or step-up of the last 15 minutes.',
        body: Type.Object({
          new_email: Type.String({ maxLength: 1000, examples: ['ada@new.example'] }),
        }),
        response: { 200: Success },
      },
    },
    async (request) => {
      const { new_email } = request.body
      await askEmailChange(parts, sessionOf(request), { new_email, client: clientOf(request) })
      return { success: true as const }
    },
  )
  app.get(
    '/account/email/confirm',
    {
      config: { access: 'public', page: true },
      schema: { hide: true, querystring: Type.Object({ token: Token }) },
    },
    async (request, reply) => {
      const { token } = request.query
      const change = await describeEmailChange(parts, token)
      if (!change) return sendDeadLink(reply)
      return sendFormPage(reply, renderEmailChange({ token, ...change }))
    },
  )
  app.post(
    '/account/email/confirm',
    {
      config: {
        access: 'public',
        rate_limit: 'recovery',
        accepts_form: true,
        errors: ['invalid_request', 'email_exists'],
      },
      schema: {
        tags: TAGS,
        operationId: 'confirm_email_change',
        summary: 'Agree to a change of address, or stop it',
        description:
          'With the token of the mail to the old or to the new address. `state` says whether the other one still has to agree.',
        body: Type.Object({
          token: Token,
          decision: Type.Enum(['confirm', 'stop'], { default: 'confirm' }),
        }),
        response: {
          200: Type.Object({
            success: Type.Literal(true),
            state: Type.Enum(['changed', 'waiting', 'stopped']),
          }),
        },
      },
    },
    async (request, reply) => {
      const given = { ...request.body, client: clientOf(request) }
      if (!wantsPage(request)) {
        return { success: true as const, state: await decideEmailChange(parts, given) }
      }
      try {
        const state = await decideEmailChange(parts, given)
        return sendFormPage(reply, renderNotice(SAID[state]))
      } catch (error) {
        if (!(error instanceof ApiError) || error.status >= 500) throw error
        return sendFault(reply, error)
      }
    },
  )
}
