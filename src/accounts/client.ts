// Who is at the other end of a request, as far as it says: kept with sessions and events, for owners to recognise
// themselves by and for whoever looks into a break-in.

import type { FastifyRequest } from 'fastify'
import { addressBucket } from '../http/address-bucket.ts'
import { readDeviceCookie } from '../http/session-cookie.ts'

const USER_AGENT_LENGTH_MAX = 300

export type Client = {
  ip: string
  user_agent: string | undefined
  /** What an earlier sign-in left in the browser: sign-in/known-devices.ts. */
  device_token?: string | undefined
}

export function clientOf(request: FastifyRequest): Client {
  return {
    ip: request.ip,
    user_agent: request.headers['user-agent'],
    device_token: readDeviceCookie(request),
  }
}

export function storedUserAgent({ user_agent }: Client): string | null {
  return user_agent?.replaceAll('\u0000', '').slice(0, USER_AGENT_LENGTH_MAX) ?? null
}

/** The range of an address, which stays the same while a provider hands out another one: a /24, or a /48. */
export function describePlace(ip: string | null): string {
  const bucket = ip === null ? 'unknown' : addressBucket(ip)
  if (bucket === 'unknown') return 'unknown'
  return bucket.includes(':')
    ? `${bucket.split(':').slice(0, 3).join(':')}::/48`
    : `${bucket.split('.').slice(0, 3).join('.')}.0/24`
}

/** The first that a user agent names counts: Edge calls itself Chrome as well, and Chrome calls itself Safari. */
const BROWSERS = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\b(OPR|Opera)\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|HeadlessChrome|Chromium|CriOS)\//],
  ['Safari', /\bSafari\//],
] as const

const SYSTEMS = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['macOS', /\bMac OS X\b/],
  ['Linux', /\bLinux\b/],
] as const

const PROGRAM = /^([A-Za-z][\w.-]{0,39})(\/|$)/

/** Such as “Chrome on Windows” or “curl”. Versions are left out: an update is no new device. */
export function describeDevice(user_agent: string | null | undefined): string {
  if (!user_agent) return 'unknown device'
  const browser = BROWSERS.find(([, pattern]) => pattern.test(user_agent))?.[0]
  const system = SYSTEMS.find(([, pattern]) => pattern.test(user_agent))?.[0]
  if (browser !== undefined) return system === undefined ? browser : `${browser} on ${system}`
  const program = PROGRAM.exec(user_agent)?.[1]
  return program === undefined || program === 'Mozilla' ? 'unknown device' : program
}
