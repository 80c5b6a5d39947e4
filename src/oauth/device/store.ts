// SQL of sign-ins on another device.

import { type Queryable, statement, type Tx } from '../../platform/db.ts'
import type { Scope } from '../scopes.ts'

export type DeviceRequestRow = {
  id: string
  app_id: string
  client_id: string
  scopes: Scope[]
  code_challenge: string | null
  asked_ip: string
  asked_agent: string | null
  created_at: Date
  expires_at: Date
  interval_s: number
  polled_at: Date | null
  decided_at: Date | null
  /** Of a decision: null is a no. */
  grant_id: string | null
  consumed_at: Date | null
}

const COLUMNS = `r.id, r.app_id, a.client_id, r.scopes, r.code_challenge, r.asked_ip, r.asked_agent, r.created_at,
     r.expires_at, r.interval_s, r.polled_at, r.decided_at, r.grant_id, r.consumed_at`

/** Serialises the requests of one app from one address, so that their count holds. */
const LOCK_ASKER = statement<object>(
  'oauth.lock_device_asker',
  `select pg_advisory_xact_lock(hashtextextended($1::uuid::text || ' ' || $2::text, 7233012))`,
)

const COUNT_OPEN = statement<{ open: number; first_end: Date | null }>(
  'oauth.count_open_device_requests',
  `select count(*)::integer as open, min(expires_at) as first_end
   from device_request
   where app_id = $1::uuid
     and asked_bucket = $2::text
     and decided_at is null
     and expires_at > $3::timestamptz`,
)

const INSERT = statement<{ id: string }>(
  'oauth.insert_device_request',
  `insert into device_request (id, app_id, device_digest, user_digest, scopes, code_challenge, asked_ip, asked_agent,
     asked_bucket, created_at, expires_at, interval_s)
   values ($1::uuid, $2::uuid, $3::bytea, $4::bytea, $5::text[], $6::text, $7::text, $8::text, $9::text,
     $10::timestamptz, $11::timestamptz, $12::integer)
   on conflict on constraint device_request_user_code_is_unique do nothing
   returning id`,
)

const FIND_BY_USER_CODE = statement<DeviceRequestRow>(
  'oauth.find_device_request_by_user_code',
  `select ${COLUMNS}
   from device_request r
   join app a on a.id = r.app_id
   where r.user_digest = $1::bytea`,
)

const FIND_BY_DEVICE_CODE = statement<DeviceRequestRow>(
  'oauth.find_device_request_by_device_code',
  `select ${COLUMNS}
   from device_request r
   join app a on a.id = r.app_id
   where r.device_digest = $1::bytea`,
)

// A deletion of the app takes the app first and its requests after it: so does everybody else.
const KEEP_APP = statement<object>(
  'oauth.keep_app_of_device_request',
  `select 1
   from app
   where id = $1::uuid
   for key share`,
)

const LOCK = statement<object>(
  'oauth.lock_device_request',
  `select 1
   from device_request
   where id = $1::uuid
   for update`,
)

const READ = statement<DeviceRequestRow>(
  'oauth.read_device_request',
  `select ${COLUMNS}
   from device_request r
   join app a on a.id = r.app_id
   where r.id = $1::uuid`,
)

const SET_POLL = statement<object>(
  'oauth.set_device_poll',
  `update device_request
   set polled_at = $2::timestamptz, interval_s = $3::integer
   where id = $1::uuid`,
)

const DECIDE = statement<object>(
  'oauth.decide_device_request',
  `update device_request
   set decided_at = $2::timestamptz, grant_id = $3::uuid, expires_at = least(expires_at, $4::timestamptz)
   where id = $1::uuid`,
)

const CONSUME = statement<object>(
  'oauth.consume_device_request',
  `update device_request
   set consumed_at = $2::timestamptz
   where id = $1::uuid`,
)

const DELETED_AT_ONCE = 5_000

const DELETE_EXPIRED = statement<{ deleted: number }>(
  'oauth.delete_expired_device_requests',
  `with gone as (
     delete from device_request
     where ctid = any (array(
       select ctid from device_request where expires_at < $1::timestamptz limit ${DELETED_AT_ONCE}
     ))
     returning 1
   )
   select count(*)::integer as deleted from gone`,
)

export type Asker = { app_id: string; asked_bucket: string }

/** How many undecided requests there are, and when the first of them ends; holds until the transaction ends. */
export async function lockAndCountOpen(tx: Tx, asker: Asker, now: Date) {
  await tx.run(LOCK_ASKER, [asker.app_id, asker.asked_bucket])
  const [row] = await tx.run(COUNT_OPEN, [asker.app_id, asker.asked_bucket, now])
  return row ?? { open: 0, first_end: null }
}

export type NewDeviceRequest = Asker &
  Pick<
    DeviceRequestRow,
    | 'id'
    | 'scopes'
    | 'code_challenge'
    | 'asked_ip'
    | 'asked_agent'
    | 'created_at'
    | 'expires_at'
    | 'interval_s'
  > & { device_digest: Buffer; user_digest: Buffer }

/** Answers false where somebody has this user code already. */
export async function insertRequest(tx: Tx, request: NewDeviceRequest): Promise<boolean> {
  const rows = await tx.run(INSERT, [
    request.id,
    request.app_id,
    request.device_digest,
    request.user_digest,
    request.scopes,
    request.code_challenge,
    request.asked_ip,
    request.asked_agent,
    request.asked_bucket,
    request.created_at,
    request.expires_at,
    request.interval_s,
  ])
  return rows.length > 0
}

export async function findByUserCode(
  db: Queryable,
  user_digest: Buffer,
): Promise<DeviceRequestRow | undefined> {
  return (await db.run(FIND_BY_USER_CODE, [user_digest]))[0]
}

export async function findByDeviceCode(
  db: Queryable,
  device_digest: Buffer,
): Promise<DeviceRequestRow | undefined> {
  return (await db.run(FIND_BY_DEVICE_CODE, [device_digest]))[0]
}

/** Statements of their own: what is read after a lock includes what the lock waited for. */
export async function lockRequest(
  tx: Tx,
  { id, app_id }: Pick<DeviceRequestRow, 'id' | 'app_id'>,
): Promise<DeviceRequestRow | undefined> {
  await tx.run(KEEP_APP, [app_id])
  await tx.run(LOCK, [id])
  return (await tx.run(READ, [id]))[0]
}

export async function setPoll(
  tx: Tx,
  id: string,
  poll: { polled_at: Date; interval_s: number },
): Promise<void> {
  await tx.run(SET_POLL, [id, poll.polled_at, poll.interval_s])
}

/** Without a grant it is a no. It does not last longer than it would have. */
export async function setDecision(
  tx: Tx,
  id: string,
  decision: { decided_at: Date; grant_id: string | null; expires_at: Date },
): Promise<void> {
  const { decided_at, grant_id, expires_at } = decision
  await tx.run(DECIDE, [id, decided_at, grant_id, expires_at])
}

export async function setConsumed(tx: Tx, id: string, at: Date): Promise<void> {
  await tx.run(CONSUME, [id, at])
}

/** Answers whether there may be more. */
export async function deleteExpiredRequests(db: Queryable, before: Date): Promise<boolean> {
  const [row] = await db.run(DELETE_EXPIRED, [before])
  return row?.deleted === DELETED_AT_ONCE
}
