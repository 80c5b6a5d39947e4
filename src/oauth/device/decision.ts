// What the user does about a device: types its code, sees who asks, and allows or denies it. Wrong codes are counted.

import { lockAccount } from '../../accounts/proof-store.ts'
import { requireOpenSession } from '../../accounts/sessions.ts'
import { addressBucket, type RateLimits } from '../../http/rate-limit.ts'
import type { Actor } from '../actor.ts'
import type { AppRow } from '../app-store.ts'
import { findAppOfClient } from '../apps.ts'
import { type Approval, openGrant } from '../consent.ts'
import type { GrantParts } from '../grants.ts'
import { suspended } from '../suspension.ts'
import { digestUserCode } from './codes.ts'
import { isUndecided } from './requests.ts'
import { type DeviceRequestRow, findByUserCode, lockRequest, setDecision } from './store.ts'

/** How long a device has to fetch the answer: nobody should wait with it until the user looks away. */
const FETCH_MS = 2 * 60_000

export type DecisionParts = GrantParts & { limits: RateLimits }

/** A request that waits for a decision, found by its code. */
export type OpenRequest = { request: DeviceRequestRow; app: AppRow; user_code: string }

/**
 * Undefined for a code that nobody waits with: unknown, expired or decided. Counted before it is looked up, so that many
 * at once are no way around the limit; what was right is given back.
 */
export async function findOpenRequest(
  parts: DecisionParts,
  user_code: string,
  guesser: { account_id: string; ip: string },
): Promise<OpenRequest | undefined> {
  // The address first: what its neighbours used up must not count for the account, which may go on elsewhere.
  const keys = [addressBucket(guesser.ip), guesser.account_id]
  for (const key of keys) await parts.limits.require('user_code', key)
  const request = await findByUserCode(parts.db, digestUserCode(user_code))
  if (!request || !isUndecided(request, parts.clock.now())) return undefined
  const app = await findAppOfClient(parts.db, request.client_id)
  if (!app?.device_grant) return undefined
  for (const key of keys) await parts.limits.giveBack('user_code', key)
  if (app.suspended_reason !== null) throw suspended(app.suspended_reason)
  return { request, app, user_code }
}

/** Answers false where somebody decided first, or it was too late. */
export async function approveDevice(
  parts: DecisionParts,
  { request, app }: OpenRequest,
  approval: Approval,
): Promise<boolean> {
  const { scopes } = request
  return await parts.db.transaction(async (tx) => {
    // Before the request: an account that is closed takes its apps and their requests with it, in this order.
    await lockAccount(tx, approval.account_id)
    const now = parts.clock.now()
    const locked = await lockRequest(tx, request)
    if (!locked || !isUndecided(locked, now)) return false
    const terms = { app, scopes, external_user_id: null }
    const grant_id = await openGrant(parts, tx, terms, approval)
    await setDecision(tx, request.id, { ...timesOf(now), grant_id })
    return true
  })
}

export async function denyDevice(
  parts: DecisionParts,
  { request }: OpenRequest,
  actor: Actor,
): Promise<boolean> {
  return await parts.db.transaction(async (tx) => {
    await requireOpenSession(parts, tx, actor.session_id)
    const now = parts.clock.now()
    const locked = await lockRequest(tx, request)
    if (!locked || !isUndecided(locked, now)) return false
    await setDecision(tx, request.id, { ...timesOf(now), grant_id: null })
    return true
  })
}

function timesOf(decided_at: Date) {
  return { decided_at, expires_at: new Date(decided_at.getTime() + FETCH_MS) }
}
