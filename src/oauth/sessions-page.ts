// /oauth/sessions and /oauth/events: where the user is signed in, and what happened to their account, as pages.

import type { OwnEvent } from '../accounts/security-log/security-log.ts'
import type { OwnSession } from '../accounts/sessions.ts'
import { type Html, html, renderPage } from '../http/html.ts'

const TIME = new Intl.DateTimeFormat('en', {
  dateStyle: 'medium',
  timeStyle: 'short',
  timeZone: 'UTC',
})

export type SessionsPage = {
  email: string
  csrf: string
  sessions: readonly OwnSession[]
  /** Of the page after this one. */
  next_cursor: string | null
  /** What was done. */
  notice?: string | undefined
}

export function renderSessions(page: SessionsPage): string {
  return renderPage({
    title: 'Where you are signed in',
    layout: 'narrow',
    body: html`<h1>Where you are signed in</h1>
<dl class="between"><div><dt>Your account</dt><dd><strong>${page.email}</strong></dd></div></dl>
${page.notice !== undefined && html`<p class="notice" role="status">${page.notice}</p>`}
${page.sessions.map((session) => renderSession(session, page.csrf))}
${
  page.next_cursor !== null &&
  html`<p><a href="/oauth/sessions?cursor=${page.next_cursor}">More sessions</a></p>`
}
<form method="post" action="/oauth/sessions/end-others"><input type="hidden" name="csrf" value="${page.csrf}">
<button class="button quiet danger" type="submit">Sign out everywhere else</button></form>
<p><a href="/console/account/sessions">Your sessions in the console</a><br><a href="/oauth/events">What happened to your account</a><br><a href="/oauth/connections">Connected apps</a></p>`,
  })
}

function renderSession(session: OwnSession, csrf: string): Html {
  const { id, device, place, current } = session
  return html`<section class="card" aria-labelledby="session-${id}">
<div class="card-head"><h2 id="session-${id}"><bdi>${device}</bdi></h2>
<p class="field-hint">${current ? 'This browser, from' : 'From'} ${place}.<br>
Signed in ${TIME.format(session.created_at)} UTC.<br>
Last seen ${TIME.format(session.last_seen_at)} UTC.</p></div>
<form method="post" action="/oauth/sessions/end"><input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="session_id" value="${id}">
<button class="button quiet" type="submit" aria-label="Sign out ${device}, ${place}">Sign out</button></form>
</section>`
}

export type EventsPage = { events: readonly OwnEvent[]; next_cursor: string | null }

export function renderEvents({ events, next_cursor }: EventsPage): string {
  return renderPage({
    title: 'What happened to your account',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>What happened to your account</h1>
<p>Something that was not you? Sign out everywhere else, then set a new password.</p></div>
${events.map(renderEvent)}
${
  next_cursor !== null &&
  html`<p><a href="/oauth/events?cursor=${next_cursor}">Older events</a></p>`
}
<p><a href="/console/account/security-log">Your security log in the console</a><br><a href="/oauth/sessions">Where you are signed in</a></p>`,
  })
}

function renderEvent(event: OwnEvent): Html {
  const { id, says, at, ip, device, current } = event
  const from = [device, ip].filter((part) => part !== null).join(', ')
  const more = Object.entries(event.details)
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${String(value)}`)
    .join(', ')
  return html`<section class="card" aria-labelledby="event-${id}">
<div class="card-head"><h2 id="event-${id}">${says}</h2>
<p class="field-hint">${TIME.format(at)} UTC${from !== '' && html` · <bdi>${from}</bdi>`}${current && ' · this browser'}</p>
${more !== '' && html`<p class="field-hint"><bdi>${more}</bdi></p>`}</div>
</section>`
}
