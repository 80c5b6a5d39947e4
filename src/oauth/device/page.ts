// What people see who let another device in: a field for its code, then who asks, from where, and what it may cost. Plain
// forms, no script.

import { describeDevice } from '../../accounts/client.ts'
import { type Html, html, renderPage } from '../../http/html.ts'
import { DEVICE_PAGE, loginAddressFor } from '../../http/return-path.ts'
import type { ShownCap } from '../cap-form.ts'
import { describeScope, renderCap, renderDecision, renderPrice } from '../pages.ts'
import { showUserCode } from './codes.ts'
import type { OpenRequest } from './decision.ts'

export const DECISION_PATH = `${DEVICE_PAGE}/decision`

const MINUTE_MS = 60_000

export type CodeForm = {
  csrf: string
  /** What the address or the field had in it. */
  typed: string
  email: string
  fault?: string | undefined
}

export function renderCodeForm(form: CodeForm): string {
  const { csrf, typed, email, fault } = form
  const described = [fault !== undefined && 'fault', 'rule'].filter((id) => id !== false).join(' ')
  return renderPage({
    title: 'Connect a device',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Connect a device</h1>
<p class="lead">${
      typed === ''
        ? 'Type the code that the app shows on your other device.'
        : 'Is this the code that the app shows on your other device?'
    }</p></div>
${fault !== undefined && html`<p class="notice danger" role="alert" id="fault">${fault}</p>`}
<form method="post" action="${DEVICE_PAGE}">
<input type="hidden" name="csrf" value="${csrf}">
<div class="field"><label for="user_code">Code</label>
<input class="user-code" id="user_code" name="user_code" value="${typed}" required maxlength="32"
  autocomplete="off" autocapitalize="characters" spellcheck="false"
  aria-describedby="${described}"${fault !== undefined && html` aria-invalid="true"`} autofocus>
<p class="field-hint" id="rule">Eight letters, such as BCDF-GHJK. Case and hyphen do not matter.</p></div>
<button class="button" type="submit">Continue</button>
</form>
${renderWarning()}
<p class="field-hint">You are signed in as <strong>${email}</strong>.
<a href="${loginAddressFor(pageAddress(typed))}">Not you?</a></p>`,
  })
}

export type DecisionForm = OpenRequest & {
  /** The proof of `terms`. */
  csrf: string
  terms: string
  email: string
  developer_email: string
  balance: bigint
  cap: ShownCap
  now: Date
  /** Whether whoever reads the page has the address that the device asked from. */
  is_same_address: boolean
}

export function renderDeviceConsent(form: DecisionForm): string {
  const { app, request, user_code } = form
  const spends = request.scopes.includes('credits.spend')
  const wish = spends ? 'use your credits?' : 'see your balance?'
  return renderPage({
    title: `Let ${app.name} ${wish}`,
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Let <bdi>${app.name}</bdi> ${wish}</h1>
<p class="lead">An app on another device calls itself <strong><bdi>${app.name}</bdi></strong> and asks for access to your
account.</p></div>
${renderWarning()}
${renderWhereFrom(form)}
<form method="post" action="${DECISION_PATH}">
<input type="hidden" name="csrf" value="${form.csrf}">
<input type="hidden" name="terms" value="${form.terms}">
<input type="hidden" name="user_code" value="${showUserCode(user_code)}">
<section aria-labelledby="may"><h2 id="may">What the app may do</h2>
<ul class="grants">
<li><strong>See who you are:</strong> your email address.</li>
${request.scopes.map((scope) => html`<li>${describeScope(scope, form.balance)}</li>`)}
</ul></section>
${spends && renderPrice(form)}
${spends && renderCap(form)}
${renderDecision()}
<p class="field-hint">${
      spends ? 'You can change the cap or disconnect the app' : 'You can disconnect the app'
    } at any time under <a href="/oauth/connections">connected apps</a>.</p>
</form>`,
  })
}

/** What tells a request of one's own from one that somebody else sent. */
function renderWhereFrom(form: DecisionForm): Html {
  const { request, user_code, now } = form
  const minutes = Math.floor((now.getTime() - request.created_at.getTime()) / MINUTE_MS)
  const ago = minutes < 1 ? 'less than a minute ago' : `${minutes} min ago`
  const at = `${request.created_at.toISOString().slice(11, 16)} UTC`
  return html`<dl class="between">
<div><dt>Code on your device</dt><dd><strong class="user-code">${showUserCode(user_code)}</strong></dd></div>
<div><dt>Asked from</dt><dd><strong>${request.asked_ip}</strong>
${
  form.is_same_address
    ? html`<span>the address you have now</span>`
    : html`<span class="caution">not the address you have now</span>`
}</dd></div>
<div><dt>Asked by</dt><dd><strong><bdi>${describeDevice(request.asked_agent)}</bdi></strong>
<span>${ago}, at ${at}</span></dd></div>
<div><dt>Developer of the app</dt><dd><strong><bdi>${form.developer_email}</bdi></strong></dd></div>
<div><dt>Your account</dt><dd><strong>${form.email}</strong>
<a href="${loginAddressFor(pageAddress(showUserCode(user_code)))}">Not you?</a></dd></div>
</dl>`
}

function renderWarning(): Html {
  return html`<p class="notice caution"><strong>Only continue if you started this on a device in front of you.</strong>
Nobody from Svc or the app will ever send you a code.</p>`
}

function pageAddress(user_code: string): string {
  if (user_code === '') return DEVICE_PAGE
  return `${DEVICE_PAGE}?${new URLSearchParams({ user_code }).toString()}`
}
