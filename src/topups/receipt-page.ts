// The receipt of a top-up, as a page to print or keep.

import { html, renderPage } from '../http/html.ts'
import { CREDITS_PER_CENT, formatDollars } from '../platform/money.ts'
import type { TopupRow } from './store.ts'

const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })

export function renderReceipt(email: string, topup: TopupRow): string {
  const { amount_cents, credits, refunded_credits: refunded, stripe_payment_intent_id } = topup
  const row = (name: string, value: string) =>
    html`<div><dt>${name}</dt><dd><strong>${value}</strong></dd></div>`
  return renderPage({
    title: 'Receipt',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Receipt</h1>
<p>${topup.source === 'automatic' ? 'Automatic top-up' : 'Top-up'} of credits, paid.</p></div>
<dl class="between">
${row('Account', email)}
${row('Paid on (UTC)', DAY.format(topup.closed_at ?? topup.created_at))}
${row('Paid', formatDollars(amount_cents * CREDITS_PER_CENT))}
${row('Credits', credits.toLocaleString('en'))}
${refunded > 0n && row('Refunded', formatDollars(refunded))}
${row('Top-up', topup.id)}
${stripe_payment_intent_id !== null && row('Payment', stripe_payment_intent_id)}
</dl>`,
  })
}
