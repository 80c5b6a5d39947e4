// SQL of apps: what a developer registers.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import type { ClientType } from './client-types.ts'
import type { Scope } from './scopes.ts'

export type AppRow = {
  id: string
  developer_id: string
  client_id: string
  client_type: ClientType
  /** Null for an app that cannot keep one. */
  secret_digest: Buffer | null
  /** The one before, good until it expires. */
  previous_secret_digest: Buffer | null
  previous_secret_expires_at: Date | null
  name: string
  redirect_uris: string[]
  origins: string[]
  device_grant: boolean
  allowed_scopes: Scope[]
  markup_bps: number
  require_external_user_id: boolean
  created_at: Date
  suspended_at: Date | null
  suspended_reason: string | null
}

export type NewAppRow = Omit<
  AppRow,
  'previous_secret_digest' | 'previous_secret_expires_at' | 'suspended_at' | 'suspended_reason'
>

const NEW_COLUMNS = `id, developer_id, client_id, secret_digest, name, redirect_uris, allowed_scopes, markup_bps,
     require_external_user_id, created_at, client_type, origins, device_grant`
const OWN_COLUMNS = `${NEW_COLUMNS}, previous_secret_digest, previous_secret_expires_at, suspended_at`
const COLUMNS = `${OWN_COLUMNS}, suspended_reason`

const LOCK_DEVELOPER = statement<{ id: string }>(
  'oauth.lock_developer',
  `select id
   from account
   where id = $1::uuid
   for no key update`,
)

const COUNT_APPS = statement<{ apps: number }>(
  'oauth.count_apps',
  `select count(*)::integer as apps
   from app
   where developer_id = $1::uuid`,
)

const INSERT_APP = statement<AppRow>(
  'oauth.insert_app',
  `insert into app (${NEW_COLUMNS})
   values ($1::uuid, $2::uuid, $3::text, $4::bytea, $5::text, $6::text[], $7::text[], $8::integer,
           $9::boolean, $10::timestamptz, $11::text, $12::text[], $13::boolean)
   returning ${COLUMNS}`,
)

const LIST_APPS = statement<AppRow>(
  'oauth.list_apps',
  `select ${COLUMNS}
   from app
   where developer_id = $1::uuid
     and ($2::uuid is null or id < $2::uuid)
   order by id desc
   limit $3::integer`,
)

const FIND_APP = statement<AppRow>(
  'oauth.find_app',
  `select ${COLUMNS}
   from app
   where developer_id = $1::uuid
     and id = $2::uuid`,
)

// With why its developer is suspended, if it is not itself: nothing new starts through it either.
const FIND_APP_BY_CLIENT_ID = statement<AppRow>(
  'oauth.find_app_by_client_id',
  `select ${OWN_COLUMNS},
     coalesce(suspended_reason,
       (select d.suspended_reason from account d where d.id = app.developer_id)) as suspended_reason
   from app
   where client_id = $1::text`,
)

const UPDATE_APP = statement<AppRow>(
  'oauth.update_app',
  `update app
   set name = coalesce($3::text, name),
       redirect_uris = coalesce($4::text[], redirect_uris),
       allowed_scopes = coalesce($5::text[], allowed_scopes),
       markup_bps = coalesce($6::integer, markup_bps),
       require_external_user_id = coalesce($7::boolean, require_external_user_id),
       origins = coalesce($8::text[], origins),
       device_grant = coalesce($9::boolean, device_grant)
   where developer_id = $1::uuid
     and id = $2::uuid
   returning ${COLUMNS}`,
)

const UPDATE_SECRET = statement<AppRow>(
  'oauth.update_secret',
  `update app
   set secret_digest = $3::bytea,
       previous_secret_digest = case when $4::timestamptz is not null then secret_digest end,
       previous_secret_expires_at = $4::timestamptz
   where developer_id = $1::uuid
     and id = $2::uuid
   returning ${COLUMNS}`,
)

const SET_SUSPENSION = statement<AppRow>(
  'oauth.set_suspension',
  `update app
   set suspended_at = coalesce(suspended_at, $2::timestamptz), suspended_reason = $3::text
   where client_id = $1::text
   returning ${COLUMNS}`,
)

const CLEAR_SUSPENSION = statement<AppRow>(
  'oauth.clear_suspension',
  `update app
   set suspended_at = null, suspended_reason = null
   where client_id = $1::text
     and suspended_at is not null
   returning ${COLUMNS}`,
)

const DELETE_APP = statement<{ client_id: string; name: string }>(
  'oauth.delete_app',
  `delete from app
   where developer_id = $1::uuid
     and id = $2::uuid
   returning client_id, name`,
)

/** Counts the developer's apps; the number holds until the transaction ends. */
export async function lockAndCountApps(tx: Tx, developer_id: string): Promise<number> {
  await tx.run(LOCK_DEVELOPER, [developer_id])
  return (await tx.run(COUNT_APPS, [developer_id]))[0]?.apps ?? 0
}

export async function insertApp(tx: Tx, app: NewAppRow): Promise<AppRow> {
  const [row] = await tx.run(INSERT_APP, [
    app.id,
    app.developer_id,
    app.client_id,
    app.secret_digest,
    app.name,
    app.redirect_uris,
    app.allowed_scopes,
    app.markup_bps,
    app.require_external_user_id,
    app.created_at,
    app.client_type,
    app.origins,
    app.device_grant,
  ])
  if (!row) throw new Error('an insert returned no row')
  return row
}

export async function listApps(
  db: Queryable,
  developer_id: string,
  page: { before_id: string | null; count: number },
): Promise<AppRow[]> {
  return await db.run(LIST_APPS, [developer_id, page.before_id, page.count])
}

/** Named by its owner: somebody else's app is not found. */
export type OwnedApp = { developer_id: string; id: string }

export async function findApp(db: Queryable, { developer_id, id }: OwnedApp) {
  return (await db.run(FIND_APP, [developer_id, id]))[0]
}

export async function findAppByClientId(
  db: Queryable,
  client_id: string,
): Promise<AppRow | undefined> {
  return (await db.run(FIND_APP_BY_CLIENT_ID, [client_id]))[0]
}

export type AppChange = {
  name?: string | undefined
  redirect_uris?: readonly string[] | undefined
  allowed_scopes?: readonly Scope[] | undefined
  markup_bps?: number | undefined
  require_external_user_id?: boolean | undefined
  origins?: readonly string[] | undefined
  device_grant?: boolean | undefined
}

export async function updateApp(tx: Tx, { developer_id, id }: OwnedApp, change: AppChange) {
  const rows = await tx.run(UPDATE_APP, [
    developer_id,
    id,
    change.name ?? null,
    change.redirect_uris ?? null,
    change.allowed_scopes ?? null,
    change.markup_bps ?? null,
    change.require_external_user_id ?? null,
    change.origins ?? null,
    change.device_grant ?? null,
  ])
  return rows[0]
}

/** The secret that is replaced stays good until then; null: it ends now. One before it ends in any case. */
export async function updateSecret(
  tx: Tx,
  { developer_id, id }: OwnedApp,
  secret: { secret_digest: Buffer; previous_expires_at: Date | null },
): Promise<AppRow | undefined> {
  const { secret_digest, previous_expires_at } = secret
  return (await tx.run(UPDATE_SECRET, [developer_id, id, secret_digest, previous_expires_at]))[0]
}

export async function setSuspension(
  tx: Tx,
  client_id: string,
  { at, reason }: { at: Date; reason: string },
): Promise<AppRow | undefined> {
  return (await tx.run(SET_SUSPENSION, [client_id, at, reason]))[0]
}

export async function clearSuspension(tx: Tx, client_id: string): Promise<AppRow | undefined> {
  return (await tx.run(CLEAR_SUSPENSION, [client_id]))[0]
}

export async function deleteAppRow(tx: Tx, { developer_id, id }: OwnedApp) {
  return (await tx.run(DELETE_APP, [developer_id, id]))[0]
}
