// The delivery log: what was sent, what came back and why it failed; and sending again.

import { deriveId, EVENT_TYPES, type EventType, eventBody } from '../events/event-types.ts'
import { readCursor, toPage } from '../http/schemas.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { isUuid, mintId } from '../platform/tokens.ts'
import { queueDeliveries } from './delivery-store.ts'
import { KEPT_DAYS } from './fan-out.ts'
import {
  type AttemptRow,
  type DeliveryFilter,
  type DeliveryRow,
  findDelivery,
  listAttempts,
  listDeliveries,
  markFailedForRedelivery,
  markForRedelivery,
  readNow,
  readStats,
} from './log-store.ts'
import { toHalfHours } from './stats.ts'
import type { OwnedWebhook } from './store.ts'
import { listOwnWebhooks, readWebhook } from './webhooks.ts'

/** What one `recover` sends again at most; the next one goes on. */
export const RECOVER_MAX = 10_000

export type DeliveryParts = {
  db: Db
  clock: Clock
  /** Something is due: whoever sends looks at once. */
  wakeSenders: () => void
}

export async function listOwnDeliveries(
  parts: Pick<DeliveryParts, 'db'>,
  owned: OwnedWebhook,
  page: { filter: DeliveryFilter; cursor: string | undefined; limit: number },
) {
  const webhook = await readWebhook(parts.db, owned)
  const rows = await listDeliveries(parts.db, webhook.id, {
    filter: page.filter,
    days: KEPT_DAYS,
    before_id: readCursor(page.cursor),
    count: page.limit + 1,
  })
  return toPage(rows, page.limit, (row) => row.id)
}

export async function readDelivery(
  parts: Pick<DeliveryParts, 'db'>,
  owned: OwnedWebhook,
  id: string,
): Promise<{ delivery: DeliveryRow; attempts: AttemptRow[] }> {
  const webhook = await readWebhook(parts.db, owned)
  const delivery = await findOne(parts, webhook.id, id)
  return { delivery, attempts: await listAttempts(parts.db, id) }
}

/** An event of examples, marked as a test. It gets one attempt. */
export async function sendTestEvent(
  parts: DeliveryParts,
  owned: OwnedWebhook,
  type: EventType | undefined,
): Promise<DeliveryRow> {
  const webhook = requireActive(await readWebhook(parts.db, owned))
  const [first] = webhook.events
  const event_type = type ?? (first as EventType)
  const created_at = await readNow(parts.db)
  const event_id = deriveId(created_at, mintId())
  const id = deriveId(created_at, `${event_id} ${webhook.id}`)
  const data = EVENT_TYPES[event_type].example
  const body = eventBody({ id: event_id, type: event_type, created_at, data, test: true })
  const delivery = { id, created_at, webhook_id: webhook.id, event_id, event_type, body }
  await queueDeliveries(parts.db, [{ ...delivery, leased: false }], {
    lease_ms: 0,
    retries: 0,
    test: true,
  })
  parts.wakeSenders()
  return await findOne(parts, webhook.id, id)
}

/** The same bytes once more, whatever came of them before. */
export async function redeliver(
  parts: DeliveryParts,
  owned: OwnedWebhook,
  id: string,
): Promise<DeliveryRow> {
  const webhook = requireActive(await readWebhook(parts.db, owned))
  await findOne(parts, webhook.id, id)
  await markForRedelivery(parts.db, { webhook_id: webhook.id, id })
  parts.wakeSenders()
  return await findOne(parts, webhook.id, id)
}

/** All that failed or was cancelled since then, oldest first. */
export async function recoverFailed(
  parts: DeliveryParts,
  owned: OwnedWebhook,
  since: Date,
): Promise<{ count: number; has_more: boolean }> {
  const webhook = requireActive(await readWebhook(parts.db, owned))
  const limit = RECOVER_MAX
  const count = await markFailedForRedelivery(parts.db, { webhook_id: webhook.id, since, limit })
  parts.wakeSenders()
  return { count, has_more: count === limit }
}

export async function readOwnStats(parts: Pick<DeliveryParts, 'db'>, owned: OwnedWebhook) {
  const webhook = await readWebhook(parts.db, owned)
  const now = await readNow(parts.db)
  return toHalfHours(await readStats(parts.db, [webhook.id], now), now)
}

export type WebhookStats = { webhook_id: string; half_hours: ReturnType<typeof toHalfHours> }

/** Of a page of webhooks at once: a list of them would else ask once for each. */
export async function listOwnStats(
  parts: Pick<DeliveryParts, 'db'>,
  developer_id: string,
  page: Parameters<typeof listOwnWebhooks>[2],
) {
  const webhooks = await listOwnWebhooks(parts, developer_id, page)
  const now = await readNow(parts.db)
  const ids = webhooks.data.map(({ id }) => id)
  const by_webhook = Map.groupBy(await readStats(parts.db, ids, now), (row) => row.webhook_id)
  return {
    ...webhooks,
    data: ids.map((webhook_id) => ({
      webhook_id,
      half_hours: toHalfHours(by_webhook.get(webhook_id) ?? [], now),
    })),
  }
}

async function findOne(
  parts: Pick<DeliveryParts, 'db'>,
  webhook_id: string,
  id: string,
): Promise<DeliveryRow> {
  const found = isUuid(id)
    ? await findDelivery(parts.db, { webhook_id, id, days: KEPT_DAYS })
    : undefined
  if (found) return found
  throw new ApiError('not_found', {
    message: 'This webhook has no such delivery.',
    hint: `Deliveries are kept for ${KEPT_DAYS} days.`,
  })
}

export function requireActive<Webhook extends { active: boolean }>(webhook: Webhook): Webhook {
  if (webhook.active) return webhook
  throw new ApiError('invalid_request', {
    message: 'The webhook is switched off.',
    hint: 'PATCH it with {"active": true} first.',
  })
}
