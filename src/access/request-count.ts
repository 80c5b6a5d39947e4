// How requests are counted: each for its key, session or grant, or else for its address, and those of a route with a limit of its
// own for their address too.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientOf } from '../accounts/client.ts'
import { deviceDigestOf } from '../accounts/sign-in/known-devices.ts'
import type { RoutePolicy } from '../http/access.ts'
import {
  addressBucket,
  type LimitName,
  type RateLimits,
  type Slot,
  setLimitHeaders,
} from '../http/rate-limit.ts'
import { isAllowedFrom } from '../keys/restrictions.ts'

type Counted = { request: FastifyRequest; reply: FastifyReply; policy: RoutePolicy }

export async function countRequest(
  limits: RateLimits,
  { request, reply, policy }: Counted,
): Promise<void> {
  if (policy.counts_itself) {
    showAllowance(limits, request, reply)
    return
  }
  const { name, key, max } = counterOf(request)
  applySlot(limits, reply, name, await limits.take(name, key, max))
  const { rate_limit, spares_devices } = policy
  if (rate_limit === undefined) return
  if (spares_devices && deviceDigestOf(clientOf(request)) !== undefined) return
  const slot = await limits.take(rate_limit, addressBucket(request.ip))
  applySlot(limits, reply, rate_limit, slot)
}

export function applySlot(
  limits: RateLimits,
  reply: FastifyReply,
  name: LimitName,
  slot: Slot,
): void {
  setLimitHeaders(reply, slot)
  if (!slot.allowed) throw limits.refusal(name, slot)
}

export function showAllowance(
  limits: RateLimits,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  setLimitHeaders(reply, limits.peek('global', addressBucket(request.ip)))
}

/** Whose requests are counted together, against which limit, and how many they may make if the limit is their own. */
type Counter = { name: LimitName; key: string; max?: number | undefined }

export function counterOf(request: FastifyRequest): Counter {
  const { principal } = request
  const byAddress = (): Counter => ({ name: 'global', key: addressBucket(request.ip) })
  switch (principal?.kind) {
    case undefined:
      // A credential that is not valid counts for its address: a new invented key must not be a new allowance.
      return byAddress()
    case 'key':
      // Nor must a key be used up from where it does not work.
      if (principal.restrictions && !isAllowedFrom(principal.restrictions, request.ip))
        return byAddress()
      return {
        name: 'global',
        key: principal.key_id,
        max: principal.rate_limit_per_minute ?? undefined,
      }
    case 'session':
      return { name: principal.by_cookie ? 'session' : 'global', key: principal.session_id }
    case 'token':
      // By grant: a refreshed token must not be a new allowance.
      return { name: 'global', key: principal.grant_id }
  }
}
