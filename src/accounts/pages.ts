// The pages that mails lead to. Plain forms, no script.

import { html, renderPage } from '../http/html.ts'

export function renderResetForm(form: { token: string; fault?: string }): string {
  return renderPage({
    title: 'Set a new password',
    layout: 'narrow',
    home: '/docs',
    body: html`<h1>Set a new password</h1>
<p>All your sessions end, and you log in with the new password.</p>
<form method="post" action="/auth/reset-password">
<input type="hidden" name="token" value="${form.token}">
<label>New password
<input name="new_password" type="password" autocomplete="new-password" required minlength="8"
  maxlength="1024" autofocus aria-describedby="rule">
<span class="field-hint" id="rule">At least 8 characters.</span>
${form.fault !== undefined && html`<span class="field-error" role="alert">${form.fault}</span>`}
</label>
<button class="button" type="submit">Set password</button>
</form>`,
  })
}
