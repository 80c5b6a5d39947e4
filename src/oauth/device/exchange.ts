// The poll of a device: not yet, too soon, too late, no, or the tokens. These are given once, in the transaction that
// notes it, and what it decides is committed before the device is told.

import type { Tx } from '../../platform/db.ts'
import { ApiError } from '../../platform/errors.ts'
import type { AppRow } from '../app-store.ts'
import { activate, bindGrant, invalidGrant } from '../code-exchange.ts'
import { type DpopProof, useProof } from '../dpop.ts'
import type { GrantParts } from '../grants.ts'
import { matchesChallenge } from '../pkce.ts'
import { lockGrants } from '../store.ts'
import type { IssuedTokens } from '../tokens.ts'
import { digestDeviceCode, isDeviceCode } from './codes.ts'
import { requireDeviceGrant } from './requests.ts'
import {
  type DeviceRequestRow,
  findByDeviceCode,
  lockRequest,
  setConsumed,
  setPoll,
} from './store.ts'

export const DEVICE_GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:device_code'

/** What each poll that came too early adds to the time between two (RFC 8628, section 3.5). */
const SLOW_DOWN_S = 5
const INTERVAL_MAX_S = 60
/** A poll that left in time may arrive a little closer to the one before, which took longer. */
const EARLY_MS = 500

export type DevicePoll = {
  device_code: string
  /** Needed where the request came with a challenge, and only there. */
  code_verifier: string | undefined
  /** Binds the grant to its key, with the tokens. */
  proof: DpopProof | undefined
}

export async function exchangeDeviceCode(
  parts: GrantParts,
  app: AppRow,
  given: DevicePoll,
): Promise<IssuedTokens> {
  requireDeviceGrant(app)
  if (!isDeviceCode(given.device_code)) throw invalidGrant()
  const outcome = await parts.db.transaction((tx) => pollOnce(parts, tx, app, given))
  if (outcome === 'reused') {
    // The grant lives on: who has the code gets nothing for it, and a device that polls twice at once keeps its tokens.
    parts.log.warn({ client_id: app.client_id, alarm: 'device_code_reused' }, 'a code came twice')
  }
  if (outcome === 'refused' || outcome === 'reused') throw invalidGrant()
  if (typeof outcome === 'string') throw new ApiError(outcome)
  return outcome
}

type Refusal =
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'
  | 'access_denied'
  | 'refused'
  | 'reused'

async function pollOnce(
  parts: GrantParts,
  tx: Tx,
  app: AppRow,
  given: DevicePoll,
): Promise<IssuedTokens | Refusal> {
  const seen = await findByDeviceCode(tx, digestDeviceCode(given.device_code))
  if (!seen || seen.app_id !== app.id || !verifies(seen, given)) return 'refused'
  const request = await lockRequest(tx, seen)
  if (!request) return 'refused'
  if (request.consumed_at !== null) return 'reused'
  const now = parts.clock.now()
  if (request.expires_at <= now) return 'expired_token'
  if (request.decided_at === null) return await keepWaiting(tx, request, now)
  if (request.grant_id === null) return 'access_denied'
  const [grant] = await lockGrants(tx, [request.grant_id])
  // The user allowed it and then disconnected the app, before the device came.
  if (!grant || grant.ended_at !== null) return 'access_denied'
  await setConsumed(tx, request.id, now)
  if (given.proof) await useProof(tx, given.proof)
  const bound = bindGrant(grant, given.proof, now)
  return await activate(parts, tx, { grant: bound, replaced: undefined, is_taken: false })
}

function verifies({ code_challenge }: DeviceRequestRow, { code_verifier }: DevicePoll): boolean {
  if (code_challenge === null || code_verifier === undefined) {
    return code_challenge === null && code_verifier === undefined
  }
  return matchesChallenge(code_verifier, code_challenge)
}

async function keepWaiting(
  tx: Tx,
  { id, polled_at, interval_s }: DeviceRequestRow,
  now: Date,
): Promise<'authorization_pending' | 'slow_down'> {
  const early =
    polled_at !== null && now.getTime() - polled_at.getTime() < interval_s * 1000 - EARLY_MS
  await setPoll(tx, id, {
    polled_at: now,
    interval_s: early ? Math.min(interval_s + SLOW_DOWN_S, INTERVAL_MAX_S) : interval_s,
  })
  return early ? 'slow_down' : 'authorization_pending'
}
