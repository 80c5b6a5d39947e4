// /oauth/connections: the user's connected apps, as a page.

import { type Html, html, renderPage } from '../http/html.ts'
import { formatDollars } from '../platform/money.ts'
import type { Connection } from './connections.ts'
import { describeMarkup } from './pages.ts'

export type ConnectionsPage = {
  email: string
  balance: bigint
  csrf: string
  connections: readonly Connection[]
  /** Of the page after this one. */
  next_cursor: string | null
  notice?: { text: string; is_fault?: boolean } | undefined
}

export function renderConnections(page: ConnectionsPage): string {
  const { notice } = page
  return renderPage({
    title: 'Connected apps',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Connected apps</h1>
<p class="lead">Apps that may use the credits of <strong>${page.email}</strong>. Balance:
<strong>${formatDollars(page.balance)}</strong></p></div>
${notice && html`<p class="notice${notice.is_fault && ' danger'}" role="status">${notice.text}</p>`}
${
  page.connections.length === 0 &&
  html`<p>No app is connected. When an app offers “Sign in and pay with your own credits”, you decide here
what it may spend.</p>`
}
${page.connections.map((connection) => renderConnection(connection, page.csrf))}
${
  page.next_cursor !== null &&
  html`<p><a href="/oauth/connections?cursor=${page.next_cursor}">More apps</a></p>`
}
<form method="post" action="/oauth/logout"><input type="hidden" name="csrf" value="${page.csrf}">
<button class="button quiet" type="submit">Sign out</button></form>`,
  })
}

function renderConnection(connection: Connection, csrf: string): Html {
  const { name, client_id, monthly_cap_credits: cap, connected_at } = connection
  const hidden = html`<input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="client_id" value="${client_id}">`
  const spends = connection.scopes.includes('credits.spend')
  return html`<section class="card" aria-label="${name}"><h2>${name}</h2>
<p class="field-hint">Connected since ${connected_at.toISOString().slice(0, 10)}${
    connection.external_user_ids.length > 0 &&
    html`, where you are known as ${connection.external_user_ids.join(', ')}`
  }</p>
<dl class="facts"><div><dt>Spent this month</dt><dd>${formatDollars(connection.spent_this_month_credits)}</dd></div>
<div><dt>Cap</dt><dd>${cap === null ? 'none' : `${formatDollars(cap)} a month`}</dd></div></dl>
${spends ? html`<p>${describeMarkup(connection.markup_bps)}</p>` : html`<p>It may only see your balance.</p>`}
${
  spends &&
  html`<form method="post" action="/oauth/connections/cap">${hidden}
<label>New cap a month, in dollars<span class="amount"><span aria-hidden="true">$</span>
<input name="cap_usd" inputmode="decimal" maxlength="12" autocomplete="off"
  value="${cap === null ? '' : formatDollars(cap).replaceAll(/[$,]/g, '')}"></span>
<span class="field-hint">Empty: no cap.</span></label>
<button class="button quiet" type="submit">Change cap</button></form>`
}
<form method="post" action="/oauth/connections/disconnect">${hidden}
<button class="button quiet danger" type="submit">Disconnect ${name}</button></form>
</section>`
}
