// Events that no movement of credits carries, for the outbox: written in the transaction of what they announce.

import type { Tx } from '../platform/db.ts'
import { toJson } from '../platform/money.ts'
import { bucketOf } from './bucket.ts'
import { INSERT_EVENT } from './store.ts'

export type AccountEvent = {
  account_id: string
  kind: 'user.connected' | 'user.disconnected'
  /** The connection it is about. */
  source_id: string
  payload: object
}

export async function recordEvent(tx: Tx, event: AccountEvent): Promise<void> {
  const { account_id, kind, source_id, payload } = event
  await tx.run(INSERT_EVENT, [bucketOf(account_id), account_id, source_id, kind, toJson(payload)])
}
