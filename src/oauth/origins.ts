// Origins: which pages may call with an app's tokens. Kept as a browser sends them, so that comparing is equality.

import { ApiError } from '../platform/errors.ts'

export const ORIGINS_MAX = 10
export const ORIGIN_LENGTH_MAX = 255
const HTTPS_PATTERN = /^https:\/\/[a-z0-9.-]+(:\d{1,5})?$/
const LOOPBACK_PATTERN = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?$/
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
