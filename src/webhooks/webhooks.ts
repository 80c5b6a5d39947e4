// Webhooks: where a developer wants to be told of the events of an app. The secret is in the answer that makes it, and
// kept sealed, because every delivery is signed with it.

import { type EventType, isEventType } from '../events/event-types.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Queryable } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { judgeUrl, type UrlRules } from '../platform/public-address.ts'
import type { SecretBox } from '../platform/secret-box.ts'
import { isUuid, mintId } from '../platform/tokens.ts'
import { mintWebhookSecret } from './signature.ts'
import {
  deleteWebhook,
  findAppOfClient,
  findWebhook,
  forgetPreviousSecret,
  insertWebhook,
  listWebhooks,
  lockAndCountWebhooks,
  type OwnedWebhook,
  replaceSecret,
  updateWebhook,
  type WebhookRow,
} from './store.ts'

export type WebhookParts = {
  db: Db
  feed: InvalidationFeed
  clock: Clock
  secret_box: SecretBox
  url_rules: UrlRules
  webhooks_per_account_max: number
}

export type WantedWebhook = {
  client_id: string
  url: string
  events: readonly string[]
  low_balance_threshold?: number | null | undefined
}

export async function createWebhook(
  parts: WebhookParts,
  developer_id: string,
  wanted: WantedWebhook,
): Promise<{ webhook: WebhookRow; secret: string }> {
  const url = requireUrl(parts, wanted.url)
  return await insertOne(parts, developer_id, { ...wanted, url, listens_until: null })
}

/** A terminal that is told until `listens_until`, instead of an address. It may come back with the secret it had. */
export async function createListener(
  parts: WebhookParts,
  developer_id: string,
  wanted: Omit<WantedWebhook, 'url'> & { listens_until: Date; secret?: string | undefined },
): Promise<{ webhook: WebhookRow; secret: string }> {
  return await insertOne(parts, developer_id, { ...wanted, url: null })
}

const LISTENERS_PER_ACCOUNT_MAX = 10

type WantedRow = Omit<WantedWebhook, 'url'> & {
  url: string | null
  listens_until: Date | null
  secret?: string | undefined
}

async function insertOne(parts: WebhookParts, developer_id: string, wanted: WantedRow) {
  const { client_id, url, listens_until } = wanted
  const events = requireEvents(wanted.events)
  const low_balance_threshold = requireThreshold(wanted.low_balance_threshold) ?? null
  const now = parts.clock.now()
  const id = mintId({ at: now })
  const secret = wanted.secret ?? mintWebhookSecret()
  const webhook = await parts.db.transaction(async (tx) => {
    const app = await findAppOfClient(tx, client_id)
    if (!app) throw new ApiError('not_found', { message: 'There is no app with this client_id.' })
    if (app.developer_id !== developer_id) {
      throw new ApiError('forbidden', { message: 'This app belongs to another developer.' })
    }
    const max = url === null ? LISTENERS_PER_ACCOUNT_MAX : parts.webhooks_per_account_max
    if ((await lockAndCountWebhooks(tx, developer_id, url === null)) >= max) {
      throw new ApiError('bad_request', {
        message: `An account has at most ${max} webhooks${url === null ? ' that listen' : ''}.`,
        hint: 'Delete webhooks that are not used any more.',
      })
    }
    return await insertWebhook(tx, {
      id,
      app_id: app.id,
      developer_id,
      client_id,
      url,
      listens_until,
      events,
      low_balance_threshold,
      secret: parts.secret_box.seal(secret, id),
      now,
    })
  })
  return { webhook: webhook ?? notFound(), secret }
}

export async function listOwnWebhooks(
  parts: Pick<WebhookParts, 'db'>,
  developer_id: string,
  page: { client_id: string | undefined; cursor: string | undefined; limit: number },
) {
  const before_id = readCursor(page.cursor)
  const { client_id, limit } = page
  const rows = await listWebhooks(parts.db, developer_id, {
    client_id,
    before_id,
    count: limit + 1,
  })
  return toPage(rows, limit, (row) => row.id)
}

export async function readWebhook(db: Queryable, owned: OwnedWebhook): Promise<WebhookRow> {
  return (isUuid(owned.id) ? await findWebhook(db, owned) : undefined) ?? notFound()
}

export type WantedChange = {
  url?: string
  events?: readonly string[]
  low_balance_threshold?: number | null
  active?: boolean
}

export async function changeWebhook(
  parts: WebhookParts,
  owned: OwnedWebhook,
  wanted: WantedChange,
): Promise<WebhookRow> {
  const change = {
    url: wanted.url === undefined ? undefined : requireUrl(parts, wanted.url),
    events: wanted.events && requireEvents(wanted.events),
    low_balance_threshold: requireThreshold(wanted.low_balance_threshold),
    active: wanted.active,
  }
  return await applyChange(parts, owned, (tx) => updateWebhook(tx, owned, change))
}

/** Deliveries that wait are given up when their turn comes. */
export async function removeWebhook(parts: WebhookParts, owned: OwnedWebhook): Promise<void> {
  await applyChange(parts, owned, async (tx) =>
    (await deleteWebhook(tx, owned)) ? true : undefined,
  )
}

/** Both secrets sign until the overlap is over. */
export async function rotateWebhookSecret(
  parts: WebhookParts,
  owned: OwnedWebhook,
  overlap_seconds: number,
): Promise<{ webhook: WebhookRow; secret: string }> {
  const secret = mintWebhookSecret()
  const webhook = await applyChange(parts, owned, (tx) =>
    replaceSecret(tx, owned, { secret: parts.secret_box.seal(secret, owned.id), overlap_seconds }),
  )
  return { webhook, secret }
}

export async function endSecretOverlap(
  parts: WebhookParts,
  owned: OwnedWebhook,
): Promise<WebhookRow> {
  return await applyChange(parts, owned, (tx) => forgetPreviousSecret(tx, owned))
}

/** What other processes keep of the webhook in memory they forget. */
async function applyChange<Result>(
  parts: WebhookParts,
  owned: OwnedWebhook,
  change: (tx: Parameters<Parameters<Db['transaction']>[0]>[0]) => Promise<Result | undefined>,
): Promise<Result> {
  if (!isUuid(owned.id)) return notFound()
  return await parts.db.transaction(async (tx) => {
    const result = (await change(tx)) ?? notFound()
    await parts.feed.invalidate(tx, [`webhook:${owned.id}`])
    return result
  })
}

function requireUrl(parts: Pick<WebhookParts, 'url_rules'>, text: string): string {
  const verdict = judgeUrl(text, parts.url_rules)
  if ('url' in verdict) return text
  throw new ApiError('invalid_url', { message: verdict.refused, param: 'url' })
}

function requireEvents(names: readonly string[]): EventType[] {
  const known = names.filter(isEventType)
  if (known.length === names.length && known.length > 0) return [...new Set(known)]
  const unknown = names.find((name) => !isEventType(name))
  throw new ApiError('invalid_request', {
    message:
      unknown === undefined
        ? 'body.events must name at least one event.'
        : `There is no event ${JSON.stringify(unknown.slice(0, 100))}.`,
    hint: 'docs/webhooks.md lists the events.',
    param: 'events',
  })
}

function requireThreshold(credits: number | null | undefined): bigint | null | undefined {
  if (credits === undefined || credits === null) return credits
  if (Number.isInteger(credits) && credits >= 1 && BigInt(credits) <= CREDITS_MAX) {
    return BigInt(credits)
  }
  throw new ApiError('invalid_request', {
    message: `body.low_balance_threshold must be a whole number of credits from 1 to ${CREDITS_MAX}.`,
    param: 'low_balance_threshold',
  })
}

function notFound(): never {
  throw new ApiError('not_found', { message: 'You have no such webhook.' })
}
