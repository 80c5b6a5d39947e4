// DELETE /account and the way back.

import { Type } from 'typebox'
import { sessionOf } from '../../http/access.ts'
import { html } from '../../http/html.ts'
import { sendFormPage } from '../../http/page.ts'
import { Credits, Success, Timestamp } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import { setSessionCookie } from '../../http/session-cookie.ts'
import { renderKeepForm } from '../pages.ts'
import { answer, Password } from '../proof-routes.ts'
import { clientOf } from '../sessions.ts'
import { type Closing, type ClosingParts, closeAccount, keepAccount } from './closing.ts'

const TAGS = ['Accounts']

const ClosingReply = Type.Object({
  closes_at: Timestamp,
  balance_credits: Credits,
  earnings: Type.Object(
    {
      open_credits: Credits,
      in_flight_credits: Credits,
      not_payable_credits: Credits,
      has_payout_account: Type.Boolean(),
    },
    {
      description:
        'What is open is paid as it falls due, to the payout account, also after the deletion, in payouts of $10 at least; without such an account, or below that, it lapses. What is not payable lapses.',
    },
  ),
})

export function closingRoutes(app: App, parts: ClosingParts & { secure_cookies: boolean }): void {
  app.delete(
    '/account',
    {
      config: { access: 'session', errors: ['forbidden', 'user_not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'delete_account',
        summary: 'Delete the account',
        description:
          'At once every session, API key and consent ends, and the saved payment method is forgotten. Apps of your own serve their users until `closes_at`, 30 days ahead; then the account is deleted, and what is left of its balance is forfeited. Until then POST /account/restore calls it off. Needs a sign-in or step-up of the last 15 minutes.',
        response: { 200: ClosingReply },
      },
    },
    async (request, reply) => {
      const closing = await closeAccount(parts, sessionOf(request), clientOf(request))
      setSessionCookie(reply, { token: '', max_age_s: 0, secure: parts.secure_cookies })
      return presentClosing(closing)
    },
  )
  app.get(
    '/account/restore',
    { config: { access: 'public', page: true }, schema: { hide: true } },
    (_request, reply) => sendFormPage(reply, renderKeepForm({})),
  )
  app.post(
    '/account/restore',
    {
      config: {
        access: 'public',
        rate_limit: 'login',
        spares_devices: true,
        accepts_form: true,
        errors: ['invalid_credentials'],
      },
      schema: {
        tags: TAGS,
        operationId: 'restore_account',
        summary: 'Keep an account that is to be deleted',
        description: 'Opens no session: sign in afterwards. Keys and connections are made anew.',
        body: Type.Object({
          email: Type.String({ maxLength: 1000, examples: ['ada@example.com'] }),
          password: Password,
        }),
        response: { 200: Success },
      },
    },
    async (request, reply) => {
      const { email, password } = request.body
      await answer(request, reply, {
        work: () => keepAccount(parts, { email, password, client: clientOf(request) }),
        done: {
          title: 'Your account stays',
          text: 'Nothing will be deleted.',
          details: html`<p><a href="/oauth/login">Sign in</a></p>`,
        },
        showAgain: async (error) =>
          sendFormPage(reply, renderKeepForm({ email, fault: error.message }), {
            status: error.status,
          }),
      })
    },
  )
}

function presentClosing({ closes_at, balance, earnings }: Closing) {
  return { closes_at: closes_at.toISOString(), balance_credits: balance, earnings }
}
