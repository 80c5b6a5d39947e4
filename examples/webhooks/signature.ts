// Whether a request comes from Svc and arrived unchanged. Either function will do; `body` is the raw body, byte for byte
// as it arrived: a body that was parsed and written again may differ in a space or an escape.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const TOLERANCE_S = 5 * 60

/** By `X-Svc-Signature`, or `X-Svc-Signature-Next` while the secret is being replaced: HMAC-SHA256 of the body in hex. */
export function isFromSvc(body: Buffer, headers: IncomingHttpHeaders, secret: string): boolean {
  const expected = createHmac('sha256', secret).update(body).digest('hex')
  const given = [headers['x-svc-signature'], headers['x-svc-signature-next']]
  return given.some((signature) => isEqual(signature, expected))
}

/** By `webhook-signature` (standardwebhooks.com), which also signs the time: an old request is not taken again. */
export function isRecentFromSvc(
  body: Buffer,
  headers: IncomingHttpHeaders,
  secret: string,
): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': given } = headers
  const age_s = Math.abs(Date.now() / 1000 - Number(time))
  if (!(age_s <= TOLERANCE_S)) return false
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const hmac = createHmac('sha256', key)
    .update(`${String(id)}.${String(time)}.`)
    .update(body)
  const expected = `v1,${hmac.digest('base64')}`
  return String(given)
    .split(' ')
    .some((signature) => isEqual(signature, expected))
}

/** Takes as long for a nearly right signature as for a wrong one: the time gives nothing away. */
function isEqual(given: unknown, expected: string): boolean {
  const [one, other] = [Buffer.from(String(given)), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
