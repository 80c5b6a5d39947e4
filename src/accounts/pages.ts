// The pages that mails lead to. Plain forms, no script.

import { type Html, html, renderPage } from '../http/html.ts'

export type ResetForm = {
  token: string
  rule: string
  /** Whether there may be something of the owner's to keep: the address was confirmed before. */
  may_keep: boolean
  fault?: string
}

export function renderResetForm(form: ResetForm): string {
  return renderForm({
    title: 'Set a new password',
    lead: 'You are then signed out everywhere and sign in with the new password.',
    action: '/auth/reset-password',
    token: form.token,
    fields: html`${passwordField({
      name: 'new_password',
      label: 'New password',
      autocomplete: 'new-password',
      hint: form.rule,
      fault: form.fault,
    })}
${
  form.may_keep &&
  html`<div class="field"><label class="choice"><input type="checkbox" name="keep_connections" value="true">
Keep my API keys and connected apps</label>
<p class="field-hint">Only if nobody else can have used your account. Otherwise they end now, and you make them anew.</p></div>`
}`,
    buttons: html`<button class="button" type="submit">Set password</button>`,
  })
}

export function renderVerifyForm(form: {
  token: string
  email: string
  asks_password: boolean
  fault?: string | undefined
}): string {
  return renderForm({
    title: 'Confirm your address',
    lead: html`You confirm that <strong>${form.email}</strong> is yours.`,
    action: '/auth/verify',
    token: form.token,
    fields:
      form.asks_password &&
      passwordField({
        name: 'password',
        label: 'Password',
        autocomplete: 'current-password',
        hint: 'The one of this account. You did not make an account? Then close this page: nothing happens.',
        fault: form.fault,
      }),
    buttons: html`<button class="button" type="submit">Confirm address</button>`,
  })
}

export function renderEmailChange(form: {
  token: string
  is_new: boolean
  old_email: string
  new_email: string
}): string {
  return renderForm({
    title: 'Change of address',
    lead: html`The account of <strong>${form.old_email}</strong> is to have the address
<strong>${form.new_email}</strong> instead. Both addresses have to agree.`,
    action: '/account/email/confirm',
    token: form.token,
    buttons: html`<div class="buttons">
<button class="button quiet danger" type="submit" name="decision" value="stop">Stop it</button>
<button class="button" type="submit" name="decision" value="confirm">${form.is_new ? 'Use this address' : 'Allow the change'}</button></div>`,
  })
}

export function renderKeepForm(form: { email?: string; fault?: string | undefined }): string {
  return renderForm({
    title: 'Keep your account',
    lead: 'Your account is to be deleted. With your password you call that off, and sign in as before.',
    action: '/account/restore',
    fields: html`<div class="field"><label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required maxlength="254"
  value="${form.email ?? ''}"${form.email === undefined && html` autofocus`}></div>
${passwordField({
  name: 'password',
  label: 'Password',
  autocomplete: 'current-password',
  hint: 'API keys and connected apps ended when you gave the account up: you make them anew.',
  fault: form.fault,
  is_first: form.email !== undefined,
})}`,
    buttons: html`<button class="button" type="submit">Keep my account</button>`,
  })
}

type Form = {
  title: string
  lead: Html | string
  action: string
  token?: string
  fields?: Html | false
  buttons: Html
}

function renderForm({ title, lead, action, token, fields, buttons }: Form): string {
  return renderPage({
    title,
    layout: 'narrow',
    home: '/docs',
    body: html`<div class="page-head"><h1>${title}</h1>
<p class="lead">${lead}</p></div>
<form method="post" action="${action}">
${token !== undefined && html`<input type="hidden" name="token" value="${token}">`}
${fields}
${buttons}
</form>`,
  })
}

type PasswordField = {
  name: 'password' | 'new_password'
  label: string
  autocomplete: 'current-password' | 'new-password'
  hint: string
  fault?: string | undefined
  /** Whether the cursor begins here. */
  is_first?: boolean
}

function passwordField(field: PasswordField): Html {
  const { name, label, autocomplete, hint, fault, is_first = true } = field
  const is_wrong = fault !== undefined
  return html`<div class="field"><label for="${name}">${label}</label>
<input id="${name}" name="${name}" type="password" autocomplete="${autocomplete}" required${
    autocomplete === 'new-password' && html` minlength="8"`
  }
  maxlength="1024"${is_first && html` autofocus`} aria-describedby="${is_wrong && 'fault '}rule"${is_wrong && html` aria-invalid="true"`}>
${is_wrong && html`<p class="field-error" id="fault" role="alert">${fault}</p>`}
<p class="field-hint" id="rule">${hint}</p></div>`
}
