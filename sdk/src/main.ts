// Svc for pages without a server: users sign in, and pay with their own credits. What /sdk/svc.js is built from.

import { SvcButton } from './button.ts'
import { Svc, type SvcOptions } from './svc.ts'

export { SvcError } from './replies.ts'
export type { Svc, SvcOptions } from './svc.ts'

export function createSvc(options: SvcOptions): Svc {
  return new Svc(options)
}

if (globalThis.customElements && !customElements.get('svc-button')) {
  customElements.define('svc-button', SvcButton)
}
