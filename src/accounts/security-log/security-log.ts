// The security log of an account: every event is one row for its owner and one line in the log of the service, never
// with a secret. Recorded in the transaction of what it tells, so that there is no change without its event.

import type { Queryable } from '../../platform/db.ts'
import type { Log } from '../../platform/log.ts'
import { mintId } from '../../platform/tokens.ts'
import { type Client, storedUserAgent } from '../sessions.ts'
import type { SecurityEventKind } from './event-kinds.ts'
import { insertSecurityEvent } from './store.ts'

export type SecurityEvent = {
  account_id: string
  kind: SecurityEventKind
  at: Date
  /** Who did it; absent for what an operator or a job did. */
  client?: Client
  session_id?: string
  /** Ids and names for the owner to recognise it by: no secret, nothing of unbounded length. */
  details?: Record<string, string | number | boolean | null>
}

export async function recordSecurityEvent(
  { log }: { log: Log },
  tx: Queryable,
  event: SecurityEvent,
): Promise<void> {
  const { account_id, kind, at, client, session_id = null, details = {} } = event
  await insertSecurityEvent(tx, {
    id: mintId({ at }),
    at,
    account_id,
    session_id,
    kind,
    ip: client?.ip ?? null,
    user_agent: client === undefined ? null : storedUserAgent(client),
    details,
  })
  log.info({ security_event: kind, account_id, session_id, ip: client?.ip, ...details }, 'security')
}
