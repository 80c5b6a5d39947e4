// SQL of connections, grants and codes.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import type { ClientType } from './client-types.ts'
import type { Scope } from './scopes.ts'

// ---- connections

export type CapPeriod = 'day' | 'month'

/** What the user lets an app spend; null is without limit. */
export type Cap = { cap_credits: bigint | null; cap_period: CapPeriod }

export type ConnectionRow = {
  id: string
  app_id: string
  account_id: string | null
  cap_credits: bigint | null
  cap_period: CapPeriod
  /** Whether the user has ever chosen the cap, or to have none. */
  cap_chosen: boolean
  connected_at: Date | null
}

const CONNECTION_COLUMNS = `id, app_id, account_id, cap_credits, cap_period, cap_chosen, connected_at`

const OPEN_CONNECTION = statement<ConnectionRow>(
  'oauth.open_connection',
  `insert into app_connection (id, app_id, account_id, created_at, agreed_markup_bps)
   values ($1::uuid, $2::uuid, $3::uuid, $4::timestamptz, coalesce($5::integer, 0))
   on conflict (account_id, app_id) do update
   set agreed_markup_bps = coalesce($5::integer, app_connection.agreed_markup_bps)
   returning ${CONNECTION_COLUMNS}`,
)

const FIND_CONNECTION = statement<ConnectionRow>(
  'oauth.find_connection',
  `select ${CONNECTION_COLUMNS}
   from app_connection
   where account_id = $1::uuid
     and app_id = $2::uuid`,
)

const SET_CAP = statement<{ id: string }>(
  'oauth.set_cap',
  `update app_connection
   set cap_credits = $2::bigint, cap_period = $3::text, cap_chosen = true
   where id = $1::uuid
   returning id`,
)

const LOCK_CONNECTIONS = statement<{ id: string }>(
  'oauth.lock_connections',
  `select id
   from app_connection
   where id = any ($1::uuid[])
   order by id
   for update`,
)

export type ConnectionStateRow = Omit<ConnectionRow, 'cap_chosen'> & {
  client_id: string
  app_name: string
  email: string | null
  is_live: boolean
}

const READ_CONNECTION_STATES = statement<ConnectionStateRow>(
  'oauth.read_connection_states',
  `select c.id, c.app_id, c.account_id, c.cap_credits, c.cap_period, c.connected_at, a.client_id,
     a.name as app_name, u.email,
     exists (
       select 1
       from oauth_grant g
       where g.connection_id = c.id
         and g.activated_at is not null
         and g.ended_at is null
     ) as is_live
   from app_connection c
   join app a on a.id = c.app_id
   left join account u on u.id = c.account_id
   where c.id = any ($1::uuid[])
   order by c.id`,
)

const SET_CONNECTED = statement<object>(
  'oauth.set_connected',
  `update app_connection
   set connected_at = $2::timestamptz
   where id = $1::uuid`,
)

export type ListedConnectionRow = Omit<ConnectionRow, 'cap_chosen'> & {
  connected_at: Date
  client_id: string
  client_type: ClientType
  name: string
  markup_bps: number
  scopes: Scope[]
  external_user_ids: string[]
  /** As far as calls are in the sums. */
  last_used_at: Date | null
}

const LIST_CONNECTIONS = statement<ListedConnectionRow>(
  'oauth.list_connections',
  `select c.id, c.app_id, c.account_id, c.cap_credits, c.cap_period, c.connected_at, a.client_id,
     a.client_type, a.name, least(a.markup_bps, c.agreed_markup_bps) as markup_bps, g.scopes, g.external_user_ids, (
       select max(x.last_used_at) from app_usage x where x.client_id = a.client_id and x.account_id = c.account_id
     ) as last_used_at
   from app_connection c
   join app a on a.id = c.app_id
   cross join lateral (
     select
       array(
         select distinct s
         from oauth_grant x, unnest(x.scopes) as s
         where x.connection_id = c.id
           and x.activated_at is not null
           and x.ended_at is null
           and s = any (a.allowed_scopes)
         order by s
       ) as scopes,
       array(
         select x.external_user_id
         from oauth_grant x
         where x.connection_id = c.id
           and x.activated_at is not null
           and x.ended_at is null
           and x.external_user_id is not null
         order by x.id
       ) as external_user_ids
   ) g
   where c.account_id = $1::uuid
     and c.connected_at is not null
     and ($2::uuid is null or c.id < $2::uuid)
   order by c.id desc
   limit $3::integer`,
)

export async function openConnection(
  tx: Tx,
  given: {
    id: string
    app_id: string
    account_id: string
    created_at: Date
    /** Null: nothing was said about it. */
    agreed_markup_bps: number | null
  },
): Promise<ConnectionRow> {
  const { id, app_id, account_id, created_at, agreed_markup_bps } = given
  const values = [id, app_id, account_id, created_at, agreed_markup_bps]
  const [row] = await tx.run(OPEN_CONNECTION, values)
  if (!row) throw new Error('an upsert returned no row')
  return row
}

export async function findConnection(
  db: Queryable,
  of: { account_id: string; app_id: string },
): Promise<ConnectionRow | undefined> {
  return (await db.run(FIND_CONNECTION, [of.account_id, of.app_id]))[0]
}

export async function setCap(tx: Tx, id: string, cap: Cap): Promise<void> {
  await tx.run(SET_CAP, [id, cap.cap_credits, cap.cap_period])
}

/** Two statements: what is read after the lock includes what the lock waited for. */
export async function lockConnections(
  tx: Tx,
  ids: readonly string[],
): Promise<ConnectionStateRow[]> {
  await tx.run(LOCK_CONNECTIONS, [ids])
  return await tx.run(READ_CONNECTION_STATES, [ids])
}

export async function setConnected(tx: Tx, id: string, at: Date | null): Promise<void> {
  await tx.run(SET_CONNECTED, [id, at])
}

export async function listConnections(
  db: Queryable,
  account_id: string,
  page: { before_id: string | null; count: number },
): Promise<ListedConnectionRow[]> {
  return await db.run(LIST_CONNECTIONS, [account_id, page.before_id, page.count])
}

// ---- grants and codes

export type GrantRow = {
  id: string
  connection_id: string
  app_id: string
  /** Null once the account is gone. */
  account_id: string | null
  developer_id: string
  client_id: string
  client_type: ClientType
  scopes: Scope[]
  external_user_id: string | null
  /** The key that every refresh needs, by its thumbprint; null if none was shown with the code. */
  dpop_jkt: string | null
  activated_at: Date | null
  ended_at: Date | null
  /** The last moment it can be refreshed to; null for a hosted grant. */
  expires_at: Date | null
  /** When it ends unless it is refreshed; null for a hosted grant. */
  lapses_at: Date | null
  /** To the day, and of a hosted grant only. */
  last_used_at: Date | null
}

const GRANT_COLUMNS = `g.id, g.connection_id, c.app_id, c.account_id, a.developer_id, a.client_id,
     a.client_type, g.scopes, g.external_user_id, g.dpop_jkt, g.activated_at, g.ended_at, g.expires_at, g.lapses_at, g.last_used_at`

const INSERT_GRANT = statement<object>(
  'oauth.insert_grant',
  `insert into oauth_grant (id, connection_id, scopes, external_user_id, created_at, expires_at)
   values ($1::uuid, $2::uuid, $3::text[], $4::text, $5::timestamptz, $6::timestamptz)`,
)

const LOCK_LINKS = statement<object>(
  'oauth.lock_links',
  `select pg_advisory_xact_lock(hashtextextended(name, 7233004))
   from unnest($1::text[]) as name`,
)

// A deletion begins with the app and takes the grants last: whoever has grants must have their app before.
const KEEP_APPS = statement<object>(
  'oauth.keep_apps',
  `select 1
   from app
   where id in (
     select c.app_id
     from oauth_grant g
     join app_connection c on c.id = g.connection_id
     where g.id = any ($1::uuid[])
   )
   order by id
   for key share`,
)

const LOCK_GRANTS = statement<{ id: string }>(
  'oauth.lock_grants',
  `select id
   from oauth_grant
   where id = any ($1::uuid[])
   order by id
   for update`,
)

const READ_GRANTS = statement<GrantRow>(
  'oauth.read_grants',
  `select ${GRANT_COLUMNS}
   from oauth_grant g
   join app_connection c on c.id = g.connection_id
   join app a on a.id = c.app_id
   where g.id = any ($1::uuid[])
   order by g.id`,
)

const FIND_LIVE_GRANTS = statement<GrantRow>(
  'oauth.find_live_grants',
  `select ${GRANT_COLUMNS}
   from oauth_grant g
   join app_connection c on c.id = g.connection_id
   join app a on a.id = c.app_id
   where g.connection_id = $1::uuid
     and g.ended_at is null
   order by g.id`,
)

const ACTIVATE_GRANT = statement<object>(
  'oauth.activate_grant',
  `update oauth_grant
   set activated_at = $2::timestamptz, last_used_at = $2::timestamptz, dpop_jkt = $3::text,
       expires_at = $4::timestamptz
   where id = $1::uuid`,
)

const SET_LAPSE = statement<object>(
  'oauth.set_lapse',
  `update oauth_grant
   set lapses_at = $2::timestamptz
   where id = $1::uuid`,
)

// The tokens go at once; the grant and its codes stay, so that a second use is recognised.
const END_GRANTS = statement<object>(
  'oauth.end_grants',
  `with ended as (
     update oauth_grant
     set ended_at = $2::timestamptz
     where id = any ($1::uuid[])
       and ended_at is null
     returning id
   ), unlinked as (
     delete from hosted_link
     where grant_id in (select id from ended)
   ), refused as (
     delete from oauth_access_token
     where grant_id in (select id from ended)
   )
   delete from oauth_refresh_token
   where grant_id in (select id from ended)`,
)

export type CodeRow = {
  grant_id: string
  redirect_uri: string
  code_challenge: string
  expires_at: Date
  consumed_at: Date | null
}

const INSERT_CODE = statement<object>(
  'oauth.insert_code',
  `insert into oauth_code (code_digest, grant_id, redirect_uri, code_challenge, expires_at)
   values ($1::bytea, $2::uuid, $3::text, $4::text, $5::timestamptz)`,
)

const FIND_CODE = statement<CodeRow>(
  'oauth.find_code',
  `select grant_id, redirect_uri, code_challenge, expires_at, consumed_at
   from oauth_code
   where code_digest = $1::bytea`,
)

const CONSUME_CODE = statement<object>(
  'oauth.consume_code',
  `update oauth_code
   set consumed_at = $2::timestamptz
   where code_digest = $1::bytea`,
)

export type NewGrant = {
  id: string
  connection_id: string
  scopes: readonly Scope[]
  external_user_id: string | null
  created_at: Date
  expires_at: Date | null
}

export async function insertGrant(tx: Tx, grant: NewGrant): Promise<void> {
  await tx.run(INSERT_GRANT, [
    grant.id,
    grant.connection_id,
    grant.scopes,
    grant.external_user_id,
    grant.created_at,
    grant.expires_at,
  ])
}

/** Serialises everything that makes or ends the links of these names. Sorted by the caller. */
export async function lockLinks(tx: Tx, names: readonly string[]): Promise<void> {
  if (names.length > 0) await tx.run(LOCK_LINKS, [names])
}

/** Statements of their own: what is read after a lock includes what the lock waited for. */
export async function lockGrants(tx: Tx, ids: readonly string[]): Promise<GrantRow[]> {
  await tx.run(KEEP_APPS, [ids])
  await tx.run(LOCK_GRANTS, [ids])
  return await tx.run(READ_GRANTS, [ids])
}

export async function findGrant(db: Queryable, id: string): Promise<GrantRow | undefined> {
  return (await db.run(READ_GRANTS, [[id]]))[0]
}

export async function findLiveGrants(db: Queryable, connection_id: string): Promise<GrantRow[]> {
  return await db.run(FIND_LIVE_GRANTS, [connection_id])
}

export async function activateGrant(
  tx: Tx,
  grant: Pick<GrantRow, 'id' | 'dpop_jkt' | 'expires_at'>,
  at: Date,
): Promise<void> {
  await tx.run(ACTIVATE_GRANT, [grant.id, at, grant.dpop_jkt, grant.expires_at])
}

export async function setLapse(tx: Tx, id: string, lapses_at: Date): Promise<void> {
  await tx.run(SET_LAPSE, [id, lapses_at])
}

export async function markEnded(tx: Tx, ids: readonly string[], at: Date): Promise<void> {
  await tx.run(END_GRANTS, [ids, at])
}

export async function insertCode(
  tx: Tx,
  code: CodeRow & { code_digest: Buffer; consumed_at: null },
): Promise<void> {
  const { code_digest, grant_id, redirect_uri, code_challenge, expires_at } = code
  await tx.run(INSERT_CODE, [code_digest, grant_id, redirect_uri, code_challenge, expires_at])
}

export async function findCode(db: Queryable, code_digest: Buffer): Promise<CodeRow | undefined> {
  return (await db.run(FIND_CODE, [code_digest]))[0]
}

export async function consumeCode(tx: Tx, code_digest: Buffer, at: Date): Promise<void> {
  await tx.run(CONSUME_CODE, [code_digest, at])
}
