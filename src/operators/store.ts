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
  operator_id: string | null
  session_id: string | null
  ip: string | null
}

const INSERT_ACT = statement<object>(
  'operators.insert_act',
  `insert into operator_act (id, at, who, act, subject, reason, details, operator_id, session_id, ip)
   values ($1::uuid, $2::timestamptz, $3::text, $4::text, $5::text, $6::text, $7::jsonb, $8::uuid, $9::uuid, $10::text)`,
)

export async function insertAct(db: Queryable, row: ActRow): Promise<void> {
  const { id, at, who, act, subject, reason, details, operator_id, session_id, ip } = row
  const words = [who, act, subject, reason, JSON.stringify(details)]
  await db.run(INSERT_ACT, [id, at, ...words, operator_id, session_id, ip])
}

/** At most one of them is asked by the index; the rest are asked of its rows. */
export type ActFilter = {
  who?: string | undefined
  act?: string | undefined
  subject?: string | undefined
}

const LIST_ACTS = actsBy('operators.list_acts', 'true')
const LIST_ACTS_OF_WHO = actsBy('operators.list_acts_of_who', 'who = $3::text')
const LIST_ACTS_OF_KIND = actsBy('operators.list_acts_of_kind', 'act = $4::text')
const LIST_ACTS_OF_SUBJECT = actsBy('operators.list_acts_of_subject', 'subject = $5::text')

// Without a page before, from the highest id: a plan that is made once then begins at the cursor.
function actsBy(name: string, condition: string) {
  return statement<ActRow>(
    name,
    `select id, at, who, act, subject, reason, details, operator_id, session_id, ip
     from operator_act
     where id < coalesce($1::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
       and ${condition}
       and ($3::text is null or who = $3::text)
       and ($4::text is null or act = $4::text)
       and ($5::text is null or subject = $5::text)
     order by id desc
     limit $2::integer`,
  )
}

export async function listActRows(
  db: Queryable,
  page: ActFilter & { before_id: string | null; count: number },
): Promise<ActRow[]> {
  const { who = null, act = null, subject = null } = page
  const values = [page.before_id, page.count, who, act, subject]
  if (subject !== null) return await db.run(LIST_ACTS_OF_SUBJECT, values)
  if (who !== null) return await db.run(LIST_ACTS_OF_WHO, values)
  return await db.run(act === null ? LIST_ACTS : LIST_ACTS_OF_KIND, values)
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
  held_credits: bigint | null
  promotional_credits: bigint | null
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
     w.posted as balance_credits, w.held as held_credits, w.promotional as promotional_credits,
     (select count(*) from session s where s.account_id = a.id and s.expires_at > $2::timestamptz) as sessions,
     (select count(*) from api_key k where k.account_id = a.id and k.revoked_at is null) as keys,
     (select count(*) from app p where p.developer_id = a.id) as apps,
     (select count(*) from app_connection c where c.account_id = a.id and c.connected_at is not null)
       as connected_apps,
     (select max(n.last_seen_at) from known_place n where n.account_id = a.id) as last_sign_in_at
   from account a
   left join wallet w on w.bucket = $3::smallint and w.id = a.id
   where a.id = $1::uuid`,
)

export async function readAccountView(
  db: Queryable,
  account_id: string,
  now: Date,
): Promise<AccountView | undefined> {
  return (await db.run(READ_ACCOUNT, [account_id, now, bucketOf(account_id)]))[0]
}
