// Background work of the OAuth server: ends what nobody refreshed or used, deletes what has expired.

import type { Job } from '../platform/worker.ts'
import { deleteExpiredRequests } from './device/store.ts'
import { deleteExpiredTokens, deleteProofs, forgetReplays } from './expiry-store.ts'
import { endLapsedGrants, type GrantParts, type LapseParts } from './grants.ts'

const MINUTE_MS = 60_000
/** Used codes are kept this long past their end: a second use then still ends the grant. */
const KEPT_MS = 24 * 60 * MINUTE_MS

/** Codes of devices are kept this long past their end: until then a poll is told that it came too late. */
const DEVICE_KEPT_MS = 60 * MINUTE_MS

/** What is left after them waits for the next run. */
const ROUNDS_MAX = 100

export function oauthJobs(parts: LapseParts): Job[] {
  return [
    {
      name: 'oauth.end_lapsed_grants',
      every_ms: 10 * MINUTE_MS,
      run: (signal) => endLapsedGrants(parts, signal),
    },
    {
      name: 'oauth.forget_replays',
      every_ms: MINUTE_MS,
      run: () => forgetReplays(parts.db, new Date(parts.clock.now().getTime() - MINUTE_MS)),
    },
    {
      name: 'oauth.delete_proofs',
      every_ms: MINUTE_MS,
      run: (signal) => inRounds(signal, () => deleteProofs(parts.db, parts.clock.now())),
    },
    {
      name: 'oauth.delete_expired',
      every_ms: 10 * MINUTE_MS,
      run: (signal) => deleteExpired(parts, signal),
    },
  ]
}

async function deleteExpired(parts: GrantParts, signal: AbortSignal): Promise<void> {
  const now_ms = parts.clock.now().getTime()
  const [before, devices_before] = [new Date(now_ms - KEPT_MS), new Date(now_ms - DEVICE_KEPT_MS)]
  await inRounds(signal, () => deleteExpiredTokens(parts.db, before))
  await inRounds(signal, () => deleteExpiredRequests(parts.db, devices_before))
}

async function inRounds(signal: AbortSignal, hasMore: () => Promise<boolean>): Promise<void> {
  for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round++) {
    if (!(await hasMore())) return
  }
}
