// What operators did: who, when, what, to whom, why, from where. The table takes new rows only; the database refuses the rest.

import { readCursor, toPage } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { Queryable } from '../platform/db.ts'
import { mintId } from '../platform/tokens.ts'
import { type ActFilter, type ActRow, insertAct, listActRows } from './store.ts'

export type { ActRow } from './store.ts'

/** Who acts, why, and from where; the command line is nowhere. */
export type By = {
  who: string
  reason?: string | undefined
  operator_id?: string
  session_id?: string
  ip?: string
}

export type Act = By & Pick<ActRow, 'act' | 'subject'> & { details?: ActRow['details'] }

/**
 * In the transaction of the act. An act of a part that has a transaction of its own is recorded before it: a record of
 * something that then failed is better than something done of which there is no record.
 */
export async function recordAct(clock: Clock, db: Queryable, act: Act): Promise<void> {
  const { who, reason = null, details = {}, subject } = act
  const { operator_id = null, session_id = null, ip = null } = act
  const at = clock.now()
  const from = { operator_id, session_id, ip }
  await insertAct(db, {
    id: mintId({ at }),
    at,
    who,
    act: act.act,
    subject,
    reason,
    details,
    ...from,
  })
}

/** Newest first. */
export async function listActs(db: Queryable, limit: number): Promise<ActRow[]> {
  return await listActRows(db, { before_id: null, count: limit })
}

/** Newest first, of one operator, one kind or about one subject. */
export async function pageActs(
  db: Queryable,
  page: ActFilter & { cursor?: string; limit: number },
) {
  const { cursor, limit, ...filter } = page
  const before_id = readCursor(cursor)
  const rows = await listActRows(db, { ...filter, before_id, count: limit + 1 })
  return toPage(rows, limit, (row) => row.id)
}
