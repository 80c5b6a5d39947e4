// What operators change of an account. Suspended: nothing new starts, and whoever shows a credential that depends on it
// is told why. Look-ups carry the reason along, so that a call that is allowed pays nothing for the question.

import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { recordSecurityEvent } from './security-log/security-log.ts'
import { markResumed, markSuspended, setOperator } from './suspension-store.ts'

export function requireNotSuspended({
  suspended_reason,
}: {
  readonly suspended_reason: string | null
}): void {
  if (suspended_reason === null) return
  throw new ApiError('forbidden', {
    message: `This account or app is suspended: ${suspended_reason}`,
    hint: 'Calls that run are finished, and nothing new starts. Ask the operator of this service.',
  })
}

type SuspensionParts = { log: Log; feed: InvalidationFeed }

/** False if it was suspended already: the first reason stays. */
export async function suspendAccount(
  { log, feed }: SuspensionParts,
  tx: Tx,
  act: { account_id: string; reason: string; at: Date },
): Promise<boolean> {
  const { account_id, reason, at } = act
  if (!(await markSuspended(tx, act))) return false
  await recordSecurityEvent({ log }, tx, {
    account_id,
    kind: 'account_suspended',
    at,
    details: { reason },
  })
  await feed.invalidate(tx, [`account:${account_id}`])
  return true
}

/** False if it was not suspended. */
export async function resumeAccount(
  { log, feed }: SuspensionParts,
  tx: Tx,
  act: { account_id: string; at: Date },
): Promise<boolean> {
  const { account_id, at } = act
  if (!(await markResumed(tx, account_id, at))) return false
  await recordSecurityEvent({ log }, tx, { account_id, kind: 'account_resumed', at })
  await feed.invalidate(tx, [`account:${account_id}`])
  return true
}

/** False if it was so before. Sessions that are open are those of an operator, or not, within a second. */
export async function changeOperator(
  { feed }: Pick<SuspensionParts, 'feed'>,
  tx: Tx,
  act: { account_id: string; is_operator: boolean },
): Promise<boolean> {
  if (!(await setOperator(tx, act.account_id, act.is_operator))) return false
  await feed.invalidate(tx, [`account:${act.account_id}`])
  return true
}
