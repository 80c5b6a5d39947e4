// What people see: sign in, register, consent. Plain forms, no script. Everything that came from outside is
// escaped by the template tag.

import { type Html, html, renderPage } from '../http/html.ts'
import { formatDollars } from '../platform/money.ts'
import type { AuthorizationRequest } from './authorize.ts'
import type { Scope } from './scopes.ts'

export type CredentialsForm = {
  kind: 'login' | 'register'
  /** The authorize query that is carried along; empty when somebody just signs in. */
  query: string
  csrf: string
  app_name: string | undefined
  email?: string
  fault?: string
}

const WORDS = {
  login: {
    title: 'Sign in',
    action: '/oauth/login',
    password: 'current-password',
    other: { text: 'New here?', link: 'Create an account', action: '/oauth/register' },
  },
  register: {
    title: 'Create an account',
    action: '/oauth/register',
    password: 'new-password',
    other: { text: 'Have an account?', link: 'Sign in', action: '/oauth/login' },
  },
} as const

export function renderCredentials(form: CredentialsForm): string {
  const words = WORDS[form.kind]
  const withQuery = (action: string) => (form.query === '' ? action : `${action}?${form.query}`)
  return renderPage({
    title: words.title,
    layout: 'narrow',
    body: html`<div class="page-head"><h1>${words.title}</h1>
${form.app_name !== undefined && html`<p class="lead">to continue to <strong>${form.app_name}</strong></p>`}</div>
${form.fault !== undefined && html`<p class="notice danger" role="alert">${form.fault}</p>`}
<form method="post" action="${withQuery(words.action)}">
<input type="hidden" name="csrf" value="${form.csrf}">
<label>Email
<input name="email" type="email" autocomplete="username" required maxlength="254"
  value="${form.email ?? ''}"${form.email === undefined && html` autofocus`}>
</label>
<label>Password
<input name="password" type="password" autocomplete="${words.password}" required
  ${form.kind === 'register' && html`minlength="8" aria-describedby="rule"`} maxlength="1024"${
    form.email !== undefined && html` autofocus`
  }>
${form.kind === 'register' && html`<span class="field-hint" id="rule">At least 8 characters.</span>`}
</label>
<button class="button" type="submit">${words.title}</button>
</form>
<p class="lead">${words.other.text} <a href="${withQuery(words.other.action)}">${words.other.link}</a></p>
${
  form.kind === 'login' &&
  html`<details class="aside"><summary>Forgot your password?</summary>
<form method="post" action="/oauth/forgot-password">
<input type="hidden" name="csrf" value="${form.csrf}">
<label>Email<input name="email" type="email" autocomplete="username" required maxlength="254"></label>
<button class="button quiet" type="submit">Send me a link</button>
</form></details>`
}`,
  })
}

export type ConsentForm = {
  request: AuthorizationRequest
  /** The query of the form's action. */
  query: string
  csrf: string
  email: string
  balance: bigint
  cap: { kind: 'none' | 'monthly'; usd: string; fault?: string }
}

export function renderConsent(form: ConsentForm): string {
  const { request } = form
  const { app } = request
  const spends = request.scopes.includes('credits.spend')
  const question = spends
    ? `Let ${app.name} use your credits?`
    : `Let ${app.name} see your balance?`
  return renderPage({
    title: question,
    layout: 'narrow',
    body: html`<div class="page-head"><h1>${question}</h1>
<p class="lead">You are signed in as <strong>${form.email}</strong>.
<a href="/oauth/login?${form.query}">Not you?</a></p></div>
<form method="post" action="/oauth/authorize?${form.query}">
<input type="hidden" name="csrf" value="${form.csrf}">
<section aria-labelledby="may"><h2 id="may">What the app may do</h2>
<ul class="grants">
<li><strong>See who you are:</strong> your email address.</li>
${request.scopes.map((scope) => html`<li>${describeScope(scope, form.balance)}</li>`)}
${
  request.external_user_id !== null &&
  html`<li><strong>Call for you while you are away.</strong> The app knows you as
<code>${request.external_user_id}</code>.</li>`
}
</ul></section>
${spends && renderPrice(request)}
${spends && renderCap(form)}
<div class="buttons">
<button class="button quiet" type="submit" name="decision" value="deny" formnovalidate>Deny</button>
<button class="button" type="submit" name="decision" value="allow">Allow</button>
</div>
<p class="field-hint">You then return to <strong>${returnHost(request.redirect_uri)}</strong>.
You can change the cap or disconnect the app at any time: <a href="/oauth/connections">connected apps</a>.</p>
</form>`,
  })
}

export function describeScope(scope: Scope, balance: bigint): Html {
  switch (scope) {
    case 'credits.read':
      return html`<strong>See your balance,</strong> now ${formatDollars(balance)}.`
    case 'credits.spend':
      return html`<strong>Spend your credits:</strong> AI calls that the app makes for you are paid from your balance.`
  }
}

export function describeMarkup(markup_bps: number): Html {
  if (markup_bps === 0) return html`The plain price of each call. The app adds nothing.`
  const example = 100_000n
  const paid = example + (example * BigInt(markup_bps)) / 10_000n
  return html`The price of each call plus <strong>${markup_bps / 100} %</strong>, which goes to the makers of
the app: for a call of ${formatDollars(example)} you pay ${formatDollars(paid)}.`
}

function renderPrice({ app }: AuthorizationRequest): Html {
  return html`<section aria-labelledby="price"><h2 id="price">What you pay</h2>
<p>${describeMarkup(app.markup_bps)}</p></section>`
}

function renderCap({ cap }: ConsentForm): Html {
  return html`<fieldset><legend>Spending cap for this app</legend>
<label class="choice"><input type="radio" name="cap" value="monthly"${cap.kind === 'monthly' && html` checked`}>
<span>At most this much a month</span></label>
<label class="amount"><span class="unseen">US dollars a month</span><span aria-hidden="true">$</span>
<input name="cap_usd" inputmode="decimal" value="${cap.usd}" maxlength="12" autocomplete="off"
  ${cap.fault !== undefined && html`aria-invalid="true" aria-describedby="cap-fault"`}></label>
${cap.fault !== undefined && html`<span class="field-error" id="cap-fault" role="alert">${cap.fault}</span>`}
<label class="choice"><input type="radio" name="cap" value="none"${cap.kind === 'none' && html` checked`}>
<span>No cap: as far as my balance goes</span></label>
</fieldset>`
}

function returnHost(redirect_uri: string): string {
  return new URL(redirect_uri).host
}
