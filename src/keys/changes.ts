// Changes of a key that is in use: its settings, and its secret. Both keep the key itself, so that what it has spent, its
// limits and its history stay together (docs/decisions/0037-keys-rotate-in-place.md).

import { ApiError } from '../platform/errors.ts'
import { digestSecret, isUuid, mintApiKey } from '../platform/tokens.ts'
import { type KeyParts, type Owner, prefixOf, recordKeyEvent, requireFuture } from './keys.ts'
import { type KeyRow, type KeySettings, lockKey, replaceSecret, updateKey } from './store.ts'

export const OVERLAP_HOURS_MAX = 72
const HOUR_MS = 3_600_000

/** What is absent stays as it is; null clears. */
export type KeyChange = Partial<KeySettings>

export async function changeKey(
  parts: KeyParts,
  owner: Owner,
  id: string,
  change: KeyChange,
): Promise<KeyRow> {
  const names = Object.keys(change).sort()
  if (names.length === 0) {
    throw new ApiError('bad_request', {
      message: 'The body names nothing of a key that can be changed.',
      hint: 'Its name, limits, expiry, endpoints and addresses can be. For another billing mode or app, make another key.',
    })
  }
  requireFuture(change.expires_at ?? null, parts.clock.now())
  if (!isUuid(id)) throw new ApiError('not_found')
  return await parts.db.transaction(async (tx) => {
    const before = await lockKey(tx, { id, account_id: owner.account_id })
    if (!before) throw new ApiError('not_found')
    const key = await updateKey(tx, id, { ...before, ...withWholeSpendLimit(change, before) })
    if (!key) throw new Error('a locked key is gone')
    const details = { changed: names.join(', ') }
    await parts.feed.invalidate(tx, [`key:${id}`])
    await recordKeyEvent(parts, tx, { kind: 'key_changed', owner, key, details })
    return key
  })
}

/** An amount needs a period. Null for either takes the limit away; an amount alone keeps the period. */
function withWholeSpendLimit(change: KeyChange, before: KeySettings): KeyChange {
  const { spend_limit_credits: credits, spend_limit_period: period } = change
  if (credits === undefined && period === undefined) return change
  const clears = (credits ?? null) === null && (period ?? null) === null
  const wanted = clears ? { spend_limit_credits: null, spend_limit_period: null } : change
  const after = { ...before, ...wanted }
  if ((after.spend_limit_credits === null) === (after.spend_limit_period === null)) {
    return { ...change, ...wanted }
  }
  throw new ApiError('bad_request', {
    message: 'body.spend_limit_credits and body.spend_limit_period come together.',
    param: 'spend_limit_credits',
  })
}

/** The secret before ends at once, or with the overlap; one that was still ending from an earlier rotation ends now. */
export async function rotateKey(
  parts: KeyParts,
  owner: Owner,
  id: string,
  overlap_hours: number,
): Promise<{ key: string; row: KeyRow }> {
  if (!isUuid(id)) throw new ApiError('not_found')
  const key = mintApiKey()
  const until = new Date(parts.clock.now().getTime() + overlap_hours * HOUR_MS)
  const row = await parts.db.transaction(async (tx) => {
    const rotated = await replaceSecret(
      tx,
      { id, account_id: owner.account_id },
      {
        token_digest: digestSecret(key),
        prefix: prefixOf(key),
        previous_secret_until: overlap_hours > 0 ? until : null,
      },
    )
    if (!rotated) throw new ApiError('not_found')
    await parts.feed.invalidate(tx, [`key:${id}`])
    const details = { overlap_hours }
    await recordKeyEvent(parts, tx, { kind: 'key_rotated', owner, key: rotated, details })
    return rotated
  })
  return { key, row }
}
