// SQL of what operators did, and of what they see of an account.

import { type Queryable, statement } from '../platform/db.ts'
import { bucketOf } from '../wallet/bucket.ts'

export type ActRow = {
  id: string
  at: Date
  who: string
  act: string
  subject: string
  reason: string | null
  details: Record<string, string | number | boolean | null>
}

const INSERT_ACT = statement<object>(
  'operators.insert_act',
  `insert into operator_act (id, at, who, act, subject, reason, details)
   values ($1::uuid, $2::timestamptz, $3::text, $4::text, $5::text, $6::text, $7::jsonb)`,
)

export async function insertAct(db: Queryable, row: ActRow): Promise<void> {
  const { id, at, who, act, subject, reason, details } = row
  await db.run(INSERT_ACT, [id, at, who, act, subject, reason, JSON.stringify(details)])
}

const LIST_ACTS = statement<ActRow>(
  'operators.list_acts',
  `select id, at, who, act, subject, reason, details
   from operator_act
   order by id desc
   limit $1::integer`,
)

export async function listActRows(db: Queryable, limit: number): Promise<ActRow[]> {
  return await db.run(LIST_ACTS, [limit])
}

export type AccountView = {
  id: string
  email: string
  created_at: Date
  email_verified_at: Date | null
  is_operator: boolean
  suspended_at: Date | null
  suspended_reason: string | null
  closes_at: Date | null
  balance_credits: bigint | null
  sessions: bigint
  keys: bigint
  apps: bigint
  connected_apps: bigint
  last_sign_in_at: Date | null
}

const READ_ACCOUNT = statement<AccountView>(
  'operators.read_account',
  `select a.id, a.email, a.created_at, a.email_verified_at, a.is_operator, a.suspended_at, a.suspended_reason,
     a.closes_at,
     (select w.posted from wallet w where w.bucket = $3::smallint and w.id = a.id) as balance_credits,
     (select count(*) from session s where s.account_id = a.id and s.expires_at > $2::timestamptz) as sessions,
     (select count(*) from api_key k where k.account_id = a.id and k.revoked_at is null) as keys,
     (select count(*) from app p where p.developer_id = a.id) as apps,
     (select count(*) from app_connection c where c.account_id = a.id and c.connected_at is not null)
       as connected_apps,
     (select max(n.last_seen_at) from known_place n where n.account_id = a.id) as last_sign_in_at
   from account a
   where a.id = $1::uuid`,
)

export async function readAccountView(
  db: Queryable,
  account_id: string,
  now: Date,
): Promise<AccountView | undefined> {
  return (await db.run(READ_ACCOUNT, [account_id, now, bucketOf(account_id)]))[0]
}
