// SQL of GET /account: the account with its wallet, and how far its owner has come.

import { statement } from '../platform/db.ts'

export type AccountOverviewRow = {
  id: string
  email: string
  email_verified: boolean
  balance: bigint
  held: bigint
  available: bigint
  promotional: bigint
  is_operator: boolean
  came_from: 'registration' | 'consent'
  low_balance_credits: bigint | null
  created_at: Date
  created_key: boolean
  made_call: boolean
  topped_up: boolean
  registered_app: boolean
  added_webhook: boolean
  connected_payouts: boolean
}

// Calls of months that are archived are in the sums only. The order leads into the index: where one wallet has most of the
// rows, PostgreSQL expects to meet any wallet soon, and reads the whole table for one that has none.
export const SELECT_ACCOUNT_OVERVIEW = statement<AccountOverviewRow>(
  'usage.select_account_overview',
  `select a.id, a.email, a.email_verified_at is not null as email_verified, w.posted as balance, w.held,
     w.posted - w.held as available, w.promotional, a.is_operator, a.came_from,
     a.low_balance_credits, a.created_at,
     exists (select 1 from api_key k where k.account_id = a.id) as created_key,
     coalesce(
       (select true from usage_event u where u.bucket = $2::smallint and u.wallet_id = a.id order by u.at limit 1),
       (select true from usage_hour h where h.owner_id = a.id and h.status <> 'failed' order by h.grain, h.hour limit 1),
       false) as made_call,
     exists (select 1 from topup t where t.account_id = a.id and t.state = 'paid') as topped_up,
     exists (select 1 from app p where p.developer_id = a.id) as registered_app,
     exists (select 1 from webhook h where h.developer_id = a.id) as added_webhook,
     exists (select 1 from payout_account p where p.developer_id = a.id and p.payouts_enabled) as connected_payouts
   from account a
   join wallet w on w.bucket = $2::smallint and w.id = a.id
   where a.id = $1::uuid`,
)

export const SET_LOW_BALANCE = statement<{ id: string }>(
  'usage.set_low_balance',
  `update account
   set low_balance_credits = $2::bigint
   where id = $1::uuid
   returning id`,
)
