// What operators did: who, when, what, to whom, why. The table takes new rows only; the database refuses the rest.

import type { Clock } from '../platform/clock.ts'
import type { Queryable } from '../platform/db.ts'
import { mintId } from '../platform/tokens.ts'
import { type ActRow, insertAct, listActRows } from './store.ts'

export type { ActRow } from './store.ts'

export type Act = Omit<ActRow, 'id' | 'at' | 'reason' | 'details'> & {
  reason?: string | undefined
  details?: ActRow['details']
}

/**
 * In the transaction of the act. An act of a part that has a transaction of its own is recorded before it: a record of
 * something that then failed is better than something done of which there is no record.
 */
export async function recordAct(clock: Clock, db: Queryable, act: Act): Promise<void> {
  const { reason = null, details = {}, ...rest } = act
  const at = clock.now()
  await insertAct(db, { id: mintId({ at }), at, reason, details, ...rest })
}

/** Newest first. */
export async function listActs(db: Queryable, limit: number): Promise<ActRow[]> {
  return await listActRows(db, limit)
}
