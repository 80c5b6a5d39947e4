// The secret of a webhook and the headers of a delivery: those of our specification, and beside them those of Standard
// Webhooks (github.com/standard-webhooks), so that the official libraries verify us.

import { createHmac, randomBytes } from 'node:crypto'

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32
const USER_AGENT = 'Svc-Webhooks/1.0'

export type Delivery = {
  event_type: string
  event_id: string
  /** Exactly what is sent. */
  body: string | Uint8Array
  secret: string
  /** While a rotation is under way: the secret that receivers may still have. */
  previous_secret?: string | undefined
  /** Of this attempt: receivers refuse a timestamp that is some minutes old. */
  at: Date
}

export function mintWebhookSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64')
}

export const SECRET_PATTERN = `^${SECRET_PREFIX}[A-Za-z0-9+/]{43}=$`

/**
 * During a rotation `X-Svc-Signature`, which has room for one signature, stays with the previous secret, so that no
 * receiver breaks at that moment; the new secret's is in `X-Svc-Signature-Next`. `webhook-signature` carries both.
 */
export function deliveryHeaders(delivery: Delivery): Record<string, string> {
  const { event_type, event_id, body, secret, previous_secret } = delivery
  const timestamp = String(Math.floor(delivery.at.getTime() / 1000))
  const signed_prefix = `${event_id}.${timestamp}.`
  const standard = signStandard(secret, signed_prefix, body)
  return {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-Svc-Event': event_type,
    'X-Svc-Signature': signBody(previous_secret ?? secret, body),
    ...(previous_secret !== undefined && { 'X-Svc-Signature-Next': signBody(secret, body) }),
    'webhook-id': event_id,
    'webhook-timestamp': timestamp,
    'webhook-signature':
      previous_secret === undefined
        ? standard
        : `${standard} ${signStandard(previous_secret, signed_prefix, body)}`,
  }
}

/** The specification's: the key is the whole text of the secret, prefix included. */
function signBody(secret: string, body: string | Uint8Array): string {
  return createHmac('sha256', secret).update(body).digest('hex')
}

/** Standard Webhooks': the key is the bytes that the secret encodes. */
function signStandard(secret: string, prefix: string, body: string | Uint8Array): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(prefix).update(body).digest('base64')}`
}
