// The Checkout page. The card that is chosen decides what happens: Stripe's test cards, and bank
// debits that are decided later.

import { findCard, TEST_CARDS, type TestCard } from './cards.ts'
import { pay } from './checkout-payment.ts'
import { formatMoney, type Html, html } from './html.ts'
import { notFound, page, redirect } from './layout.ts'
import type { CheckoutSession } from './objects.ts'
import type { PageCall, PageRoute } from './pages.ts'
import { readText } from './params.ts'
import type { Answer } from './send.ts'
import type { SessionRow, World } from './world.ts'

export const CHECKOUT_PAGES: readonly PageRoute[] = [
  { method: 'GET', pattern: '/stripe/pay/:id', run: (world, call) => open(world, call) },
  { method: 'POST', pattern: '/stripe/pay/:id', run: submit },
]

function open(world: World, { ids }: PageCall): Answer {
  const row = world.sessions.get(ids['id'] ?? '')
  if (row?.session.status !== 'open') return closed(row?.session)
  return showForm(world, row, {})
}

function submit(world: World, { ids, form }: PageCall): Answer {
  const row = world.sessions.get(ids['id'] ?? '')
  if (row?.session.status !== 'open') return closed(row?.session)
  const card = findCard({ name: readText(form, 'card') ?? 'visa' })
  const email = readText(form, 'email') ?? ''
  const answer = readText(form, 'answer')
  if (card === undefined) return showForm(world, row, { error: 'Choose a way to pay.', email })
  if (card.present === 'asks' && answer === undefined) return showQuestion(row, card, email)
  if (answer === 'refuse') {
    const error =
      'We are unable to authenticate your payment method. Choose another one and try again.'
    return showForm(world, row, { error, email, card })
  }
  const declined = pay(world, row, { card, email })
  if (declined !== undefined) return showForm(world, row, { error: declined, email, card })
  return redirect(fillIn(row.session))
}

/** Stripe puts the session's id where the platform asked for it. */
function fillIn(session: CheckoutSession): string {
  return (session.success_url ?? '/').replaceAll('{CHECKOUT_SESSION_ID}', session.id)
}

function closed(session: CheckoutSession | undefined): Answer {
  if (session === undefined) return notFound('There is no such Checkout session.')
  const main =
    session.status === 'complete'
      ? html`<h1>All done here</h1><p>This was done already. You may close this page.</p>`
      : html`<h1>This page has expired</h1><p>Nothing was charged. Go back and start again.</p>`
  return page('Checkout', main, { status: session.status === 'complete' ? 200 : 410 })
}

type Said = { error?: string; email?: string; card?: TestCard }

function showForm(world: World, row: SessionRow, said: Said): Answer {
  const { session } = row
  const saves = session.mode === 'setup' || row.payment.save
  const known = world.customers.get(session.customer ?? '')?.email
  const email = said.email ?? session.customer_email ?? known ?? 'customer@example.com'
  const main = html`<div class="columns">
<section>${describeOrder(row)}</section>
<section>
<form class="sheet" method="post" action="/stripe/pay/${session.id}">
${said.error === undefined ? html`` : html`<p class="error" role="alert">${said.error}</p>`}
<label class="field">Email <input name="email" type="email" autocomplete="email" maxlength="200" value="${email}"></label>
<fieldset>
<legend>${session.mode === 'setup' ? 'What to save' : 'Pay with'}</legend>
${TEST_CARDS.map((card) => describeChoice(card, said.card?.name ?? 'visa'))}
</fieldset>
${saves ? html`<p class="soft">What you choose is saved, and can be charged later without you.</p>` : html``}
<button>${buttonLabel(session)}</button>
${session.cancel_url === null ? html`` : html`<a class="button second" href="${session.cancel_url}">Cancel and go back</a>`}
</form>
</section>
</div>`
  return page('Checkout', main, { wide: true })
}

function buttonLabel({ mode, amount_total, currency }: CheckoutSession): string {
  return mode === 'setup' ? 'Save' : `Pay ${formatMoney(amount_total ?? 0, currency ?? 'usd')}`
}

function describeOrder({ session, line_items }: SessionRow): Html {
  if (session.mode === 'setup') {
    return html`<h1>Save a way to pay</h1><p class="soft">Nothing is charged today.</p>`
  }
  const currency = session.currency ?? 'usd'
  return html`<h1>Checkout</h1>
<p class="total">${formatMoney(session.amount_total ?? 0, currency)}</p>
<table>
<thead><tr><th scope="col">What</th><th scope="col">Amount</th></tr></thead>
<tbody>
${line_items.map((item) => html`<tr><td>${String(item['description'])}${Number(item['quantity']) > 1 ? ` × ${Number(item['quantity'])}` : ''}</td><td>${formatMoney(Number(item['amount_total']), currency)}</td></tr>`)}
</tbody>
</table>`
}

function describeChoice(card: TestCard, chosen: string): Html {
  return html`<label class="choice"><input type="radio" name="card" value="${card.name}" ${card.name === chosen ? 'checked' : ''}><span><strong>${card.label}</strong><span>${card.effect}</span></span></label>`
}

/** The bank's own question, which a real card's owner answers in their bank's app. */
function showQuestion({ session }: SessionRow, card: TestCard, email: string): Answer {
  const main = html`<h1>Confirm with your bank</h1>
<form class="sheet" method="post" action="/stripe/pay/${session.id}">
<p>Your bank asks whether it is you: ${buttonLabel(session)} with ${card.label}.</p>
<input type="hidden" name="card" value="${card.name}">
<input type="hidden" name="email" value="${email}">
<button name="answer" value="confirm">Yes, it is me</button>
<button class="second" name="answer" value="refuse">No, refuse</button>
</form>`
  return page('Confirm with your bank', main)
}
