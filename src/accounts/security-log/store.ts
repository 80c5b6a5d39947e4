// SQL of the security log, of the mails about it, and of the places that an account is known from.

import { type Queryable, statement } from '../../platform/db.ts'

// Things may happen to an account that is deleted at that moment, or was before. Nobody is there to read of them. Ids sort by
// time, so the events of the last day are a stretch of the index.
const INSERT_SECURITY_EVENT = statement<object>(
  'accounts.insert_security_event',
  `insert into security_event (id, at, account_id, session_id, kind, ip, user_agent, details)
   select $1::uuid, $2::timestamptz, account.id, $4::uuid, $5::text, $6::text, $7::text, $8::jsonb
   from account
   where account.id = $3::uuid
     and $10::integer > (
       select count(*)
       from security_event
       where account_id = $3::uuid
         and security_event.id > $9::uuid
         and kind = $5::text
     )
   for key share of account`,
)

export type SecurityEventRow = {
  id: string
  at: Date
  account_id: string
  session_id: string | null
  kind: string
  ip: string | null
  user_agent: string | null
  details: Record<string, string | number | boolean | null>
}

/** Not if the account has had `max` events of that kind since `since_id`. */
export async function insertSecurityEvent(
  db: Queryable,
  row: SecurityEventRow,
  { since_id, max }: { since_id: string; max: number },
): Promise<void> {
  await db.run(INSERT_SECURITY_EVENT, [
    row.id,
    row.at,
    row.account_id,
    row.session_id,
    row.kind,
    row.ip,
    row.user_agent,
    JSON.stringify(row.details),
    since_id,
    max,
  ])
}

const LIST_SECURITY_EVENTS = statement<SecurityEventRow>(
  'accounts.list_security_events',
  `select id, at, account_id, session_id, kind, ip, user_agent, details
   from security_event
   where account_id = $1::uuid
     and ($2::uuid is null or id < $2::uuid)
   order by id desc
   limit $3::integer`,
)

export async function listSecurityEvents(
  db: Queryable,
  account_id: string,
  page: { before_id: string | null; count: number },
): Promise<SecurityEventRow[]> {
  return await db.run(LIST_SECURITY_EVENTS, [account_id, page.before_id, page.count])
}

const QUEUE_ALERT = statement<object>(
  'accounts.queue_alert',
  `insert into mail_outbox (id, account_id, purpose, subject, words, created_at, next_attempt_at)
   select $1::uuid, account.id, $3::text, $4::text, $5::text, $6::timestamptz, $6::timestamptz
   from account
   where account.id = $2::uuid
     and $9::integer > (
       select count(*)
       from security_event
       where account_id = $2::uuid
         and security_event.id > $8::uuid
         and kind = $7::text
     )
   for key share of account`,
)

/** Not if the account has had `max` events of that kind since `since_id`. */
export async function queueAlert(
  tx: Queryable,
  alert: {
    id: string
    account_id: string
    kind: string
    purpose: 'notice' | 'security_alert'
    subject: string
    words: string
    at: Date
    since_id: string
    max: number
  },
): Promise<void> {
  const { id, account_id, purpose, subject, words, at, kind, since_id, max } = alert
  await tx.run(QUEUE_ALERT, [id, account_id, purpose, subject, words, at, kind, since_id, max])
}

// A row that this statement made has no deleter.
const TOUCH_PLACE = statement<{ is_new: boolean }>(
  'accounts.touch_place',
  `insert into known_place as known (account_id, place, device, last_seen_at)
   values ($1::uuid, $2::text, $3::text, $4::timestamptz)
   on conflict (account_id, place, device) do update
   set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)
   returning xmax = 0 as is_new`,
)

/** True if the account was never signed in to from there with that. */
export async function touchPlace(
  tx: Queryable,
  seen: { account_id: string; place: string; device: string; at: Date },
): Promise<boolean> {
  const [row] = await tx.run(TOUCH_PLACE, [seen.account_id, seen.place, seen.device, seen.at])
  return row?.is_new === true
}

const FORGET_PLACES = statement<object>(
  'accounts.forget_places',
  `with devices as (
     delete from known_device where account_id = $1::uuid
   )
   delete from known_place where account_id = $1::uuid`,
)

/** Whoever signed in from them may have been somebody else: a sign-in from there is news again. */
export async function forgetPlaces(tx: Queryable, account_id: string): Promise<void> {
  await tx.run(FORGET_PLACES, [account_id])
}

const DELETED_AT_ONCE = 5_000

const DELETE_OLD_EVENTS = statement<{ deleted: number }>(
  'accounts.delete_old_events',
  `with gone as (
     delete from security_event
     where id = any (array(
       select id from security_event where at < $1::timestamptz order by at limit ${DELETED_AT_ONCE}
     ))
     returning 1
   )
   select count(*)::integer as deleted from gone`,
)

const DELETE_OLD_PLACES = statement<{ deleted: number }>(
  'accounts.delete_old_places',
  `with gone as (
     delete from known_place
     where ctid = any (array(
       select ctid from known_place where last_seen_at < $1::timestamptz limit ${DELETED_AT_ONCE}
     ))
     returning 1
   )
   select count(*)::integer as deleted from gone`,
)

/** Answers whether there may be more. */
export async function deleteOldEvents(db: Queryable, before: Date): Promise<boolean> {
  const [events] = await db.run(DELETE_OLD_EVENTS, [before])
  const [places] = await db.run(DELETE_OLD_PLACES, [before])
  return events?.deleted === DELETED_AT_ONCE || places?.deleted === DELETED_AT_ONCE
}
