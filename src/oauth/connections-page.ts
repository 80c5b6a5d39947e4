// /oauth/connections: the user's connected apps, as a page.

import { type Html, html, renderPage } from '../http/html.ts'
import { formatDollars } from '../platform/money.ts'
import { isPublic } from './client-types.ts'
import type { Connection } from './connections.ts'
import { describeMarkup } from './pages.ts'

export type ConnectionsPage = {
  email: string
  balance: bigint
  csrf: string
  connections: readonly Connection[]
  /** Of the page after this one. */
  next_cursor: string | null
  /** What was done. */
  notice?: string | undefined
  /** A new cap that was none. */
  fault?: CapFault | undefined
}

export type CapFault = { client_id: string; usd: string; text: string }

const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })

export function renderConnections(page: ConnectionsPage): string {
  return renderPage({
    title: 'Connected apps',
    layout: 'narrow',
    body: html`<h1>Connected apps</h1>
<dl class="between">
<div><dt>Your account</dt><dd><strong>${page.email}</strong></dd></div>
<div><dt>Balance</dt><dd><strong>${formatDollars(page.balance)}</strong></dd></div>
</dl>
${page.notice !== undefined && html`<p class="notice" role="status">${page.notice}</p>`}
${page.fault && html`<p class="notice danger" role="alert">The cap was not changed.</p>`}
${
  page.connections.length === 0 &&
  html`<p>No app is connected. When an app offers “Sign in and pay with your own credits”, you see here
what it spends, and can end it.</p>`
}
${page.connections.map((connection) => renderConnection(connection, page))}
${
  page.next_cursor !== null &&
  html`<p><a href="/oauth/connections?cursor=${page.next_cursor}">More apps</a></p>`
}
<p class="pages"><a href="/console/wallet">Your balance and apps in the console</a> <a href="/oauth/security">Second factor</a> <a href="/oauth/sessions">Where you are signed in</a> <a href="/oauth/events">What happened to your account</a></p>
<form class="leave" method="post" action="/oauth/logout"><input type="hidden" name="csrf" value="${page.csrf}">
<button class="button quiet" type="submit">Sign out</button></form>`,
  })
}

function renderConnection(connection: Connection, page: ConnectionsPage): Html {
  const { name, client_id, cap_credits: cap } = connection
  const hidden = html`<input type="hidden" name="csrf" value="${page.csrf}">
<input type="hidden" name="client_id" value="${client_id}">`
  const spends = connection.scopes.includes('credits.spend')
  return html`<section class="card" aria-labelledby="app-${client_id}">
<div class="card-head"><h2 id="app-${client_id}"><bdi>${name}</bdi></h2>
<p class="field-hint">${describeOrigin(connection)}</p></div>
${
  spends
    ? html`<dl class="sums">
<div><dt>Spent ${connection.cap_period === 'day' ? 'today' : 'this month'}</dt><dd>${formatDollars(connection.spent_credits)}</dd></div>
<div><dt>Cap each ${connection.cap_period}</dt><dd>${cap === null ? 'none' : formatDollars(cap)}</dd></div></dl>
<p>${describeMarkup(connection.markup_bps)}</p>
${renderCapForm(connection, { hidden, fault: page.fault })}`
    : html`<p>It may see your email address and your balance, and spends nothing.</p>`
}
<form method="post" action="/oauth/connections/disconnect">${hidden}
<button class="button quiet danger" type="submit" aria-label="Disconnect ${name}">Disconnect</button></form>
</section>`
}

function renderCapForm(
  connection: Connection,
  options: { hidden: Html; fault: CapFault | undefined },
): Html {
  const { name, client_id, cap_credits: cap, cap_period } = connection
  const fault = options.fault?.client_id === client_id ? options.fault : undefined
  const usd = fault?.usd ?? (cap === null ? '' : formatDollars(cap).replaceAll(/[$,]/g, ''))
  const id = (part: string) => `${part}-${client_id}`
  return html`<form method="post" action="/oauth/connections/cap">${options.hidden}
<input type="hidden" name="cap_period" value="${cap_period}">
<div class="field"><label for="${id('cap')}">Cap each ${cap_period}, in dollars</label>
<div class="amount"><span aria-hidden="true">$</span>
<input id="${id('cap')}" name="cap_usd" inputmode="decimal" maxlength="12" autocomplete="off"
  value="${usd}"${isPublic(connection) && html` required`} aria-describedby="${fault && `${id('fault')} `}${id('rule')}"${
    fault && html` aria-invalid="true" autofocus`
  }>
<button class="button quiet" type="submit" aria-label="Change the cap of ${name}">Change</button></div>
${fault && html`<p class="field-error" id="${id('fault')}">${fault.text}</p>`}
<p class="field-hint" id="${id('rule')}">${isPublic(connection) ? 'It runs without a server, so it needs a cap.' : 'Leave it empty for no cap.'}</p></div></form>`
}

function describeOrigin({ connected_at, external_user_ids }: Connection): Html {
  return html`Connected since ${DAY.format(connected_at)}${
    external_user_ids.length > 0 && html`. Knows you as <bdi>${external_user_ids.join(', ')}</bdi>`
  }`
}
