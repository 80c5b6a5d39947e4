// What an operator does to somebody's webhook, by its name outside, in the transaction that records it.

import { queueNotice } from '../accounts/notices.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import { RECOVER_MAX, requireActive } from './deliveries.ts'
import { markFailedForRedelivery } from './log-store.ts'
import { idOf } from './names.ts'
import { type ForeignWebhook, findAnyWebhook, switchOff } from './store.ts'

export type WebhookActParts = {
  feed: InvalidationFeed
  clock: Clock
  wakeSenders: () => void
  wakeMailSender: () => void
}

/** False: it was off before. Its developer is told, and may switch it on again. */
export async function pauseWebhook(
  parts: WebhookActParts,
  tx: Tx,
  { id, reason }: { id: string; reason: string },
): Promise<boolean> {
  const webhook = await requireWebhook(tx, id)
  if (!(await switchOff(tx, webhook.id))) return false
  await parts.feed.invalidate(tx, [`webhook:${webhook.id}`])
  await queueNotice(tx, {
    account_id: webhook.developer_id,
    subject: 'A webhook was switched off',
    words: [
      `The operator of this service has switched off your webhook to ${webhook.url}: ${reason}`,
      'Switch it on again with PATCH /v1/webhooks/… {"active": true}, and have what did not arrive sent again with POST …/recover.',
    ].join('\n\n'),
    at: parts.clock.now(),
  })
  tx.afterCommit(parts.wakeMailSender)
  return true
}

/** All that failed or was cancelled since then, oldest first. */
export async function recoverWebhook(
  parts: WebhookActParts,
  tx: Tx,
  { id, since }: { id: string; since: Date },
): Promise<{ count: number; has_more: boolean }> {
  const webhook = requireActive(await requireWebhook(tx, id))
  const limit = RECOVER_MAX
  const count = await markFailedForRedelivery(tx, { webhook_id: webhook.id, since, limit })
  tx.afterCommit(parts.wakeSenders)
  return { count, has_more: count === limit }
}

async function requireWebhook(tx: Tx, id: string): Promise<ForeignWebhook> {
  const webhook = await findAnyWebhook(tx, idOf('wh', id))
  if (webhook) return webhook
  throw new ApiError('not_found', { message: 'There is no such webhook.' })
}
