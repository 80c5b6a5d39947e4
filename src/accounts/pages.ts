// The pages that mails lead to. Plain forms, no script.

import { html, renderPage } from '../http/html.ts'

export function renderNotice(notice: {
  title: string
  text: string
  hint?: string | undefined
}): string {
  return renderPage({
    title: notice.title,
    layout: 'narrow',
    home: '/docs',
    body: html`<h1>${notice.title}</h1>
<p>${notice.text}</p>
${notice.hint !== undefined && html`<p class="field-hint">${notice.hint}</p>`}`,
  })
}

export function renderResetForm(form: { token: string; fault?: string }): string {
  return renderPage({
    title: 'Set a new password',
    layout: 'narrow',
    home: '/docs',
    body: html`<h1>Set a new password</h1>
<p>All your sessions end, and you log in with the new password.</p>
<form method="post" action="/auth/reset-password">
<input type="hidden" name="token" value="${form.token}">
<div class="field">
<label for="new_password">New password</label>
<input id="new_password" name="new_password" type="password" autocomplete="new-password" required
  minlength="8" maxlength="1024" autofocus aria-describedby="rule">
<p class="field-hint" id="rule">At least 8 characters.</p>
${form.fault !== undefined && html`<p class="field-error" role="alert">${form.fault}</p>`}
</div>
<button class="button" type="submit">Set password</button>
</form>`,
  })
}
