// Which pages belong to an app: those of its redirect addresses' origins, and of the origins that it registered besides. Compared
// with the `Origin` that a browser sends: no wall against programs, which can lie, but against other pages.

import type { FastifyRequest } from 'fastify'
import { ApiError } from '../platform/errors.ts'

/** On this machine a port is whatever was free, as for redirect addresses (RFC 8252, 7.3). */
const LOOPBACK = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])):\d+$/

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

function withoutLoopbackPort(origin: string): string {
  return LOOPBACK.exec(origin)?.[1] ?? origin
}
