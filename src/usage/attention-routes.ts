// /account/attention: what would otherwise be found out only when calls are refused or events are missing.

import { Type } from 'typebox'
import { sessionOf } from '../http/access.ts'
import { Id, Nullable, NullableCredits, nullableCredits, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { periodEnd } from '../wallet/spend-limits.ts'
import {
  EXPIRES_WITHIN_DAYS,
  FAILING_PERCENT,
  NEAR_LIMIT_PERCENT,
  readAttention,
} from './attention.ts'
import type { UrgentKeyRow, UrgentWebhookRow } from './attention-store.ts'

const about = (description: string) =>
  Type.Unsafe<bigint>({ type: 'integer', description, examples: [12] })

const UrgentKey = Type.Object({
  id: Id,
  name: Type.String({ examples: ['production'] }),
  is_near_limit: Type.Boolean(),
  spent_period_credits: NullableCredits,
  spend_limit_credits: NullableCredits,
  period_resets_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
})

const UrgentWebhook = Type.Object({
  id: Type.String({ examples: ['wh_01989f2e7c1a7b3e9d7e2f6f0d1c5a10'] }),
  url: Type.String({ examples: ['https://hooks.example/svc'] }),
  delivered: about('Attempts of the last 24 hours that arrived.'),
  failed: about('Attempts of the last 24 hours that did not.'),
  switched_off_at: Nullable(Timestamp),
})

type AttentionParts = {
  db: Db
  clock: Clock
  /** How a webhook is called outside. */
  webhookName: (id: string) => string
}

export function attentionRoutes(app: App, parts: AttentionParts): void {
  app.get(
    '/account/attention',
    {
      config: { access: 'session' },
      schema: {
        tags: ['Accounts'],
        operationId: 'attention',
        summary: 'Keys and webhooks that need a look',
        description: `Keys that have spent ${NEAR_LIMIT_PERCENT} % of their limit, expire within ${EXPIRES_WITHIN_DAYS} days or expired in the last 7; webhooks that were switched off, or of whose attempts ${FAILING_PERCENT} % failed in the last 24 hours. At most 10 of each.`,
        response: {
          200: Type.Object({ keys: Type.Array(UrgentKey), webhooks: Type.Array(UrgentWebhook) }),
        },
      },
    },
    async (request) => {
      const { keys, webhooks } = await readAttention(parts, sessionOf(request).account_id)
      const now = parts.clock.now()
      return {
        keys: keys.map((row) => presentKey(row, now)),
        webhooks: webhooks.map((row) => presentWebhook(row, parts.webhookName(row.id))),
      }
    },
  )
}

function presentKey(row: UrgentKeyRow, now: Date) {
  const { id, name, is_near_limit, spend_limit_period: period } = row
  return {
    id,
    name,
    is_near_limit,
    spent_period_credits: nullableCredits(period === null ? null : (row.spent ?? 0n)),
    spend_limit_credits: nullableCredits(row.spend_limit_credits),
    period_resets_at: (period && periodEnd(period, now))?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
  }
}

function presentWebhook(row: UrgentWebhookRow, id: string) {
  const { url, delivered, failed, switched_off_at } = row
  return { id, url, delivered, failed, switched_off_at: switched_off_at?.toISOString() ?? null }
}
