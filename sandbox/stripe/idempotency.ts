// Stripe's idempotency layer. The result of a request is saved under its key as soon as the endpoint
// begins to execute, errors of both kinds included, and replayed for a day. A key may be pruned after
// that, and then executes again; the stand-in prunes at once, which is the harder case for clients.

import { StripeError } from './errors.ts'

const KEEP_MS = 24 * 3_600_000
const MAX_KEYS = 100_000
export const MAX_KEY_LENGTH = 255

export type SavedResult = { status: number; body: string; request_id: string }
type Entry = {
  begun_at_ms: number
  endpoint: string
  fingerprint: string
  result: SavedResult | undefined
}

export type KeyStore = {
  /** A saved result to replay, or undefined: then the caller executes and finishes. */
  begin(key: string, request: { endpoint: string; fingerprint: string }): SavedResult | undefined
  finish(key: string, result: SavedResult): void
  size(): number
}

export function createKeyStore(now_ms: () => number): KeyStore {
  const entries = new Map<string, Entry>()

  function prune(): void {
    for (const [key, { begun_at_ms, result }] of entries) {
      if (result === undefined || now_ms() - begun_at_ms < KEEP_MS) break
      entries.delete(key)
    }
    if (entries.size < MAX_KEYS) return
    throw new StripeError(500, 'api_error', {
      message: `The sandbox remembers at most ${MAX_KEYS} idempotency keys a day.`,
    })
  }

  return {
    begin(key, { endpoint, fingerprint }) {
      const known = entries.get(key)
      if (known !== undefined && known.result === undefined) throw keyInUse(key)
      if (known?.result !== undefined && now_ms() - known.begun_at_ms < KEEP_MS) {
        if (known.endpoint !== endpoint) throw otherEndpoint(key, known.endpoint, endpoint)
        if (known.fingerprint !== fingerprint) throw otherParameters(key)
        return known.result
      }
      entries.delete(key)
      prune()
      entries.set(key, { begun_at_ms: now_ms(), endpoint, fingerprint, result: undefined })
      return undefined
    },
    finish(key, result) {
      const entry = entries.get(key)
      if (entry !== undefined) entry.result = result
    },
    size: () => entries.size,
  }
}

export function keyInUse(key: string): StripeError {
  return new StripeError(409, 'idempotency_error', {
    message: `There is currently another in-progress request using this Idempotency Key (that probably means you submitted twice, and the other request is still going through): ${key}. Please try again later.`,
    code: 'idempotency_key_in_use',
  })
}

function otherParameters(key: string): StripeError {
  return new StripeError(400, 'idempotency_error', {
    message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
  })
}

function otherEndpoint(key: string, first: string, second: string): StripeError {
  return new StripeError(400, 'idempotency_error', {
    message: `Keys for idempotent requests can only be used for the same endpoint they were first used for ('${first}' vs '${second}'). Try using a key other than '${key}' if you meant to execute a different request.`,
  })
}
