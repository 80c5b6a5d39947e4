// The one script of our pages: it lets a form ask the browser for a passkey. It is served as a file, so that the policy
// of these pages can forbid every other script; without it the forms stay hidden, and codes still work.

import { createHash } from 'node:crypto'
import { type Html, html } from './html.ts'

export const passkeyScript = `'use strict'
// A form with data-passkey="get" or "create" and data-options as the service made them is shown, and sent with what the
// authenticator answers.
{
  const toBytes = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))
  const toText = (buffer) =>
    btoa(Array.from(new Uint8Array(buffer), (byte) => String.fromCharCode(byte)).join(''))
      .replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '')
  const known = (list) => (list || []).map((item) => ({ ...item, id: toBytes(item.id) }))

  const ask = async (form) => {
    const options = JSON.parse(form.dataset.options)
    const publicKey = { ...options, challenge: toBytes(options.challenge) }
    if (form.dataset.passkey === 'create') {
      publicKey.user = { ...options.user, id: toBytes(options.user.id) }
      publicKey.excludeCredentials = known(options.excludeCredentials)
      return await navigator.credentials.create({ publicKey })
    }
    publicKey.allowCredentials = known(options.allowCredentials)
    return await navigator.credentials.get({ publicKey })
  }

  const describe = ({ id, rawId, type, response }) => {
    const answer = { clientDataJSON: toText(response.clientDataJSON) }
    if (response.attestationObject) {
      answer.attestationObject = toText(response.attestationObject)
      answer.transports = response.getTransports ? response.getTransports() : []
    } else {
      answer.authenticatorData = toText(response.authenticatorData)
      answer.signature = toText(response.signature)
    }
    return JSON.stringify({ id, rawId: toText(rawId), type, response: answer })
  }

  for (const form of document.querySelectorAll('form[data-passkey]')) {
    if (!window.PublicKeyCredential) continue
    const fault = form.querySelector('[data-fault]')
    form.hidden = false
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      fault.hidden = true
      try {
        form.elements.passkey.value = describe(await ask(form))
        form.submit()
      } catch {
        fault.hidden = false
      }
    })
  }
}
`

const VERSION = createHash('sha256').update(passkeyScript).digest('hex').slice(0, 12)

/** At the end of a page that is sent with `asks_for_passkey`. */
export const passkeyScriptTag: Html = html`<script src="/assets/passkey.js?v=${VERSION}" defer></script>`

/** A form that the script shows. `fields` come before its button. */
export function renderPasskeyForm(form: {
  kind: 'get' | 'create'
  action: string
  csrf: string
  options: object
  button: string
  fields?: Html
}): Html {
  return html`<form method="post" action="${form.action}" data-passkey="${form.kind}"
  data-options="${JSON.stringify(form.options)}" hidden>
<input type="hidden" name="csrf" value="${form.csrf}"><input type="hidden" name="passkey" value="">
${form.fields}
<p class="notice danger" role="alert" data-fault hidden>The passkey was not used. Try again, or use another way.</p>
<button class="button" type="submit">${form.button}</button>
</form>`
}
