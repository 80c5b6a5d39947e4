// The hosted onboarding page. Its link opens once and for five minutes; a link that was used or has
// expired leads to the platform's refresh_url, as Stripe's does. Returning says nothing about the
// outcome: the platform must ask.

import { type AccountOutcome, setOutcome } from './account-outcome.ts'
import { html } from './html.ts'
import { notFound, page, redirect } from './layout.ts'
import type { PageCall, PageRoute } from './pages.ts'
import { readText } from './params.ts'
import type { Answer } from './send.ts'
import type { AccountRow, World } from './world.ts'

const VISIT_LIFE_MS = 3_600_000

const CHOICES: readonly { outcome: AccountOutcome; label: string; effect: string }[] = [
  {
    outcome: 'complete',
    label: 'Everything is in order',
    effect: 'Payouts are enabled at once.',
  },
  {
    outcome: 'pending',
    label: 'Verification takes a while',
    effect: 'Details are submitted, payouts stay off for now.',
  },
  {
    outcome: 'needs_document',
    label: 'A document is missing',
    effect: 'Details are submitted, one more is asked for.',
  },
  {
    outcome: 'rejected',
    label: 'Rejected for fraud',
    effect: 'The account can never be paid.',
  },
]

export const ONBOARDING_PAGES: readonly PageRoute[] = [
  { method: 'GET', pattern: '/stripe/setup/visit/:visit', run: showForm },
  { method: 'POST', pattern: '/stripe/setup/visit/:visit', run: submit },
  { method: 'GET', pattern: '/stripe/setup/:account/:token', run: openLink },
]

function openLink(world: World, { ids }: PageCall): Answer {
  const opened = world.links.open(ids['token'] ?? '', world.clock.nowMs())
  if (opened === undefined || opened.link.account !== ids['account']) {
    return notFound('This link was never made. Go back to the platform and start again.')
  }
  if (!opened.fresh) return redirect(opened.link.refresh_url)
  const visit = world.ids.make('visit')
  const expires_at_ms = world.clock.nowMs() + VISIT_LIFE_MS
  world.links.putVisit(visit, { ...opened.link, expires_at_ms })
  return redirect(`/stripe/setup/visit/${visit}`)
}

function showForm(world: World, { ids }: PageCall): Answer {
  const visit = world.links.getVisit(ids['visit'] ?? '', world.clock.nowMs())
  const row = world.accounts.get(visit?.account ?? '')
  if (visit === undefined || row === undefined) return tooLate()
  return page('Set up payouts', describeForm(row, ids['visit'] ?? ''))
}

function describeForm({ account }: AccountRow, visit: string) {
  return html`<h1>Set up payouts</h1>
<p class="soft">The platform pays you through Stripe. Real onboarding asks who you are and where the money goes; here you choose how it ends.</p>
<form class="sheet" method="post" action="/stripe/setup/visit/${visit}">
<label class="field">Email <input name="email" type="email" autocomplete="email" maxlength="200" value="${account.email ?? 'you@example.com'}"></label>
<fieldset>
<legend>What Stripe finds</legend>
${CHOICES.map(
  ({ outcome, label, effect }, at) =>
    html`<label class="choice"><input type="radio" name="outcome" value="${outcome}" ${at === 0 ? 'checked' : ''}><span><strong>${label}</strong><span>${effect}</span></span></label>`,
)}
</fieldset>
<button name="action" value="submit">Submit</button>
<button class="second" name="action" value="leave">Leave for now, finish later</button>
</form>
<h2>Account</h2>
<p class="soft">${account.id}, ${account.country}, paid in ${account.default_currency.toUpperCase()}</p>`
}

function submit(world: World, { ids, form }: PageCall): Answer {
  const token = ids['visit'] ?? ''
  const visit = world.links.getVisit(token, world.clock.nowMs())
  const row = world.accounts.get(visit?.account ?? '')
  if (visit === undefined || row === undefined) return tooLate()
  world.links.endVisit(token)
  row.account.email = readText(form, 'email') ?? row.account.email
  const leaves = readText(form, 'action') === 'leave'
  const chosen = CHOICES.find(({ outcome }) => outcome === readText(form, 'outcome'))
  // Leaving an account that was complete before does not undo it.
  if (!leaves) setOutcome(world, row, chosen?.outcome ?? 'complete')
  else if (!row.account.details_submitted) setOutcome(world, row, 'incomplete')
  return redirect(visit.return_url)
}

function tooLate(): Answer {
  return notFound('This page was left or has expired. Go back to the platform and start again.')
}
