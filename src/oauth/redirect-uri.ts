// Where a user may be sent back to. Registered addresses are compared as text, never as parsed URLs: a parser
// forgives what an attacker can use. The one exception is the port of a loopback address (RFC 8252, 7.3).

import { ApiError } from '../platform/errors.ts'
import type { ClientType } from './client-types.ts'

export const REDIRECT_URIS_MAX = 10
const LENGTH_MAX = 2048
/** Printable ASCII without space, quotes, backslash, angle brackets, wildcard and fragment. */
const PLAIN_PATTERN = /^[!$-)+-;=?-[\]_a-z~%]+$/i
/** One host after the scheme, then a port, a path or a query; no user information. */
const HTTPS_PATTERN = /^https:\/\/[a-z0-9.-]+(:\d{1,5})?([/?].*)?$/i
const LOOPBACK_PATTERN =
  /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::([1-9]\d{0,4}))?([/?].*)?$/
/**
 * A scheme of the app's own (RFC 8252, 7.1): a domain name backwards, one slash, no host. No scheme that a browser or
 * system acts on itself, such as javascript, data, file, blob, about, ws or intent, has a dot.
 */
const PRIVATE_PATTERN = /^[a-z][a-z0-9]*(\.[a-z0-9][a-z0-9-]*)+:\/([^/].*)?$/
const PORT_MAX = 65_535

/** Refuses what must not be registered, and answers the addresses as they were given. */
export function requireRedirectUris(
  uris: readonly string[],
  client_type: ClientType = 'web_server',
): string[] {
  if (uris.length === 0 || uris.length > REDIRECT_URIS_MAX) {
    throw refusal(`An app has 1 to ${REDIRECT_URIS_MAX} redirect URIs.`, client_type)
  }
  for (const uri of uris) {
    if (!isAcceptable(uri, client_type)) {
      throw refusal(`${JSON.stringify(uri.slice(0, 200))} cannot be a redirect URI.`, client_type)
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

function isAcceptable(uri: string, client_type: ClientType): boolean {
  if (uri.length > LENGTH_MAX || !PLAIN_PATTERN.test(uri) || !URL.canParse(uri)) return false
  const is_native = client_type === 'native'
  if (withoutPort(uri) !== undefined) return is_native || !uri.startsWith('http://[')
  if (is_native && PRIVATE_PATTERN.test(uri)) return true
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

/** What a person is told about where they return to: the host, or for an app's own scheme that scheme. */
export function describeRedirectUri(uri: string): { place: string; is_loopback: boolean } {
  const { host, protocol } = new URL(uri)
  return { place: host === '' ? protocol : host, is_loopback: withoutPort(uri) !== undefined }
}

function refusal(message: string, client_type: ClientType): ApiError {
  return new ApiError('invalid_request', {
    message,
    param: 'redirect_uris',
    hint: `Use https://, or http://localhost and http://127.0.0.1 with any port${
      client_type === 'native' ? ', or a scheme of your own such as com.example.app:/callback' : ''
    }. No wildcard, fragment, user name or space; each address is compared exactly.`,
  })
}
