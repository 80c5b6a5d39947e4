// SQL of the list of sessions, and of when each was last used.

import { type Queryable, statement, type Tx } from '../platform/db.ts'

export type SessionRow = {
  id: string
  created_at: Date
  last_seen_at: Date
  expires_at: Date
  ip: string | null
  user_agent: string | null
}

const LIST_SESSIONS = statement<SessionRow>(
  'accounts.list_sessions',
  `select id, created_at, last_seen_at, expires_at, ip, user_agent
   from session
   where account_id = $1::uuid
     and expires_at > $2::timestamptz
     and last_seen_at > $3::timestamptz
     and ($4::uuid is null or id < $4::uuid)
   order by id desc
   limit $5::integer`,
)

// Whoever ends the session waits for the transaction that holds it.
const HOLD_SESSION = statement<{ id: string }>(
  'accounts.hold_session',
  `select id
   from session
   where id = $1::uuid
     and expires_at > $2::timestamptz
   for key share`,
)

const DELETE_OWN_SESSION = statement<{ id: string }>(
  'accounts.delete_own_session',
  `delete from session
   where id = $1::uuid
     and account_id = $2::uuid
   returning id`,
)

// Locked in order first: two processes that flush at once must not wait for each other in a circle.
const TOUCH_SESSIONS = statement<object>(
  'accounts.touch_sessions',
  `update session
   set last_seen_at = greatest(session.last_seen_at, used.at)
   from unnest($1::uuid[], $2::timestamptz[]) as used (id, at)
   join (
     select id
     from session
     where id = any ($1::uuid[])
     order by id
     for no key update
   ) as locked on locked.id = used.id
   where session.id = locked.id`,
)

export async function listSessions(
  db: Queryable,
  wanted: {
    account_id: string
    now: Date
    idle_since: Date
    before_id: string | null
    count: number
  },
): Promise<SessionRow[]> {
  const { account_id, now, idle_since, before_id, count } = wanted
  return await db.run(LIST_SESSIONS, [account_id, now, idle_since, before_id, count])
}

/** False if the session has ended. */
export async function holdSession(tx: Tx, id: string, now: Date): Promise<boolean> {
  return (await tx.run(HOLD_SESSION, [id, now])).length > 0
}

export async function deleteOwnSession(
  tx: Tx,
  session: { id: string; account_id: string },
): Promise<string[]> {
  return (await tx.run(DELETE_OWN_SESSION, [session.id, session.account_id])).map((row) => row.id)
}

export async function touchSessions(db: Queryable, uses: ReadonlyMap<string, Date>): Promise<void> {
  await db.run(TOUCH_SESSIONS, [[...uses.keys()], [...uses.values()]])
}
