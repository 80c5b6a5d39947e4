// The HTTP client of deliveries. It goes to addresses that developers chose, so it dials through the guard.

import { createHttpClient, type HttpClient } from '../platform/http-client.ts'
import type { NameLookup } from '../platform/name-lookup.ts'
import { guardedConnector, type UrlRules } from '../platform/public-address.ts'

export const CONNECT_MS = 3_000
/** Shorter than any receiver's that does not announce its own: a connection it closes as we send is a failed attempt. */
const KEEP_ALIVE_MS = 4_000
/** More than deliveries that run at once, so that none is refused. */
const MAX_OPEN = 1_000

export type WebhookClient = HttpClient & { rules: UrlRules; connect_ms: number }

/** undici's Agent reads no proxy settings from the environment, so none can lead around the guard. */
export function createWebhookClient(
  options: UrlRules & { connect_ms?: number; lookup?: NameLookup },
): WebhookClient {
  const rules = { connect_ms: CONNECT_MS, ...options }
  const client = createHttpClient({
    max_open: MAX_OPEN,
    keep_alive_ms: KEEP_ALIVE_MS,
    connect: guardedConnector(rules),
  })
  return { ...client, rules, connect_ms: rules.connect_ms }
}
