// Apps: what a developer registers so that users can pay with their own credits. Elsewhere called OAuth clients.

import { timingSafeEqual } from 'node:crypto'
import type { SecurityEventKind } from '../accounts/security-log/event-kinds.ts'
import { recordSecurityEvent } from '../accounts/security-log/security-log.ts'
import { requireOpenSession } from '../accounts/sessions.ts'
import type { StepUpParts } from '../accounts/step-up.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Db, Queryable, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { digestSecret, isUuid, mintId, mintSecret } from '../platform/tokens.ts'
import type { Actor } from './actor.ts'
import {
  type AppChange,
  type AppRow,
  deleteAppRow,
  findApp,
  findAppByClientId,
  insertApp,
  listApps,
  lockAndCountApps,
  type OwnedApp,
  updateApp,
  updateSecret,
} from './app-store.ts'
import { type ClientType, isPublic } from './client-types.ts'
import { requireOrigins } from './origins.ts'
import { requireRedirectUris } from './redirect-uri.ts'
import { SCOPES, type Scope } from './scopes.ts'

const CLIENT_ID_PATTERN = /^svc_client_[A-Za-z0-9_-]{43}$/
const CLIENT_ID_PREFIX = 'svc_client_'
const SECRET_PREFIX = 'svc_secret_'
const HOUR_MS = 3_600_000

export type AppParts = StepUpParts & {
  db: Db
  feed: InvalidationFeed
  log: Log
  apps_per_account_max: number
}

export type NewApp = {
  name: string
  client_type: ClientType
  redirect_uris: readonly string[]
  allowed_scopes?: readonly Scope[] | undefined
  markup_bps: number
  require_external_user_id: boolean
  origins: readonly string[]
  device_grant: boolean
}

/** The secret is in the answer and nowhere else, ever; an app without a server gets none. */
export async function createApp(
  parts: AppParts,
  wanted: NewApp,
  owner: { developer_id: string; actor: Actor },
): Promise<{ client_secret: string | undefined; app: AppRow }> {
  const { client_type, device_grant } = wanted
  const redirect_uris = requireRedirectUris(wanted.redirect_uris, client_type)
  const origins = requireOrigins(wanted.origins)
  if (device_grant) requireNative(client_type)
  const { developer_id, actor } = owner
  const now = parts.clock.now()
  const client_secret = isPublic(wanted) ? undefined : mintSecret(SECRET_PREFIX)
  const app = await parts.db.transaction(async (tx) => {
    if ((await lockAndCountApps(tx, developer_id)) >= parts.apps_per_account_max) {
      throw new ApiError('bad_request', {
        message: `An account has at most ${parts.apps_per_account_max} apps.`,
        hint: 'Delete apps that are not used any more.',
      })
    }
    await requireOpenSession(parts, tx, actor.session_id)
    const created = await insertApp(tx, {
      id: mintId({ at: now }),
      developer_id,
      client_id: mintSecret(CLIENT_ID_PREFIX),
      client_type,
      secret_digest: client_secret === undefined ? null : digestSecret(client_secret),
      name: wanted.name,
      redirect_uris,
      origins,
      device_grant,
      allowed_scopes: [...(wanted.allowed_scopes ?? SCOPES)],
      markup_bps: wanted.markup_bps,
      require_external_user_id: wanted.require_external_user_id,
      created_at: now,
    })
    await recordAppEvent(parts, tx, { app: created, kind: 'app_created', actor })
    return created
  })
  return { client_secret, app }
}

export async function listOwnApps(
  parts: Pick<AppParts, 'db'>,
  developer_id: string,
  page: { cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const rows = await listApps(parts.db, developer_id, { before_id, count: page.limit + 1 })
  return toPage(rows, page.limit, (row) => row.id)
}

export async function readApp(db: Queryable, owned: OwnedApp): Promise<AppRow> {
  const app = isUuid(owned.id) ? await findApp(db, owned) : undefined
  return app ?? notFound()
}

/**
 * What users granted is read with the app's present scopes and markup, so a change holds for the next call.
 * Only a markup above the one that a user agreed to waits for their next consent.
 */
export async function changeApp(
  parts: AppParts,
  owned: OwnedApp,
  change: AppChange & { client_type?: ClientType | undefined },
): Promise<AppRow> {
  // Read before: what may be changed depends on the kind, and the kind never changes.
  const { client_type } = await readApp(parts.db, owned)
  if (change.client_type !== undefined && change.client_type !== client_type) {
    throw new ApiError('bad_request', {
      message: 'The client_type of an app cannot be changed.',
      hint: 'What users agreed to depends on it: register another app.',
      param: 'client_type',
    })
  }
  if (change.device_grant) requireNative(client_type)
  const redirect_uris =
    change.redirect_uris && requireRedirectUris(change.redirect_uris, client_type)
  const origins = change.origins && requireOrigins(change.origins)
  return await parts.db.transaction(async (tx) => {
    const app = (await updateApp(tx, owned, { ...change, redirect_uris, origins })) ?? notFound()
    await parts.feed.invalidate(tx, [`app:${app.client_id}`])
    return app
  })
}

/** The old secret stays good for the overlap, and stops working at once without one. */
export async function rotateSecret(
  parts: AppParts,
  owned: OwnedApp,
  rotation: { overlap_hours: number; actor: Actor },
): Promise<{ client_secret: string; app: AppRow }> {
  if (isPublic(await readApp(parts.db, owned))) {
    throw new ApiError('bad_request', {
      message: 'This app has no secret: it runs on machines of its users.',
    })
  }
  const { overlap_hours, actor } = rotation
  const client_secret = mintSecret(SECRET_PREFIX)
  const end = new Date(parts.clock.now().getTime() + overlap_hours * HOUR_MS)
  const app = await parts.db.transaction(async (tx) => {
    const secret = {
      secret_digest: digestSecret(client_secret),
      previous_expires_at: overlap_hours === 0 ? null : end,
    }
    const rotated = (await updateSecret(tx, owned, secret)) ?? notFound()
    const details = { overlap_hours }
    await recordAppEvent(parts, tx, { app: rotated, kind: 'app_secret_rotated', actor, details })
    return rotated
  })
  return { client_secret, app }
}

/** Every grant, token, link and bound key of the app goes with it. */
export async function deleteApp(parts: AppParts, owned: OwnedApp, actor: Actor): Promise<void> {
  if (!isUuid(owned.id)) return notFound()
  await parts.db.transaction(async (tx) => {
    const deleted = (await deleteAppRow(tx, owned)) ?? notFound()
    await parts.feed.invalidate(tx, [`app:${deleted.client_id}`])
    const app = { ...deleted, developer_id: owned.developer_id }
    await recordAppEvent(parts, tx, { app, kind: 'app_deleted', actor })
  })
}

async function recordAppEvent(
  parts: AppParts,
  tx: Tx,
  event: {
    app: Pick<AppRow, 'developer_id' | 'client_id' | 'name'>
    kind: SecurityEventKind
    actor: Actor
    details?: { overlap_hours: number }
  },
): Promise<void> {
  const { app, kind, actor, details } = event
  await recordSecurityEvent(parts, tx, {
    account_id: app.developer_id,
    kind,
    at: parts.clock.now(),
    ...actor,
    details: { client_id: app.client_id, app_name: app.name, ...details },
  })
}

export async function findAppOfClient(
  db: Queryable,
  client_id: string,
): Promise<AppRow | undefined> {
  return CLIENT_ID_PATTERN.test(client_id) ? await findAppByClientId(db, client_id) : undefined
}

export function isSecretOf(app: AppRow, client_secret: string, now: Date): boolean {
  if (app.secret_digest === null) return false
  const digest = digestSecret(client_secret)
  const is_current = timingSafeEqual(digest, app.secret_digest)
  const { previous_secret_digest: previous } = app
  if (previous === null || previousSecretEnd(app, now) === null) return is_current
  return timingSafeEqual(digest, previous) || is_current
}

/** Until when the secret before this one is good; null if it is not. */
export function previousSecretEnd(
  { previous_secret_expires_at: end }: AppRow,
  now: Date,
): Date | null {
  return end !== null && end > now ? end : null
}

/** RFC 10027: where there is a browser on the device itself, signing in there is safer. */
function requireNative(client_type: ClientType): void {
  if (client_type === 'native') return
  throw new ApiError('bad_request', {
    message: 'Only a native app can let its users sign in on another device.',
    param: 'device_grant',
  })
}

function notFound(): never {
  throw new ApiError('not_found', { message: 'You have no such app.' })
}
