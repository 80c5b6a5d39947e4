// SQL of what operators see of people and apps. Lists are read from an index: they cost what a page costs.

import { type Queryable, statement } from '../platform/db.ts'
import { bucketOf } from '../wallet/bucket.ts'

export type UserRow = {
  id: string
  email: string
  email_key: string
  created_at: Date
  email_verified_at: Date | null
  suspended_at: Date | null
  is_operator: boolean
}

const USER = `select id, email, email_key, created_at, email_verified_at, suspended_at, is_operator
   from account`

const SELECT_BALANCES = statement<{ id: string; posted: bigint }>(
  'operators.select_balances',
  `select id, posted
   from wallet
   where bucket = any ($1::smallint[])
     and id = any ($2::uuid[])`,
)

export type UserOfList = UserRow & { balance_credits: bigint | null }

/** Apart from the accounts: their wallets may be on other servers one day. */
export async function addBalances(db: Queryable, users: readonly UserRow[]): Promise<UserOfList[]> {
  const ids = users.map(({ id }) => id)
  const rows = await db.run(SELECT_BALANCES, [ids.map(bucketOf), ids])
  const balances = new Map(rows.map(({ id, posted }) => [id, posted]))
  return users.map((user) => ({ ...user, balance_credits: balances.get(user.id) ?? null }))
}

/** Newest first. */
export const LIST_USERS = statement<UserRow>(
  'operators.list_users',
  `${USER}
   where id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   order by id desc
   limit $2::integer`,
)

/** From $1 on and below $2: what begins alike. */
export const LIST_USERS_BY_EMAIL = statement<UserRow>(
  'operators.list_users_by_email',
  `${USER}
   where email_key collate "C" >= $1::text collate "C"
     and email_key collate "C" < $2::text collate "C"
   order by email_key collate "C"
   limit $3::integer`,
)

const SELECT_EMAILS = statement<{ id: string; email: string }>(
  'operators.select_emails',
  'select id, email from account where id = any ($1::uuid[])',
)

/** The addresses of those accounts of a page that are there. */
export async function readEmails(
  db: Queryable,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const rows = await db.run(SELECT_EMAILS, [ids])
  return new Map(rows.map(({ id, email }) => [id, email]))
}

export const FIND_USER = statement<UserRow>(
  'operators.find_user',
  `${USER}
   where id = $1::uuid`,
)

export type MoneyRow = {
  spent_30_days_credits: bigint
  requests_30_days: bigint
  disputes_open: bigint
  disputes_lost: bigint
  disputed_credits: bigint
  payouts_connected: boolean
  payouts_enabled: boolean
  payouts_blocked: boolean
  payouts_disabled_reason: string | null
}

const READ_MONEY = statement<MoneyRow>(
  'operators.read_money',
  `select u.credits as spent_30_days_credits, u.requests as requests_30_days, d.open as disputes_open,
     d.lost as disputes_lost, d.credits as disputed_credits, p.stripe_account_id is not null as payouts_connected,
     coalesce(p.payouts_enabled, false) as payouts_enabled, coalesce(p.payouts_blocked, false) as payouts_blocked,
     p.disabled_reason as payouts_disabled_reason
   from (
     select coalesce(sum(own_credits), 0)::bigint as credits, coalesce(sum(requests), 0)::bigint as requests
     from usage_hour
     where owner_id = $1::uuid and grain = 4 and hour > $2::timestamptz - interval '30 days'
   ) u
   cross join (
     select count(*) filter (where state = 'open') as open, count(*) filter (where state = 'lost') as lost,
       coalesce(sum(credits) filter (where state = 'open'), 0)::bigint as credits
     from topup_dispute
     where account_id = $1::uuid
   ) d
   left join payout_account p on p.developer_id = $1::uuid`,
)

export async function readMoney(db: Queryable, account_id: string, now: Date): Promise<MoneyRow> {
  const [row] = await db.run(READ_MONEY, [account_id, now])
  if (!row) throw new Error('sums have one row')
  return row
}

export type UserKeyRow = {
  id: string
  name: string
  prefix: string
  billing_mode: string
  rate_limit_per_minute: number | null
  created_at: Date
  last_used_at: Date | null
}

export const LIST_USER_KEYS = statement<UserKeyRow>(
  'operators.list_user_keys',
  `select id, name, prefix, billing_mode, rate_limit_per_minute, created_at, last_used_at
   from api_key
   where account_id = $1::uuid and revoked_at is null
   order by id desc
   limit $2::integer`,
)

export type UserEventRow = { id: string; at: Date; kind: string; ip: string | null }

export const LIST_USER_EVENTS = statement<UserEventRow>(
  'operators.list_user_events',
  `select id, at, kind, ip
   from security_event
   where account_id = $1::uuid
   order by id desc
   limit $2::integer`,
)

export type AppRow = {
  id: string
  client_id: string
  name: string
  name_key: string
  developer_id: string
  developer_email: string
  markup_bps: number
  created_at: Date
  suspended_at: Date | null
  suspended_reason: string | null
}

const APP = `select p.id, p.client_id, p.name, lower(p.name) as name_key, p.developer_id, a.email as developer_email,
     p.markup_bps, p.created_at, p.suspended_at, p.suspended_reason
   from app p
   join account a on a.id = p.developer_id`

/** Newest first. */
export const LIST_APPS = statement<AppRow>(
  'operators.list_apps',
  `${APP}
   where p.id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   order by p.id desc
   limit $2::integer`,
)

export const LIST_APPS_OF_DEVELOPER = statement<AppRow>(
  'operators.list_apps_of_developer',
  `${APP}
   where p.developer_id = $1::uuid
     and p.id < coalesce($2::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
   order by p.id desc
   limit $3::integer`,
)

/** Names that begin with $1, after the app ($2, $3) of the page before. */
export const LIST_APPS_BY_NAME = statement<AppRow>(
  'operators.list_apps_by_name',
  `${APP}
   where lower(p.name) collate "C" >= lower($1::text) collate "C"
     and lower(p.name) collate "C" < (lower($1::text) || $5::text) collate "C"
     and (lower(p.name) collate "C", p.id) > ($2::text collate "C", $3::uuid)
   order by lower(p.name) collate "C", p.id
   limit $4::integer`,
)

export const FIND_APP = statement<AppRow>(
  'operators.find_app',
  `${APP}
   where p.client_id = $1::text`,
)
