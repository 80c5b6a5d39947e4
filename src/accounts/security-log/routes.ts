// /account/events: the security log of an account; /auth/not-me: what its mails lead to.

import { Type } from 'typebox'
import { sessionOf } from '../../http/access.ts'
import { html, renderPage } from '../../http/html.ts'
import { renderNotice, sendPage, wantsPage } from '../../http/page.ts'
import { Id, Nullable, Page, PageQuery, Timestamp } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import { ApiError } from '../../platform/errors.ts'
import { clientOf } from '../client.ts'
import { endEverything, type NotMeParts } from './not-me.ts'
import { listOwnEvents, type OwnEvent } from './security-log.ts'

const EventDescription = Type.Object({
  id: Id,
  kind: Type.String({ examples: ['sign_in'] }),
  says: Type.String({ description: 'The kind as a sentence.', examples: ['Signed in'] }),
  at: Timestamp,
  ip: Nullable(Type.String({ examples: ['203.0.113.7'] })),
  device: Nullable(
    Type.String({
      description: 'Null where nobody of yours was at it.',
      examples: ['Chrome on Windows'],
    }),
  ),
  session_id: Nullable(Type.String({ description: 'The session it was done with.' })),
  current: Type.Boolean({ description: 'Done with the session that asks.' }),
  details: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Ids and names of what it was about.',
    examples: [{ sessions: 2 }],
  }),
})

const Token = Type.String({ minLength: 1, maxLength: 200, description: 'From the mail.' })

export function securityLogRoutes(app: App, parts: NotMeParts): void {
  app.get(
    '/account/events',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: ['Accounts'],
        operationId: 'list_security_events',
        summary: 'Read the security log',
        description:
          'What happened to the safety of the account, newest first: sign-ins, keys, apps, caps, password, payout account. Kept for 400 days.',
        querystring: PageQuery,
        response: { 200: Page(EventDescription) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listOwnEvents(parts, sessionOf(request), { cursor, limit })
      return { ...page, data: page.data.map(presentEvent) }
    },
  )
  notMeRoutes(app, parts)
}

function notMeRoutes(app: App, parts: NotMeParts): void {
  app.get(
    '/auth/not-me',
    {
      config: { access: 'public', page: true },
      schema: { hide: true, querystring: Type.Object({ token: Token }) },
    },
    (request, reply) => sendPage(reply, renderNotMe(request.query.token)),
  )
  app.post(
    '/auth/not-me',
    {
      config: {
        access: 'public',
        rate_limit: 'recovery',
        accepts_form: true,
        errors: ['invalid_request'],
      },
      schema: {
        tags: ['Accounts'],
        operationId: 'not_me',
        summary: 'Say that it was not you',
        description:
          'With the token of a mail about an event, which works once, for 7 days. Ends every session, API key and consent of the account, its password, and second factors that were added since the event, and sends a mail to set a new password. An address that the account has had only since is mailed nothing, and the password and second factors stay.',
        body: Type.Object({ token: Token }),
        response: {
          200: Type.Object({ success: Type.Literal(true), mail_sent: Type.Boolean() }),
        },
      },
    },
    async (request, reply) => {
      const given = { token: request.body.token, client: clientOf(request) }
      if (!wantsPage(request)) {
        return { success: true as const, ...(await endEverything(parts, given)) }
      }
      try {
        const { mail_sent } = await endEverything(parts, given)
        return sendPage(reply, renderEnded(mail_sent))
      } catch (error) {
        if (!(error instanceof ApiError) || error.status >= 500) throw error
        const notice = { title: 'This did not work', text: error.message }
        return sendPage(reply, renderNotice(notice), error.status)
      }
    },
  )
}

function renderNotMe(token: string): string {
  return renderPage({
    title: 'This was not me',
    layout: 'narrow',
    home: '/docs',
    body: html`<div class="page-head"><h1>This was not me</h1>
<p class="lead">Everybody is then signed out of your account, its password and all its API keys stop working, apps are
disconnected, second factors that were added since then are removed, and you get a mail to set a new password.</p></div>
<form method="post" action="/auth/not-me">
<input type="hidden" name="token" value="${token}">
<button class="button danger" type="submit">End all access</button>
</form>`,
  })
}

function renderEnded(mail_sent: boolean): string {
  return renderNotice({
    title: 'Your account is closed to others',
    text: 'All sessions and API keys have ended, and apps are disconnected.',
    hint: mail_sent
      ? 'A mail with a link to set a new password is on its way. The link works for one hour.'
      : 'The address of the account has changed since this mail was sent: write to the operator of this service.',
    details: html`<p><a href="/oauth/login">Sign in</a></p>`,
  })
}

function presentEvent(event: OwnEvent) {
  const { id, kind, says, at, ip, device, session_id, current, details } = event
  return { id, kind, says, at: at.toISOString(), ip, device, session_id, current, details }
}
