// Operators raise or lower the rate limit of one API key.

import { changeKeyLimit } from '../keys/keys.ts'
import { ApiError } from '../platform/errors.ts'
import type { OperatorParts } from './accounts.ts'
import { type By, recordAct } from './acts.ts'

/** `account_id`: only if the key is that account's. */
export async function limitKey(
  parts: Pick<OperatorParts, 'db' | 'feed' | 'clock'>,
  wanted: { id: string; per_minute: number; account_id?: string },
  by: By,
): Promise<{ name: string }> {
  const { id, per_minute } = wanted
  return await parts.db.transaction(async (tx) => {
    const key = await changeKeyLimit(parts, tx, { id, per_minute })
    if (wanted.account_id !== undefined && wanted.account_id !== key.account_id) {
      throw new ApiError('not_found', { message: `This account has no key ${id}.` })
    }
    const details = { limit: per_minute }
    await recordAct(parts.clock, tx, { ...by, act: 'key-limit', subject: id, details })
    return key
  })
}
