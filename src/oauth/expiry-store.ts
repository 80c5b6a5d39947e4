// SQL of what time ends: expired tokens and proofs, grants that nobody refreshed, links that nobody used.

import { type Queryable, statement } from '../platform/db.ts'

/** How many rows one statement deletes: short locks, and a backlog that cannot run into the time limit. */
const DELETED_AT_ONCE = 5_000

function deletion(name: string, table: string, condition: string) {
  return statement<{ deleted: number }>(
    `oauth.${name}`,
    `with gone as (
       delete from ${table}
       where ctid = any (array(select ctid from ${table} where ${condition} limit ${DELETED_AT_ONCE}))
       returning 1
     )
     select count(*)::integer as deleted from gone`,
  )
}

const EXPIRED = [
  deletion('delete_expired_codes', 'oauth_code', 'expires_at < $1::timestamptz'),
  deletion('delete_expired_access_tokens', 'oauth_access_token', 'expires_at < $1::timestamptz'),
  deletion('delete_expired_refresh_tokens', 'oauth_refresh_token', 'expires_at < $1::timestamptz'),
  deletion(
    'delete_unused_grants',
    'oauth_grant',
    'activated_at is null and created_at < $1::timestamptz',
  ),
  // Nothing leads to them any more: their tokens went when they ended, their codes since.
  deletion('delete_ended_grants', 'oauth_grant', 'ended_at < $1::timestamptz'),
]

const DELETE_PROOFS = deletion('delete_proofs', 'dpop_proof', 'expires_at < $1::timestamptz')

const FIND_LAPSED_GRANTS = statement<{ id: string }>(
  'oauth.find_lapsed_grants',
  `select id
   from (
     select id
     from oauth_grant
     where ended_at is null
       and activated_at is not null
       and lapses_at <= $1::timestamptz
     union all
     select id
     from oauth_grant
     where ended_at is null
       and external_user_id is not null
       and last_used_at <= $2::timestamptz
   ) as lapsed
   where $3::uuid is null or id > $3::uuid
   order by id
   limit $4::integer`,
)

// Locked in order first: two processes that flush at once must not wait for each other in a circle.
const TOUCH_LINKED_GRANTS = statement<object>(
  'oauth.touch_linked_grants',
  `update oauth_grant
   set last_used_at = $2::timestamptz
   from (
     select id
     from oauth_grant
     where id = any ($1::uuid[])
     order by id
     for no key update
   ) as locked
   where oauth_grant.id = locked.id
     and oauth_grant.last_used_at < $2::timestamptz`,
)

/** Answers whether there may be more. */
export async function deleteExpiredTokens(db: Queryable, before: Date): Promise<boolean> {
  let more = false
  for (const expired of EXPIRED) {
    const [row] = await db.run(expired, [before])
    if (row?.deleted === DELETED_AT_ONCE) more = true
  }
  return more
}

/** Proofs that are too old to be accepted. Answers whether there may be more. */
export async function deleteProofs(db: Queryable, before: Date): Promise<boolean> {
  const [row] = await db.run(DELETE_PROOFS, [before])
  return row?.deleted === DELETED_AT_ONCE
}

export async function findLapsedGrants(
  db: Queryable,
  page: Lapse & { after_id: string | null; count: number },
): Promise<string[]> {
  const { lapsed_at, unused_since, after_id, count } = page
  const values = [lapsed_at, unused_since, after_id, count]
  return (await db.run(FIND_LAPSED_GRANTS, values)).map((row) => row.id)
}

/** The grants that end: not refreshed until the one time, or hosted and not used since the other. */
export type Lapse = { lapsed_at: Date; unused_since: Date }

export async function touchLinkedGrants(
  db: Queryable,
  ids: readonly string[],
  at: Date,
): Promise<void> {
  await db.run(TOUCH_LINKED_GRANTS, [ids, at])
}

const FORGET_REPLAYS = statement<object>(
  'oauth.forget_replays',
  `update oauth_refresh_token
   set replay = null
   where replay is not null
     and rotated_at < $1::timestamptz`,
)

/** Answers that are not given again any more. */
export async function forgetReplays(db: Queryable, before: Date): Promise<void> {
  await db.run(FORGET_REPLAYS, [before])
}
