// Who calls, and in which version of the API they speak.

import type { IncomingHttpHeaders } from 'node:http'
import { badRequest, StripeError } from './errors.ts'
import { API_VERSION } from './event-log.ts'

/** Bearer or, as curl's -u sends it, the user name of Basic. Live keys are never accepted. */
export function authenticate(headers: IncomingHttpHeaders): void {
  const key = readKey(headers.authorization ?? '')
  if (key === '') {
    throw new StripeError(401, 'invalid_request_error', {
      message:
        "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See https://stripe.com/docs/api#authentication for details.",
    })
  }
  if (/^(sk|rk)_test_\w+$/.test(key) && !key.toLowerCase().includes('invalid')) return
  throw new StripeError(401, 'invalid_request_error', {
    message: `Invalid API Key provided: ${key.slice(0, 8)}${'*'.repeat(8)}${key.slice(-4)}`,
  })
}

export function readVersion(headers: IncomingHttpHeaders): string {
  const version = headers['stripe-version'] ?? API_VERSION
  if (typeof version === 'string' && /^\d{4}-\d{2}-\d{2}(\.\w+)?$/.test(version)) return version
  throw badRequest(`Invalid Stripe API version: ${String(version)}`)
}

function readKey(authorization: string): string {
  const [, scheme = '', value = ''] = /^(\w+)\s+(\S+)/.exec(authorization) ?? []
  if (scheme.toLowerCase() === 'bearer') return value
  if (scheme.toLowerCase() !== 'basic') return ''
  return Buffer.from(value, 'base64').toString('utf8').split(':')[0] ?? ''
}
