// What the ledger knows of a call that its process may not have brought to an end.

import type { Queryable } from '../platform/db.ts'
import { bucketOf } from './bucket.ts'
import { SELECT_CALL_STATE } from './call-state-store.ts'

/** `node_lives`: the process that made it has not been declared dead. */
export type CallState = { is_charged: boolean; is_held: boolean; node_lives: boolean }

export async function readCallState(
  db: Queryable,
  call: { id: string; node_id: string },
): Promise<CallState> {
  const [state] = await db.run(SELECT_CALL_STATE, [bucketOf(call.id), call.id, call.node_id])
  if (!state) throw new Error('a question without a row in its answer')
  return state
}
