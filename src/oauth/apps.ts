// Apps: what a developer registers so that users can pay with their own credits. Elsewhere called OAuth clients.

import { timingSafeEqual } from 'node:crypto'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { digestSecret, isUuid, mintId, mintSecret } from '../platform/tokens.ts'
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
import { requireRedirectUris } from './redirect-uri.ts'
import { SCOPES, type Scope } from './scopes.ts'

const CLIENT_ID_PATTERN = /^svc_client_[A-Za-z0-9_-]{43}$/
const CLIENT_ID_PREFIX = 'svc_client_'
const SECRET_PREFIX = 'svc_secret_'

export type AppParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  apps_per_account_max: number
}

export type NewApp = {
  name: string
  redirect_uris: readonly string[]
  allowed_scopes?: readonly Scope[] | undefined
  markup_bps: number
  require_external_user_id: boolean
}

/** The secret is in the answer and nowhere else, ever. */
export async function createApp(
  parts: AppParts,
  developer_id: string,
  wanted: NewApp,
): Promise<{ client_secret: string; app: AppRow }> {
  const redirect_uris = requireRedirectUris(wanted.redirect_uris)
  const now = parts.clock.now()
  const client_secret = mintSecret(SECRET_PREFIX)
  const app = await parts.db.transaction(async (tx) => {
    if ((await lockAndCountApps(tx, developer_id)) >= parts.apps_per_account_max) {
      throw new ApiError('bad_request', {
        message: `An account has at most ${parts.apps_per_account_max} apps.`,
        hint: 'Delete apps that are not used any more.',
      })
    }
    return await insertApp(tx, {
      id: mintId({ at: now }),
      developer_id,
      client_id: mintSecret(CLIENT_ID_PREFIX),
      secret_digest: digestSecret(client_secret),
      name: wanted.name,
      redirect_uris,
      allowed_scopes: [...(wanted.allowed_scopes ?? SCOPES)],
      markup_bps: wanted.markup_bps,
      require_external_user_id: wanted.require_external_user_id,
      created_at: now,
    })
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
  change: AppChange,
): Promise<AppRow> {
  if (!isUuid(owned.id)) return notFound()
  const redirect_uris = change.redirect_uris && requireRedirectUris(change.redirect_uris)
  return await parts.db.transaction(async (tx) => {
    const app = (await updateApp(tx, owned, { ...change, redirect_uris })) ?? notFound()
    await parts.feed.invalidate(tx, [`app:${app.client_id}`])
    return app
  })
}

/** The old secret stops working at once. */
export async function rotateSecret(
  parts: AppParts,
  owned: OwnedApp,
): Promise<{ client_secret: string; app: AppRow }> {
  if (!isUuid(owned.id)) return notFound()
  const client_secret = mintSecret(SECRET_PREFIX)
  const app = await parts.db.transaction(
    async (tx) => (await updateSecret(tx, owned, digestSecret(client_secret))) ?? notFound(),
  )
  return { client_secret, app }
}

/** Every grant, token, link and bound key of the app goes with it. */
export async function deleteApp(parts: AppParts, owned: OwnedApp): Promise<void> {
  if (!isUuid(owned.id)) return notFound()
  await parts.db.transaction(async (tx) => {
    const deleted = (await deleteAppRow(tx, owned)) ?? notFound()
    await parts.feed.invalidate(tx, [`app:${deleted.client_id}`])
  })
}

export async function findAppOfClient(
  db: Queryable,
  client_id: string,
): Promise<AppRow | undefined> {
  return CLIENT_ID_PATTERN.test(client_id) ? await findAppByClientId(db, client_id) : undefined
}

export function isSecretOf(app: AppRow, client_secret: string): boolean {
  return timingSafeEqual(digestSecret(client_secret), app.secret_digest)
}

function notFound(): never {
  throw new ApiError('not_found', { message: 'You have no such app.' })
}
