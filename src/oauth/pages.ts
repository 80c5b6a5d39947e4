// What people see: sign in, register, consent. Plain forms, no script. Everything that came from outside is
// escaped by the template tag.

import { type Html, html, renderPage } from '../http/html.ts'
import { formatDollars } from '../platform/money.ts'
import type { AuthorizationRequest } from './authorize.ts'
import type { ShownCap } from './cap-form.ts'
import { describeRedirectUri } from './redirect-uri.ts'
import type { Scope } from './scopes.ts'

export type CredentialsForm = {
  kind: 'login' | 'register'
  /** The authorize query that is carried along; empty when somebody just signs in. */
  query: string
  csrf: string
  app_name: string | undefined
  /** Said where a password is set. */
  password_rule: string
  email?: string
  fault?: { text: string; field: 'email' | 'password' }
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
  const { fault } = form
  const withQuery = (action: string) => (form.query === '' ? action : `${action}?${form.query}`)
  return renderPage({
    title: words.title,
    layout: 'narrow',
    body: html`<div class="page-head"><h1>${words.title}</h1>
${form.app_name !== undefined && html`<p class="lead">to continue to <strong><bdi>${form.app_name}</bdi></strong></p>`}</div>
${fault && html`<p class="notice danger" role="alert" id="fault">${fault.text}</p>`}
<form method="post" action="${withQuery(words.action)}">
<input type="hidden" name="csrf" value="${form.csrf}">
${renderEmail(form)}
${renderPassword(form)}
<button class="button" type="submit">${words.title}</button>
</form>
<p class="lead">${words.other.text} <a href="${withQuery(words.other.action)}">${words.other.link}</a></p>
${form.kind === 'login' && renderForgotten(form, withQuery('/oauth/forgot-password'))}`,
  })
}

function renderEmail({ email, fault }: CredentialsForm): Html {
  return html`<div class="field"><label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"
  value="${email ?? ''}"${(email === undefined || fault?.field === 'email') && html` autofocus`}${
    fault?.field === 'email' && html` aria-invalid="true" aria-describedby="fault"`
  }></div>`
}

function renderPassword({ kind, fault, password_rule }: CredentialsForm): Html {
  const isWrong = fault?.field === 'password'
  const described = [isWrong && 'fault', kind === 'register' && 'rule'].filter((id) => id !== false)
  return html`<div class="field"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="${WORDS[kind].password}" required
  maxlength="1024"${kind === 'register' && html` minlength="8"`}${isWrong && html` aria-invalid="true" autofocus`}${
    described.length > 0 && html` aria-describedby="${described.join(' ')}"`
  }>
${kind === 'register' && html`<p class="field-hint" id="rule">${password_rule}</p>`}</div>`
}

function renderForgotten(form: CredentialsForm, action: string): Html {
  return html`<details class="aside"><summary>Forgot your password?</summary>
<form method="post" action="${action}">
<input type="hidden" name="csrf" value="${form.csrf}">
<div class="field"><label for="forgotten">Email of your account</label>
<input id="forgotten" name="email" type="email" autocomplete="username" required maxlength="254"
  value="${form.email ?? ''}"></div>
<button class="button quiet" type="submit">Send me a link</button>
</form></details>`
}

export type ConsentForm = {
  request: AuthorizationRequest
  /** The query of the form's action. */
  query: string
  csrf: string
  email: string
  /** Of whoever registered the app, where nothing else tells it from others of its name. */
  developer_email: string | undefined
  balance: bigint
  cap: ShownCap
}

export function renderConsent(form: ConsentForm): string {
  const { request } = form
  const { app } = request
  const spends = request.scopes.includes('credits.spend')
  const wish = spends ? 'use your credits?' : 'see your balance?'
  return renderPage({
    title: `Let ${app.name} ${wish}`,
    layout: 'narrow',
    body: html`<h1>Let <bdi>${app.name}</bdi> ${wish}</h1>
${form.developer_email !== undefined && renderPublicApp(form, form.developer_email)}
<dl class="between">
<div><dt>Returns you to</dt><dd>${renderReturn(request.redirect_uri)}</dd></div>
<div><dt>Your account</dt><dd><strong>${form.email}</strong>
<a href="/oauth/login?${form.query}">Not you?</a></dd></div>
</dl>
<form method="post" action="/oauth/authorize?${form.query}">
<input type="hidden" name="csrf" value="${form.csrf}">
<section aria-labelledby="may"><h2 id="may">What the app may do</h2>
<ul class="grants">
<li><strong>See who you are:</strong> your email address.</li>
${request.scopes.map((scope) => html`<li>${describeScope(scope, form.balance)}</li>`)}
${request.external_user_id !== null && renderExternalUser(request.external_user_id)}
</ul></section>
${spends && renderPrice(request)}
${spends && renderCap(form)}
${renderDecision()}
<p class="field-hint">${
      spends ? 'You can change the cap or disconnect the app' : 'You can disconnect the app'
    } at any time under <a href="/oauth/connections">connected apps</a>.</p>
</form>`,
  })
}

function renderReturn(redirect_uri: string): Html {
  const { place, is_loopback } = describeRedirectUri(redirect_uri)
  // One element: the row would put a gap between two.
  return html`<span><strong>${place}</strong>${is_loopback && html`, a program on this computer`}</span>`
}

/** Nobody can prove that a program is the one it calls itself, so the page does not say that it is. */
function renderPublicApp({ request, cap }: ConsentForm, developer_email: string): Html {
  const { app, redirect_uri, scopes } = request
  const { place } = describeRedirectUri(redirect_uri)
  const name = html`<strong><bdi>${app.name}</bdi></strong> by <bdi>${developer_email}</bdi>`
  const who =
    app.client_type === 'browser'
      ? html`${name} (${place}) runs in your browser without a server.`
      : html`An app on this device that calls itself ${name}. Allow it only if you have just started it.`
  return html`<p class="lead">${who}
${
  scopes.includes('credits.spend') &&
  html`It may spend up to ${cap.fault === undefined && html`<strong>$${cap.usd}</strong> a ${cap.kind === 'daily' ? 'day' : 'month'} of your credits, or `}what you enter below, until you stop it.`
}</p>`
}

/** Allow comes first: a browser takes the first button for the one that Enter in a field presses. */
export function renderDecision(): Html {
  return html`<div class="buttons">
<button class="button" type="submit" name="decision" value="allow">Allow</button>
<button class="button quiet" type="submit" name="decision" value="deny" formnovalidate>Deny</button>
</div>`
}

function renderExternalUser(external_user_id: string): Html {
  return html`<li><strong>Go on while you are away,</strong> until you disconnect it. The app knows you as
<code><bdi>${external_user_id}</bdi></code>: if you do not know that name, deny.</li>`
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
  return html`The price of each call plus <strong>${markup_bps / 100}%</strong>, which goes to the makers of
the app: for a call of ${formatDollars(example)} you pay ${formatDollars(paid)}.`
}

export function renderPrice({ app }: Pick<AuthorizationRequest, 'app'>): Html {
  return html`<section aria-labelledby="price"><h2 id="price">What you pay</h2>
<p>${describeMarkup(app.markup_bps)}</p></section>`
}

/** `cap_shown` tells an amount that somebody typed from one that we proposed. */
export function renderCap({ cap }: Pick<ConsentForm, 'cap'>): Html {
  const isWrong = cap.fault !== undefined
  const is_daily = cap.kind === 'daily'
  const period = is_daily ? 'day' : 'month'
  const kind = is_daily ? 'daily' : 'monthly'
  return html`<fieldset><legend>Spending cap for this app</legend>
<input type="hidden" name="cap_shown" value="${cap.usd}">
${
  cap.is_required
    ? html`<input type="hidden" name="cap" value="${kind}"><p>At most this much each ${period}</p>`
    : html`<label class="choice"><input type="radio" name="cap" value="${kind}"${cap.kind !== 'none' && html` checked`}>
<span>At most this much each ${period}</span></label>`
}
<div class="amount"><span aria-hidden="true">$</span>
<input name="cap_usd" inputmode="decimal" value="${cap.usd}" maxlength="12" autocomplete="off"
  aria-label="US dollars each ${period}" aria-describedby="${isWrong && 'cap-fault '}cap-rule"${
    isWrong && html` aria-invalid="true" autofocus`
  }></div>
${isWrong && html`<p class="field-error" id="cap-fault" role="alert">${cap.fault}</p>`}
<p class="field-hint" id="cap-rule">Calls beyond it are refused until ${is_daily ? 'the next day (UTC)' : 'the first of the next month'}.</p>
${
  !cap.is_required &&
  html`<label class="choice"><input type="radio" name="cap" value="none"${cap.kind === 'none' && html` checked`}>
<span>No cap: as far as my balance goes</span></label>`
}
</fieldset>`
}
