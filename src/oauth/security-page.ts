// /oauth/security: the second factors of whoever is signed in, as pages.

import type { Added, Factors } from '../accounts/factors/factors.ts'
import { type Html, html, renderPage } from '../http/html.ts'
import { passkeyScriptTag, renderPasskeyForm } from '../http/passkey-script.ts'

type FactorRow = Factors['factors'][number]

const DAY = new Intl.DateTimeFormat('en', { dateStyle: 'long', timeZone: 'UTC' })
const HOME = '/oauth/security'

export type SecurityPage = Factors & {
  email: string
  csrf: string
  /** What was done. */
  notice?: string | undefined
}

export function renderSecurity(page: SecurityPage): string {
  const { factors } = page
  const has_app = factors.some(({ kind }) => kind === 'totp')
  return renderPage({
    title: 'Second factor',
    layout: 'narrow',
    body: html`<h1>Second factor</h1>
<dl class="between">
<div><dt>Your account</dt><dd><strong>${page.email}</strong></dd></div>
<div><dt>Signing in asks for</dt><dd><strong>${describeSignIn(page)}</strong></dd></div>
</dl>
${page.notice !== undefined && html`<p class="notice" role="status">${page.notice}</p>`}
${
  factors.length === 0 &&
  html`<p>A second factor keeps your credits safe from whoever learns your password. Add a passkey (a phone, a laptop
or a security key) or an authenticator app.</p>`
}
${factors.map((factor) => renderFactor(factor, page.csrf))}
${factors.length > 0 && renderCodesCard(page)}
<div class="ways">${renderButton({ action: `${HOME}/passkey`, csrf: page.csrf, label: 'Add a passkey' })}
${!has_app && renderButton({ action: `${HOME}/totp`, csrf: page.csrf, label: 'Add an app' })}</div>
<p class="pages"><a href="/console/account/second-factor">Your second factor in the console</a> <a href="/oauth/connections">Connected apps</a> <a href="/oauth/sessions">Sessions</a></p>`,
  })
}

function describeSignIn({ factors }: SecurityPage): string {
  return factors.length === 0 ? 'your password only' : 'your password and a second factor'
}

function renderFactor(factor: FactorRow, csrf: string): Html {
  const { id, kind, name, created_at, last_used_at } = factor
  const used = last_used_at ? `Last used ${DAY.format(last_used_at)}.` : 'Not used yet.'
  return html`<section class="card" aria-labelledby="factor-${id}">
<div class="card-head"><h2 id="factor-${id}"><bdi>${name}</bdi></h2>
<p class="field-hint">${kind === 'totp' ? 'App' : 'Passkey'} since ${DAY.format(created_at)}. ${used}</p></div>
<form method="post" action="${HOME}/remove"><input type="hidden" name="csrf" value="${csrf}">
<input type="hidden" name="id" value="${id}">
<button class="button quiet danger" type="submit" aria-label="Remove ${name}">Remove</button></form></section>`
}

function renderCodesCard(page: SecurityPage): Html {
  return html`<section class="card" aria-labelledby="codes">
<div class="card-head"><h2 id="codes">Recovery codes</h2>
<p class="field-hint">${page.recovery_codes_left} of them left. Each signs you in once when your device is lost.</p></div>
<form method="post" action="${HOME}/codes"><input type="hidden" name="csrf" value="${page.csrf}">
<button class="button quiet" type="submit">Make new codes</button></form></section>`
}

function renderButton(form: { action: string; csrf: string; label: string }): Html {
  return html`<form method="post" action="${form.action}"><input type="hidden" name="csrf" value="${form.csrf}">
<button class="button quiet" type="submit">${form.label}</button></form>`
}

/** `begun` is there while the secret may be shown; a wrong code is asked for again without it. */
export function renderNewApp(page: {
  csrf: string
  begun?: { secret: string; qr_svg: string }
  fault?: string
}): string {
  const { begun, fault } = page
  return renderPage({
    title: 'Add an authenticator app',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Add an authenticator app</h1>
<p class="lead">${begun ? 'Scan the picture with the app, then type the code that it shows.' : 'Type the code that the app shows now.'}</p></div>
${begun && renderSecret(begun)}
<form method="post" action="${HOME}/totp/confirm"><input type="hidden" name="csrf" value="${page.csrf}">
<div class="field"><label for="code">Code</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required autofocus${
      fault !== undefined && html` aria-invalid="true" aria-describedby="fault"`
    }>
${fault !== undefined && html`<p class="field-error" id="fault" role="alert">${fault}</p>`}</div>
<button class="button" type="submit">Add the app</button></form>
${!begun && renderButton({ action: `${HOME}/totp`, csrf: page.csrf, label: 'Begin again' })}
<p class="pages"><a href="${HOME}">Cancel</a></p>`,
  })
}

function renderSecret({ secret, qr_svg }: { secret: string; qr_svg: string }): Html {
  const picture = `data:image/svg+xml,${encodeURIComponent(qr_svg)}`
  return html`<img class="qr" src="${picture}" width="224" height="224" alt="The secret as a picture for the app">
<section><h2>Or type this secret</h2>
<p class="secret">${secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</p></section>`
}

export function renderNewPasskey(page: { csrf: string; options: object; fault?: string }): string {
  const fields = html`<div class="field"><label for="name">Name</label>
<input id="name" name="name" maxlength="100" required value="Passkey" aria-describedby="rule" autofocus>
<p class="field-hint" id="rule">For your own eyes: which device it is.</p></div>`
  return renderPage({
    title: 'Add a passkey',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Add a passkey</h1>
<p class="lead">Your browser asks for a finger, a face, a PIN or a security key. Nothing of it reaches us.</p></div>
${page.fault !== undefined && html`<p class="notice danger" role="alert">${page.fault}</p>`}
${renderPasskeyForm({
  kind: 'create',
  action: `${HOME}/passkey/add`,
  csrf: page.csrf,
  options: page.options,
  button: 'Create the passkey',
  fields,
})}
<noscript><p class="notice">Passkeys need JavaScript. An authenticator app works without.</p></noscript>
<p class="pages"><a href="${HOME}">Cancel</a></p>
${passkeyScriptTag}`,
  })
}

export function renderCodes(page: { codes: readonly string[]; added?: Added['factor'] }): string {
  return renderPage({
    title: 'Recovery codes',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Recovery codes</h1>
<p class="lead">Print or write them down: they are shown this once. Each signs you in once, with your password, when your
device is lost.</p></div>
${page.added && html`<p class="notice" role="status"><bdi>${page.added.name}</bdi> is added. Signing in asks for it from now on.</p>`}
<ol class="codes">${page.codes.map((code) => html`<li>${code}</li>`)}</ol>
<p class="pages"><a href="${HOME}">I have kept them</a></p>`,
  })
}
