// <svc-button client_id="…" popup remember>Sign in</svc-button>: one button that signs in and out. It is an ordinary button of the page,
// to be styled as such. `svc-change` and `svc-error` bubble from it.

import { Svc } from './svc.ts'

// Where there are no elements, as on a server that renders pages, importing must not fail.
const Element = globalThis.HTMLElement ?? EventTarget

export class SvcButton extends Element {
  svc: Svc | undefined

  connectedCallback(): void {
    if (this.svc) return
    const text = (name: string) => this.getAttribute(name) ?? undefined
    const svc = new Svc({
      client_id: text('client_id') ?? '',
      redirect_uri: text('redirect_uri'),
      scope: text('scope'),
      base_url: text('base_url'),
      remember: this.hasAttribute('remember'),
    })
    this.svc = svc
    const button = document.createElement('button')
    const label = this.textContent.trim() || 'Sign in with Svc'
    const tell = (name: string, detail?: unknown) =>
      this.dispatchEvent(new CustomEvent(`svc-${name}`, { detail, bubbles: true }))
    const fail = (error: unknown) => void tell('error', error)
    const show = () => {
      button.textContent = svc.signedIn ? 'Sign out' : label
      tell('change')
    }
    button.type = 'button'
    button.addEventListener('click', () => {
      const done = svc.signedIn ? svc.signOut() : svc.signIn({ popup: this.hasAttribute('popup') })
      done.catch(fail)
    })
    this.replaceChildren(button)
    svc.addEventListener('change', show)
    svc.handleRedirect().catch(fail)
    show()
  }
}
