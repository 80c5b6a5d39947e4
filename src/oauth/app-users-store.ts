// SQL of an app's users: who is connected, and what they used.

import { type Queryable, statement } from '../platform/db.ts'
import type { CapPeriod } from './store.ts'

export type AppUserRow = {
  /** Of the connection. */
  id: string
  user_id: string
  external_user_ids: string[]
  cap_credits: bigint | null
  cap_period: CapPeriod
  spent_credits: bigint
  spent_total_credits: bigint
  earned_credits: bigint
  requests: bigint
  last_used_at: Date | null
  connected_at: Date
}

const LIST_APP_USERS = statement<AppUserRow>(
  'oauth.list_app_users',
  `select c.id, c.account_id as user_id, c.cap_credits, c.cap_period, c.connected_at,
     array(
       select l.external_user_id
       from hosted_link l
       join oauth_grant g on g.id = l.grant_id
       where l.app_id = c.app_id and g.connection_id = c.id
       order by l.linked_at
     ) as external_user_ids,
     u.spent_credits, u.spent_total_credits, u.earned_credits, u.requests, u.last_used_at
   from app_connection c
   cross join lateral (
     select coalesce(sum(x.credits) filter (where x.month = $5::date), 0)::bigint as spent_credits,
       coalesce(sum(x.credits), 0)::bigint as spent_total_credits,
       coalesce(sum(x.markup_credits), 0)::bigint as earned_credits,
       coalesce(sum(x.requests), 0)::bigint as requests,
       max(x.last_used_at) as last_used_at
     from app_usage x
     where x.client_id = $2::text and x.account_id = c.account_id
   ) u
   where c.app_id = $1::uuid
     and c.connected_at is not null
     and c.account_id is not null
     and ($3::uuid is null or c.id < $3::uuid)
   order by c.id desc
   limit $4::integer`,
)

export async function listAppUsers(
  db: Queryable,
  app: { id: string; client_id: string },
  page: { before_id: string | null; count: number; month: string },
): Promise<AppUserRow[]> {
  const { before_id, count, month } = page
  return await db.run(LIST_APP_USERS, [app.id, app.client_id, before_id, count, month])
}

/** An app may have a million users: nobody has to know how many beyond this. */
export const COUNTED_USERS_MAX = 10_000

const COUNT_APP_USERS = statement<{ users: number }>(
  'oauth.count_app_users',
  `select count(*)::integer as users
   from (
     select 1
     from app_connection
     where app_id = $1::uuid and connected_at is not null and account_id is not null
     limit $2::integer
   ) counted`,
)

export async function countAppUsers(db: Queryable, app_id: string): Promise<number> {
  const [row] = await db.run(COUNT_APP_USERS, [app_id, COUNTED_USERS_MAX])
  return row?.users ?? 0
}
