// Where a user may be sent back to. Registered addresses are compared as text, never as parsed URLs: a parser
// forgives what an attacker can use. The one exception is the port of a loopback address (RFC 8252, 7.3).

import { ApiError } from '../platform/errors.ts'

export const REDIRECT_URIS_MAX = 10
const LENGTH_MAX = 2048
/** Printable ASCII without space, quotes, backslash, angle brackets, wildcard and fragment. */
const PLAIN_PATTERN = /^[!$-)+-;=?-[\]_a-z~%]+$/i
/** One host after the scheme, then a port, a path or a query; no user information. */
const HTTPS_PATTERN = /^https:\/\/[a-z0-9.-]+(:\d{1,5})?([/?].*)?$/i
const LOOPBACK_PATTERN = /^(http:\/\/(?:localhost|127\.0\.0\.1))(?::([1-9]\d{0,4}))?([/?].*)?$/
const PORT_MAX = 65_535

/** Refuses what must not be registered, and answers the addresses as they were given. */
export function requireRedirectUris(uris: readonly string[]): string[] {
  if (uris.length === 0 || uris.length > REDIRECT_URIS_MAX) {
    throw refusal(`An app has 1 to ${REDIRECT_URIS_MAX} redirect URIs.`)
  }
  for (const uri of uris) {
    if (!isAcceptable(uri)) {
      throw refusal(`${JSON.stringify(uri.slice(0, 200))} cannot be a redirect URI.`)
    }
  }
  return [...new Set(uris)]
}

export function matchesRedirectUri(registered: readonly string[], given: string): boolean {
  if (given.length > LENGTH_MAX) return false
  if (registered.includes(given)) return true
  const loopback = withoutPort(given)
  return loopback !== undefined && registered.some((uri) => withoutPort(uri) === loopback)
}

function isAcceptable(uri: string): boolean {
  if (uri.length > LENGTH_MAX || !PLAIN_PATTERN.test(uri) || !URL.canParse(uri)) return false
  if (withoutPort(uri) !== undefined) return true
  if (!HTTPS_PATTERN.test(uri)) return false
  // What the parser makes of the host must be what was written.
  const { hostname, username, password } = new URL(uri)
  const written = uri.slice('https://'.length).split(/[/?:]/)[0]
  return hostname === written?.toLowerCase() && username === '' && password === ''
}

/** The address without its port, if it is plain http on this machine. */
function withoutPort(uri: string): string | undefined {
  if (!PLAIN_PATTERN.test(uri)) return undefined
  const [, origin, port, rest] = LOOPBACK_PATTERN.exec(uri) ?? []
  if (origin === undefined || Number(port ?? 1) > PORT_MAX) return undefined
  return `${origin}${rest ?? ''}`
}

function refusal(message: string): ApiError {
  return new ApiError('invalid_request', {
    message,
    param: 'redirect_uris',
    hint: 'Use https://, or http://localhost and http://127.0.0.1 with any port. No wildcard, fragment, user name or space; each address is compared exactly.',
  })
}
