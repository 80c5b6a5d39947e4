// How a page of ours is sent: the headers that let it load its own style and nothing else.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Html, html, renderPage } from './html.ts'

const POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'"
const FORMS_STAY = "; form-action 'self'"
/** Of a page that may ask for a passkey: the one script that we serve, /assets/passkey.js. */
const OWN_SCRIPT = "; script-src 'self'"

/** Whether a person asks. Programs that take anything get JSON. */
export function wantsPage(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/html') ?? false
}

export function sendPage(reply: FastifyReply, body: string, status = 200): FastifyReply {
  return asPage(reply).code(status).send(body)
}

export function asPage(reply: FastifyReply): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', POLICY + FORMS_STAY)
    .header('x-frame-options', 'DENY')
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
}

/**
 * A page whose form is sent with a cookie. Under `no-referrer` browsers send `Origin: null` with the page's own
 * form, so it is `same-origin` here. No opener policy: it would cut off the window that opened a sign-in popup.
 * `returns_elsewhere` is for consent: browsers hold `form-action` against the whole chain of redirects after
 * a form, and would block the way back to the app.
 */
export function sendFormPage(
  reply: FastifyReply,
  body: string,
  options: { status?: number; returns_elsewhere?: boolean; asks_for_passkey?: boolean } = {},
): FastifyReply {
  const forms = options.returns_elsewhere === true ? '' : FORMS_STAY
  const script = options.asks_for_passkey === true ? OWN_SCRIPT : ''
  return reply
    .code(options.status ?? 200)
    .type('text/html; charset=utf-8')
    .header('content-security-policy', POLICY + forms + script)
    .header('x-frame-options', 'DENY')
    .header('referrer-policy', 'same-origin')
    .send(body)
}

/** A page that only says something. */
export function renderNotice(notice: {
  title: string
  text: string
  hint?: string | undefined
  details?: Html
}): string {
  return renderPage({
    title: notice.title,
    layout: 'narrow',
    home: '/docs',
    body: html`<div class="page-head"><h1>${notice.title}</h1>
<p>${notice.text}</p>
${notice.hint !== undefined && html`<p>${notice.hint}</p>`}</div>
${notice.details}`,
  })
}
