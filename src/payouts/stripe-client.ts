// The official client of Stripe, pointed at the address of the settings.

import { createRequire } from 'node:module'
import type { Stripe } from 'stripe'

const TIMEOUT_MS = 20_000

const require = createRequire(import.meta.url)

/** Loaded when it is first needed: it has 270 files, and a start would wait a quarter of a second for them. */
function loadPackage(): typeof Stripe {
  return require('stripe') as typeof Stripe
}

/** The classes of what its calls throw. */
export function stripeErrors(): typeof Stripe.errors {
  return loadPackage().errors
}

/** Made when it is first used. */
export function createStripe(options: {
  secret_key: string
  base_url: string | undefined
  timeout_ms?: number
}): Stripe {
  const { secret_key, base_url, timeout_ms = TIMEOUT_MS } = options
  let client: Stripe | undefined
  const open = (): Stripe => {
    client ??= new (loadPackage())(secret_key, {
      ...(base_url !== undefined && addressOf(new URL(base_url))),
      telemetry: false,
      timeout: timeout_ms,
      maxNetworkRetries: 2,
    })
    return client
  }
  return new Proxy({} as Stripe, { get: (_empty, name) => Reflect.get(open(), name) })
}

function addressOf(url: URL): { host: string; port: string; protocol: 'http' | 'https' } {
  const protocol = url.protocol === 'http:' ? 'http' : 'https'
  return { host: url.hostname, port: url.port || (protocol === 'http' ? '80' : '443'), protocol }
}
