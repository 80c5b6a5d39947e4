// SQL of the security log.

import { type Queryable, statement } from '../../platform/db.ts'

const INSERT_SECURITY_EVENT = statement<object>(
  'accounts.insert_security_event',
  `insert into security_event (id, at, account_id, session_id, kind, ip, user_agent, details)
   values ($1::uuid, $2::timestamptz, $3::uuid, $4::uuid, $5::text, $6::text, $7::text, $8::jsonb)`,
)

export type SecurityEventRow = {
  id: string
  at: Date
  account_id: string
  session_id: string | null
  kind: string
  ip: string | null
  user_agent: string | null
  details: object
}

export async function insertSecurityEvent(db: Queryable, row: SecurityEventRow): Promise<void> {
  await db.run(INSERT_SECURITY_EVENT, [
    row.id,
    row.at,
    row.account_id,
    row.session_id,
    row.kind,
    row.ip,
    row.user_agent,
    JSON.stringify(row.details),
  ])
}
