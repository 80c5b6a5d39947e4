// SQL of what operators change of an account.

import { statement, type Tx } from '../platform/db.ts'

const MARK_SUSPENDED = statement<{ id: string }>(
  'accounts.mark_suspended',
  `update account
   set suspended_at = $2::timestamptz, suspended_reason = $3::text
   where id = $1::uuid
     and suspended_at is null
   returning id`,
)

const MARK_RESUMED = statement<{ id: string }>(
  'accounts.mark_resumed',
  `update account
   set suspended_at = null, suspended_reason = null,
       -- The days to come back count again from where they stood.
       closes_at = closes_at + ($2::timestamptz - suspended_at)
   where id = $1::uuid
     and suspended_at is not null
   returning id`,
)

const SET_OPERATOR = statement<{ id: string }>(
  'accounts.set_operator',
  `update account
   set is_operator = $2::boolean
   where id = $1::uuid
     and is_operator <> $2::boolean
   returning id`,
)

export async function markSuspended(
  tx: Tx,
  act: { account_id: string; reason: string; at: Date },
): Promise<boolean> {
  return (await tx.run(MARK_SUSPENDED, [act.account_id, act.at, act.reason])).length > 0
}

export async function markResumed(tx: Tx, account_id: string, at: Date): Promise<boolean> {
  return (await tx.run(MARK_RESUMED, [account_id, at])).length > 0
}

export async function setOperator(
  tx: Tx,
  account_id: string,
  is_operator: boolean,
): Promise<boolean> {
  return (await tx.run(SET_OPERATOR, [account_id, is_operator])).length > 0
}
