// Origins: which pages may call with an app's tokens. Those of its redirect addresses, and those that it registered
// besides, kept as a browser sends them, so that comparing is equality. No wall against programs, which can lie, but
// against other pages.

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'

export const ORIGINS_MAX = 10
export const ORIGIN_LENGTH_MAX = 255
const HTTPS_PATTERN = /^https:\/\/[a-z0-9.-]+(:\d{1,5})?$/
const LOOPBACK_PATTERN = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?$/
/** What shells around a web page make up: capacitor://localhost, tauri://localhost. */
const SHELL_PATTERN = /^([a-z][a-z0-9+-]{1,31}):\/\/[a-z0-9.-]+$/
/** Schemes that belong to the web itself, to files, or to pages without an origin of their own. */
const NO_SHELL = new Set([
  'http',
  'https',
  'ws',
  'wss',
  'ftp',
  'file',
  'data',
  'blob',
  'about',
  'javascript',
  'intent',
])

/** Refuses what no browser would send, and answers each origin once. */
export function requireOrigins(origins: readonly string[]): string[] {
  if (origins.length > ORIGINS_MAX) throw refusal(`An app has at most ${ORIGINS_MAX} origins.`)
  for (const origin of origins) {
    if (!isOrigin(origin)) {
      throw refusal(`${JSON.stringify(origin.slice(0, 200))} cannot be an origin.`)
    }
  }
  return [...new Set(origins)]
}

function isOrigin(origin: string): boolean {
  if (origin.length > ORIGIN_LENGTH_MAX) return false
  const scheme = SHELL_PATTERN.exec(origin)?.[1]
  if (scheme !== undefined && !NO_SHELL.has(scheme)) return true
  if (!HTTPS_PATTERN.test(origin) && !LOOPBACK_PATTERN.test(origin)) return false
  // As a browser writes it: without the usual port, and with no number that is none.
  return URL.canParse(origin) && new URL(origin).origin === origin
}

function refusal(message: string): ApiError {
  return new ApiError('invalid_request', {
    message,
    param: 'origins',
    hint: 'Use https://app.example.com, http://localhost:5173 or capacitor://localhost: lower case, without a path, and without the port that goes without saying.',
  })
}

type AppAddresses = {
  readonly redirect_uris: readonly string[]
  readonly origins: readonly string[]
}

export function originsOf({ redirect_uris, origins }: AppAddresses): readonly string[] {
  // The address of a native app's own scheme has no origin: the parser says `null`, as do pages without one.
  const of_redirects = redirect_uris
    .map((uri) => withoutLoopbackPort(new URL(uri).origin))
    .filter((origin) => origin !== 'null')
  return [...new Set([...of_redirects, ...origins])]
}

/** Where no origin was sent, a program calls, and nothing is compared. */
export function requireOriginOf(request: FastifyRequest, origins: readonly string[]): void {
  const { origin } = request.headers
  if (origin === undefined || origins.includes(origin)) return
  if (origins.includes(withoutLoopbackPort(origin))) return
  throw new ApiError('forbidden', {
    message: 'This was asked for by a page that does not belong to the app.',
    hint: 'Call from a page of one of the app’s redirect addresses, or add the page’s origin to `origins` of the app.',
  })
}

/** On this machine a port is whatever was free, as for redirect addresses (RFC 8252, 7.3). */
function withoutLoopbackPort(origin: string): string {
  return LOOPBACK_PATTERN.exec(origin)?.[1] ?? origin
}
