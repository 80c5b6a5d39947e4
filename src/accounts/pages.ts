// The pages that mails lead to. Plain forms, no script.

import { html, renderPage } from '../http/html.ts'

export function renderResetForm(form: { token: string; fault?: string }): string {
  const isWrong = form.fault !== undefined
  return renderPage({
    title: 'Set a new password',
    layout: 'narrow',
    home: '/docs',
    body: html`<div class="page-head"><h1>Set a new password</h1>
<p class="lead">You are then signed out everywhere and sign in with the new password.</p></div>
<form method="post" action="/auth/reset-password">
<input type="hidden" name="token" value="${form.token}">
<div class="field"><label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" required minlength="8"
  maxlength="1024" autofocus aria-describedby="${isWrong && 'fault '}rule"${isWrong && html` aria-invalid="true"`}>
${isWrong && html`<p class="field-error" id="fault" role="alert">${form.fault}</p>`}
<p class="field-hint" id="rule">At least 8 characters.</p></div>
<button class="button" type="submit">Set password</button>
</form>`,
  })
}
