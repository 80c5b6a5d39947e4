// The pages that ask for a second factor at sign-in, and for a fresh proof later. Codes and the password are plain forms;
// a passkey needs the one script that we have.

import { type Html, html, renderPage } from '../http/html.ts'
import { passkeyScriptTag, renderPasskeyForm } from '../http/passkey-script.ts'

export type ProofPage = {
  /** Where its forms are sent, with the query that is carried along. */
  action: string
  csrf: string
  /** What can be shown. */
  kinds: readonly string[]
  passkey_options: object | null | undefined
  fault?: { field: string; text: string }
}

export function renderSecondFactor(page: ProofPage & { login: string }): string {
  return renderPage({
    title: 'Second factor',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>One more step</h1>
<p class="lead">Your password is right. Show your second factor to sign in.</p></div>
${renderFault(page)}
${renderPasskey(page)}
${page.kinds.includes('totp') && renderCode(page)}
${page.kinds.includes('recovery_code') && renderRecovery(page)}
<p class="lead"><a href="${page.login}">Back to sign in</a></p>
${passkeyScriptTag}`,
  })
}

export function renderStepUp(page: ProofPage): string {
  return renderPage({
    title: 'Is it you?',
    layout: 'narrow',
    body: html`<div class="page-head"><h1>Is it you?</h1>
<p class="lead">What you are about to do needs a fresh proof. It holds for 15 minutes.</p></div>
${renderFault(page)}
${renderPasskey(page)}
${page.kinds.includes('totp') && renderCode(page)}
${renderPassword(page)}
${passkeyScriptTag}`,
  })
}

function renderFault({ fault }: ProofPage): Html | undefined {
  return fault && html`<p class="notice danger" role="alert" id="fault">${fault.text}</p>`
}

function renderPasskey(page: ProofPage): Html | undefined {
  const { action, csrf, passkey_options: options } = page
  if (!options) return undefined
  return html`${renderPasskeyForm({ kind: 'get', action, csrf, options, button: 'Use a passkey' })}
<noscript><p class="field-hint">Passkeys need JavaScript.</p></noscript>`
}

function renderCode(page: ProofPage): Html {
  return html`<form method="post" action="${page.action}"><input type="hidden" name="csrf" value="${page.csrf}">
<div class="field"><label for="totp">Code of your authenticator app</label>
<input id="totp" name="totp" inputmode="numeric" autocomplete="one-time-code" maxlength="20" required${marks(page, 'totp')}></div>
<button class="button" type="submit">Continue with the code</button></form>`
}

function renderRecovery(page: ProofPage): Html {
  const is_wrong = page.fault?.field === 'recovery_code'
  return html`<details class="aside"${is_wrong && html` open`}><summary>Lost your device?</summary>
<form method="post" action="${page.action}"><input type="hidden" name="csrf" value="${page.csrf}">
<div class="field"><label for="recovery_code">Recovery code</label>
<input id="recovery_code" name="recovery_code" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="60" required${marks(page, 'recovery_code')}>
<p class="field-hint">One of the ten that you got with your first factor. Each works once.</p></div>
<button class="button quiet" type="submit">Use the recovery code</button></form></details>`
}

function renderPassword(page: ProofPage): Html {
  return html`<form method="post" action="${page.action}"><input type="hidden" name="csrf" value="${page.csrf}">
<div class="field"><label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${marks(page, 'password')}></div>
<button class="button" type="submit">Continue with the password</button></form>`
}

function marks({ fault }: ProofPage, field: string): Html | false {
  return fault?.field === field && html` aria-invalid="true" aria-describedby="fault" autofocus`
}
