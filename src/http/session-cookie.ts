// The cookie `svc_session`, the session token for browsers, and `svc_device`, which outlives it. The name of the first is
// fixed by the interface, so the `__Host-` prefix is not to be had; a request with two of them is treated as having none
// instead.

import type { FastifyReply, FastifyRequest } from 'fastify'

const NAME = 'svc_session'
/** Says that the browser has signed in before; opens nothing. */
const DEVICE_NAME = 'svc_device'
const DEVICE_MAX_AGE_S = 365 * 24 * 60 * 60

export function readSessionCookie(request: FastifyRequest): string | undefined {
  return readCookie(request, NAME)
}

export function readDeviceCookie(request: FastifyRequest): string | undefined {
  return readCookie(request, DEVICE_NAME)
}

export function setDeviceCookie(
  reply: FastifyReply,
  cookie: { token: string; secure: boolean },
): void {
  const secure = cookie.secure ? '; Secure' : ''
  reply.header(
    'set-cookie',
    `${DEVICE_NAME}=${cookie.token}; Path=/; Max-Age=${DEVICE_MAX_AGE_S}; HttpOnly; SameSite=Lax${secure}`,
  )
}

export function readCookie(request: FastifyRequest, name: string): string | undefined {
  const header = request.headers.cookie
  if (header === undefined) return undefined
  const found = header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  return found.length === 1 ? found[0]?.slice(name.length + 1) : undefined
}

export function setSessionCookie(
  reply: FastifyReply,
  cookie: { token: string; max_age_s: number; secure: boolean },
): void {
  const secure = cookie.secure ? '; Secure' : ''
  reply.header(
    'set-cookie',
    `${NAME}=${cookie.token}; Path=/; Max-Age=${cookie.max_age_s}; HttpOnly; SameSite=Lax${secure}`,
  )
}

/**
 * Whether a write that is authenticated by cookie was asked for by a page of another site. Browsers send at
 * least one of the two headers with every such request; programs that send neither are no browser.
 */
export function isCrossSite(request: FastifyRequest, public_origin: string): boolean {
  const site = request.headers['sec-fetch-site']
  const { origin } = request.headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return true
  if (origin === undefined || origin === public_origin) return false
  // The page may be open under another name of ours, 127.0.0.1 for localhost; then the browser vouches for it.
  return site !== 'same-origin'
}
