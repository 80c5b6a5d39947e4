// The Express dashboard: what the owner of a connected account sees of their money.

import { formatDay, formatMoney, type Html, html } from './html.ts'
import { notFound, page, redirect } from './layout.ts'
import type { Transfer } from './objects.ts'
import type { PageCall, PageRoute } from './pages.ts'
import type { Answer } from './send.ts'
import type { AccountRow, World } from './world.ts'

const VISIT_LIFE_MS = 3_600_000
const SHOWN_TRANSFERS = 50

export const DASHBOARD_PAGES: readonly PageRoute[] = [
  { method: 'GET', pattern: '/stripe/express/visit/:visit', run: show },
  { method: 'GET', pattern: '/stripe/express/:account/:token', run: openLink },
]

function openLink(world: World, { ids }: PageCall): Answer {
  const opened = world.links.open(ids['token'] ?? '', world.clock.nowMs())
  if (opened === undefined || !opened.fresh || opened.link.account !== ids['account']) {
    return notFound('This login link was used or has expired. Ask the platform for another one.')
  }
  const visit = world.ids.make('visit')
  const expires_at_ms = world.clock.nowMs() + VISIT_LIFE_MS
  world.links.putVisit(visit, { ...opened.link, expires_at_ms })
  return redirect(`/stripe/express/visit/${visit}`)
}

function show(world: World, { ids }: PageCall): Answer {
  const visit = world.links.getVisit(ids['visit'] ?? '', world.clock.nowMs())
  const row = world.accounts.get(visit?.account ?? '')
  if (row === undefined || visit?.kind !== 'dashboard') {
    return notFound('You have been signed out. Ask the platform for another login link.')
  }
  const under = { name: 'destination', key: row.id }
  const { data, has_more } = world.transfers.page({ limit: SHOWN_TRANSFERS }, { under })
  const main = html`<h1>Your earnings</h1>
<div class="sheet">
<p class="soft">Balance</p>
${describeBalance(row)}
<p>${row.account.payouts_enabled ? 'Payouts to your bank are enabled.' : 'Payouts to your bank are not enabled.'}</p>
</div>
<h2>Transfers received</h2>
${data.length === 0 ? html`<p class="soft">Nothing yet.</p>` : describeTransfers(data)}
${has_more ? html`<p class="soft">The ${SHOWN_TRANSFERS} newest are shown.</p>` : html``}
<p class="soft">${row.id}, ${row.account.email ?? 'no email'}</p>`
  return page('Your earnings', main)
}

function describeBalance({ available, account }: AccountRow): Html {
  const amounts = available.entries()
  const shown = amounts.length === 0 ? [[account.default_currency, 0] as const] : amounts
  return html`${shown.map(([currency, cents]) => html`<p class="total">${formatMoney(cents, currency)}</p>`)}`
}

function describeTransfers(transfers: readonly Transfer[]): Html {
  return html`<table>
<thead><tr><th scope="col">Transfer</th><th scope="col">Amount</th></tr></thead>
<tbody>
${transfers.map(
  (transfer) => html`<tr><td>${transfer.description ?? transfer.id}
<span class="soft">${formatDay(transfer.created)}${describeReversal(transfer)}</span></td>
<td>${formatMoney(transfer.amount, transfer.currency)}</td></tr>`,
)}
</tbody>
</table>`
}

function describeReversal({ amount_reversed, currency }: Transfer): string {
  return amount_reversed === 0 ? '' : `, ${formatMoney(amount_reversed, currency)} taken back`
}
