// What a key may be used for and from where: its list of endpoints and its address ranges. Both are worked out once, when
// the key is read; a key without them costs one comparison a call.

import type { FastifyRequest } from 'fastify'
import type { KeyPrincipal, KeyRestrictions } from '../http/access.ts'
import { AddressRanges, normaliseRange } from '../platform/address-ranges.ts'
import { ApiError } from '../platform/errors.ts'

export const ADDRESS_RANGES_MAX = 50

/** Always allowed: a key may ask what it is. Nor is a key held to its list where none is needed, as at /v1/models. */
const OWN_DESCRIPTION = '/v1/key'

/** What can be allowed. An endpoint includes its form for a linked user, /v1/users/:external_user_id/…. */
export const KEY_ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/messages',
  '/v1/messages/count_tokens',
  '/v1/responses',
  '/v1/responses/input_tokens',
  '/v1/embeddings',
  '/v1/audio/voices',
  '/v1/audio/speech',
  '/v1/audio/sound-effects',
  '/v1/audio/transcriptions',
  '/v1/balance',
  '/v1/funding/credit',
  '/v1/generations/:id',
] as const

export type KeyEndpoint = (typeof KEY_ENDPOINTS)[number]

export type Allowed = {
  allowed_endpoints: readonly string[] | null
  allowed_ips: readonly string[] | null
}

/** Null for a key that has none. */
export function restrictionsOf({
  allowed_endpoints,
  allowed_ips,
}: Allowed): KeyRestrictions | null {
  if (allowed_endpoints === null && allowed_ips === null) return null
  return {
    endpoints: allowed_endpoints && new Set([OWN_DESCRIPTION, ...allowed_endpoints]),
    addresses: allowed_ips && new AddressRanges(allowed_ips),
  }
}

/** For the caller of a route that needs a key. */
export function requireWithin(
  { restrictions }: Pick<KeyPrincipal, 'restrictions'>,
  request: FastifyRequest,
): void {
  if (restrictions === null) return
  if (!isAllowedFrom(restrictions, request.ip)) {
    throw new ApiError('forbidden', {
      message: `This key cannot be used from ${request.ip}.`,
      hint: 'Its owner chose the addresses that it works from: allowed_ips of PATCH /developers/keys/{id}.',
    })
  }
  const { url = '' } = request.policy
  if (restrictions.endpoints?.has(endpointOf(url)) !== false) return
  throw new ApiError('forbidden', {
    message: `This key cannot be used for ${endpointOf(url)}.`,
    hint: 'Its owner chose the endpoints that it works for: allowed_endpoints of PATCH /developers/keys/{id}.',
  })
}

export function isAllowedFrom({ addresses }: KeyRestrictions, ip: string): boolean {
  return addresses === null || addresses.contains(ip)
}

/** The endpoint that a route belongs to. */
export function endpointOf(url: string): string {
  return url.replace('/users/:external_user_id/', '/')
}

/** The ranges in one spelling, each once. */
export function readRanges(given: readonly string[]): string[] {
  const ranges = given.map((text, index) => {
    const range = normaliseRange(text)
    if (range !== undefined) return range
    throw new ApiError('bad_request', {
      message: `body.allowed_ips[${index}] is no address and no range of addresses.`,
      hint: 'Write it like 203.0.113.0/24, 203.0.113.7 or 2001:db8::/32.',
      param: `allowed_ips[${index}]`,
    })
  })
  return [...new Set(ranges)]
}
