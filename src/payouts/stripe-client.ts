// The official client of Stripe, pointed at the address of the settings.

import { Stripe } from 'stripe'

const TIMEOUT_MS = 20_000

export function createStripe(options: {
  secret_key: string
  base_url: string | undefined
  timeout_ms?: number
}): Stripe {
  const { secret_key, base_url, timeout_ms = TIMEOUT_MS } = options
  return new Stripe(secret_key, {
    ...(base_url !== undefined && addressOf(new URL(base_url))),
    telemetry: false,
    timeout: timeout_ms,
    maxNetworkRetries: 2,
  })
}

function addressOf(url: URL): { host: string; port: string; protocol: 'http' | 'https' } {
  const protocol = url.protocol === 'http:' ? 'http' : 'https'
  return { host: url.hostname, port: url.port || (protocol === 'http' ? '80' : '443'), protocol }
}
