// SQL of tokens and hosted links: what a caller presents, and whom it leads to.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import type { Scope } from './scopes.ts'
import type { CapPeriod } from './store.ts'

// ---- access tokens

/** Whom a token or a link leads to, and on which terms. */
export type UserRow = {
  grant_id: string
  connection_id: string
  /** Null once the account is gone. */
  account_id: string | null
  client_id: string
  developer_id: string
  scopes: Scope[]
  allowed_scopes: Scope[]
  markup_bps: number
  cap_credits: bigint | null
  cap_period: CapPeriod
  /** Why the user, the developer or the app is suspended, if so. */
  suspended_reason: string | null
}

const USER_COLUMNS = `g.id as grant_id, g.connection_id, c.account_id, a.client_id, a.developer_id,
     a.allowed_scopes, least(a.markup_bps, c.agreed_markup_bps) as markup_bps, c.cap_credits, c.cap_period,
     coalesce((select u.suspended_reason from account u where u.id = c.account_id),
       (select d.suspended_reason from account d where d.id = a.developer_id), a.suspended_reason) as suspended_reason`

const INSERT_ACCESS_TOKEN = statement<object>(
  'oauth.insert_access_token',
  `insert into oauth_access_token (token_digest, grant_id, scopes, expires_at)
   values ($1::bytea, $2::uuid, $3::text[], $4::timestamptz)`,
)

const FIND_ACCESS_TOKEN = statement<UserRow & { expires_at: Date }>(
  'oauth.find_access_token',
  `select ${USER_COLUMNS}, t.scopes, t.expires_at
   from oauth_access_token t
   join oauth_grant g on g.id = t.grant_id
   join app_connection c on c.id = g.connection_id
   join app a on a.id = c.app_id
   where t.token_digest = $1::bytea
     and g.ended_at is null`,
)

const DELETE_ACCESS_TOKEN = statement<{ grant_id: string }>(
  'oauth.delete_access_token',
  `delete from oauth_access_token t
   using oauth_grant g, app_connection c
   where t.token_digest = $1::bytea
     and g.id = t.grant_id
     and c.id = g.connection_id
     and c.app_id = $2::uuid
   returning t.grant_id`,
)

export async function insertAccessToken(
  tx: Tx,
  token: { token_digest: Buffer; grant_id: string; scopes: readonly Scope[]; expires_at: Date },
): Promise<void> {
  const { token_digest, grant_id, scopes, expires_at } = token
  await tx.run(INSERT_ACCESS_TOKEN, [token_digest, grant_id, scopes, expires_at])
}

export async function findAccessTokenRow(db: Queryable, token_digest: Buffer) {
  return (await db.run(FIND_ACCESS_TOKEN, [token_digest]))[0]
}

/** Only the app that the token was issued to may end it. */
export async function deleteAccessToken(tx: Tx, token_digest: Buffer, app_id: string) {
  return (await tx.run(DELETE_ACCESS_TOKEN, [token_digest, app_id]))[0]
}

// ---- refresh tokens

export type RefreshTokenRow = {
  grant_id: string
  expires_at: Date
  rotated_at: Date | null
  successor_digest: Buffer | null
  replay: Buffer | null
}

const INSERT_REFRESH_TOKEN = statement<object>(
  'oauth.insert_refresh_token',
  `insert into oauth_refresh_token (token_digest, grant_id, expires_at)
   values ($1::bytea, $2::uuid, $3::timestamptz)`,
)

const FIND_REFRESH_TOKEN = statement<RefreshTokenRow>(
  'oauth.find_refresh_token',
  `select grant_id, expires_at, rotated_at, successor_digest, replay
   from oauth_refresh_token
   where token_digest = $1::bytea`,
)

const ROTATE_REFRESH_TOKEN = statement<object>(
  'oauth.rotate_refresh_token',
  `update oauth_refresh_token
   set rotated_at = $2::timestamptz, successor_digest = $3::bytea, replay = $4::bytea
   where token_digest = $1::bytea`,
)

export async function insertRefreshToken(
  tx: Tx,
  token: { token_digest: Buffer; grant_id: string; expires_at: Date },
): Promise<void> {
  await tx.run(INSERT_REFRESH_TOKEN, [token.token_digest, token.grant_id, token.expires_at])
}

export async function findRefreshToken(
  db: Queryable,
  token_digest: Buffer,
): Promise<RefreshTokenRow | undefined> {
  return (await db.run(FIND_REFRESH_TOKEN, [token_digest]))[0]
}

export async function markRotated(
  tx: Tx,
  token_digest: Buffer,
  rotation: { at: Date; successor_digest: Buffer; replay: Buffer },
): Promise<void> {
  const { at, successor_digest, replay } = rotation
  await tx.run(ROTATE_REFRESH_TOKEN, [token_digest, at, successor_digest, replay])
}

// ---- proofs of a key

const INSERT_PROOF = statement<{ is_new: boolean }>(
  'oauth.insert_proof',
  `insert into dpop_proof (proof_digest, expires_at)
   values ($1::bytea, $2::timestamptz)
   on conflict (proof_digest) do nothing
   returning true as is_new`,
)

/** Answers whether it is the first time. */
export async function insertProof(
  tx: Tx,
  proof: { proof_digest: Buffer; expires_at: Date },
): Promise<boolean> {
  return (await tx.run(INSERT_PROOF, [proof.proof_digest, proof.expires_at])).length > 0
}

// ---- hosted links

/** One for each app of the developer at most. */
const FIND_LINKS = statement<LinkRow>(
  'oauth.find_links',
  `select l.app_id, l.grant_id, c.account_id
   from hosted_link l
   join oauth_grant g on g.id = l.grant_id
   join app_connection c on c.id = g.connection_id
   where l.developer_id = $1::uuid
     and l.external_user_id = $2::text`,
)

export type LinkRow = {
  app_id: string
  grant_id: string
  /** Null once the account is gone. */
  account_id: string | null
}

const UPSERT_LINK = statement<object>(
  'oauth.upsert_link',
  `insert into hosted_link (app_id, external_user_id, developer_id, grant_id, linked_at)
   values ($1::uuid, $2::text, $3::uuid, $4::uuid, $5::timestamptz)
   on conflict (app_id, external_user_id) do update
   set grant_id = excluded.grant_id, linked_at = excluded.linked_at`,
)

export type LinkedUserRow = UserRow & { external_user_id: string }

const FIND_NEWEST_LINK = statement<LinkedUserRow>(
  'oauth.find_newest_link',
  `select ${USER_COLUMNS}, g.scopes, l.external_user_id
   from hosted_link l
   join oauth_grant g on g.id = l.grant_id
   join app_connection c on c.id = g.connection_id
   join app a on a.id = c.app_id
   where l.developer_id = $1::uuid
     and l.external_user_id = $2::text
     and ($3::text is null or a.client_id = $3::text)
   order by l.linked_at desc
   limit 1`,
)

const FIND_CONNECTED_USER = statement<{
  account_id: string
  external_user_id: string | null
  suspended_reason: string | null
}>(
  'oauth.find_connected_user',
  `select c.account_id, l.external_user_id,
     (select u.suspended_reason from account u where u.id = c.account_id) as suspended_reason
   from app_connection c
   join app a on a.id = c.app_id
   left join lateral (
     select h.external_user_id
     from oauth_grant g
     join hosted_link h on h.grant_id = g.id
     where g.connection_id = c.id
     order by h.linked_at desc
     limit 1
   ) l on true
   where c.account_id = $2::uuid
     and a.developer_id = $1::uuid
     and c.connected_at is not null
     and ($3::text is null or a.client_id = $3::text)
   order by c.connected_at desc
   limit 1`,
)

/** Everybody whom the developer calls so, through any app. */
export async function findLinks(
  db: Queryable,
  name: { developer_id: string; external_user_id: string },
): Promise<LinkRow[]> {
  return await db.run(FIND_LINKS, [name.developer_id, name.external_user_id])
}

export async function upsertLink(
  tx: Tx,
  link: {
    app_id: string
    external_user_id: string
    developer_id: string
    grant_id: string
    linked_at: Date
  },
): Promise<void> {
  const { app_id, external_user_id, developer_id, grant_id, linked_at } = link
  await tx.run(UPSERT_LINK, [app_id, external_user_id, developer_id, grant_id, linked_at])
}

/** Of links through several apps the newest counts. */
export async function findNewestLink(
  db: Queryable,
  wanted: { developer_id: string; external_user_id: string; client_id: string | null },
): Promise<LinkedUserRow | undefined> {
  const { developer_id, external_user_id, client_id } = wanted
  return (await db.run(FIND_NEWEST_LINK, [developer_id, external_user_id, client_id]))[0]
}

export async function findConnectedUser(
  db: Queryable,
  wanted: { developer_id: string; account_id: string; client_id: string | null },
) {
  const { developer_id, account_id, client_id } = wanted
  return (await db.run(FIND_CONNECTED_USER, [developer_id, account_id, client_id]))[0]
}
