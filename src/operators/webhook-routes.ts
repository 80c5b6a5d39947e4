// /operator/webhooks: how sending goes, pausing a webhook, and having sent again what did not arrive.

import { Type } from 'typebox'
import { Id, Nullable, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { actorOf, Changed, READ, Reason, TAGS, Why, write } from './actor.ts'
import { recordAct } from './acts.ts'
import type { BacklogRow, FailingRow } from './health-store.ts'
import { toText } from './user-schemas.ts'
import { readEmails } from './user-store.ts'
import { listFailing, readBacklog } from './webhook-health.ts'

export type WebhookActParts = {
  db: Db
  clock: Clock
  /** How it is called outside. */
  webhookName: (id: string) => string
  /** By that name. Both throw `not_found`. False: it was off before. */
  pauseWebhook(tx: Tx, act: { id: string; reason: string }): Promise<boolean>
  recoverWebhook(
    tx: Tx,
    act: { id: string; since: Date },
  ): Promise<{ count: number; has_more: boolean }>
}

const Count = (description: string) => Type.Integer({ description, examples: [12] })
const Url = Type.String({
  description: 'Without its query.',
  examples: ['https://app.example/hook'],
})

const WebhookId = Type.String({ examples: ['wh_01989f2e7c1a7b3e9d7e2f6f0d1c5a10'] })

const DeveloperEmail = Nullable(
  Type.String({ description: 'Null once the account is gone.', examples: ['dev@example.com'] }),
)

const Waiting = Type.Object({
  webhook_id: WebhookId,
  client_id: Nullable(Type.String({ description: 'Null: the webhook is gone.' })),
  developer_id: Nullable(Type.String()),
  developer_email: DeveloperEmail,
  url: Nullable(Url),
  active: Nullable(Type.Boolean()),
  pending: Count('To be sent or tried again; at most 1,000 are counted.'),
  due: Count('Of these, now.'),
  next_due_at: Timestamp,
})

const Failing = Type.Object({
  webhook_id: WebhookId,
  client_id: Type.String(),
  developer_id: Id,
  developer_email: DeveloperEmail,
  url: Url,
  active: Type.Boolean(),
  switched_off_at: Nullable(Timestamp),
  failed: Count('Attempts of the last 24 hours.'),
  failed_events: Count('Events whose first attempt failed.'),
  delivered: Count('Of the last 24 hours.'),
  last_failed_at: Timestamp,
})

const Health = Type.Object({
  backlog: Type.Object({
    webhooks: Count('With something to send; at most 200 are looked at.'),
    pending: Count('Deliveries to be sent or tried again.'),
    due: Count('Of these, now.'),
    oldest_due_at: Nullable(Timestamp),
    is_complete: Type.Boolean({ description: 'False: there are more than were counted.' }),
  }),
  waiting: Type.Array(Waiting, { description: 'By when they are due.' }),
  failing: Type.Array(Failing, { description: 'The worst 100 of the last 24 hours.' }),
})

const Params = Type.Object({ id: WebhookId })

export function webhookHealthRoutes(app: App, parts: WebhookActParts): void {
  app.get(
    '/operator/webhooks/health',
    {
      config: READ,
      schema: {
        tags: TAGS,
        operationId: 'operator_webhook_health',
        summary: 'See how webhooks are delivered',
        response: { 200: Health },
      },
    },
    async () => {
      const { rows, oldest_due_at, ...backlog } = await readBacklog(parts.db)
      const failing = await listFailing(parts.db)
      const names = await readNames(parts, [...rows, ...failing])
      return {
        backlog: { ...backlog, oldest_due_at: toText(oldest_due_at) },
        waiting: rows.map((row) => presentWaiting(names, row)),
        failing: failing.map((row) => presentFailing(names, row)),
      }
    },
  )
  app.post(
    '/operator/webhooks/:id/pause',
    {
      config: write(),
      schema: {
        tags: TAGS,
        operationId: 'operator_pause_webhook',
        summary: 'Switch a webhook off',
        description:
          'Its developer is told by mail, with the reason, and can switch it on again. What waits is cancelled and can be sent again then.',
        params: Params,
        body: Why,
        response: { 200: Changed },
      },
    },
    async (request) => {
      const by = await actorOf(parts, request, request.body.reason)
      const { id } = request.params
      const changed = await parts.db.transaction(async (tx) => {
        const done = await parts.pauseWebhook(tx, { id, reason: by.reason })
        if (done) await recordAct(parts.clock, tx, { ...by, act: 'webhook pause', subject: id })
        return done
      })
      return { changed }
    },
  )
  recoverRoute(app, parts)
}

function recoverRoute(app: App, parts: WebhookActParts): void {
  app.post(
    '/operator/webhooks/:id/recover',
    {
      config: write('invalid_request'),
      schema: {
        tags: TAGS,
        operationId: 'operator_recover_webhook',
        summary: 'Send again what did not arrive',
        description: 'Up to 10,000 events since then, oldest first; the next call goes on.',
        params: Params,
        body: Type.Object({
          since: Type.String({ format: 'date-time', examples: ['2026-11-15T09:30:00.000Z'] }),
          reason: Reason,
        }),
        response: {
          200: Type.Object({ count: Count('Queued again.'), has_more: Type.Boolean() }),
        },
      },
    },
    async (request) => {
      const { since, reason } = request.body
      const by = await actorOf(parts, request, reason)
      const { id } = request.params
      return await parts.db.transaction(async (tx) => {
        const recovered = await parts.recoverWebhook(tx, { id, since: new Date(since) })
        const details = { since, count: recovered.count }
        await recordAct(parts.clock, tx, { ...by, act: 'webhook recover', subject: id, details })
        return recovered
      })
    },
  )
}

type Names = {
  webhookName: (id: string) => string
  emailOf: (developer_id: string | null) => string | null
}

/** Operators know people by their addresses and webhooks by their outside names. */
async function readNames(
  parts: WebhookActParts,
  rows: readonly { developer_id: string | null }[],
): Promise<Names> {
  const ids = rows.flatMap(({ developer_id }) => developer_id ?? [])
  const emails = await readEmails(parts.db, [...new Set(ids)])
  return {
    webhookName: (id) => parts.webhookName(id),
    emailOf: (id) => (id === null ? null : (emails.get(id) ?? null)),
  }
}

function presentWaiting(names: Names, { pending, due, next_due_at, ...row }: BacklogRow) {
  return {
    ...row,
    webhook_id: names.webhookName(row.webhook_id),
    developer_email: names.emailOf(row.developer_id),
    pending: Number(pending),
    due: Number(due),
    next_due_at: next_due_at.toISOString(),
  }
}

function presentFailing(names: Names, row: FailingRow) {
  return {
    ...row,
    webhook_id: names.webhookName(row.webhook_id),
    developer_email: names.emailOf(row.developer_id),
    failed: Number(row.failed),
    failed_events: Number(row.failed_events),
    delivered: Number(row.delivered),
    switched_off_at: toText(row.switched_off_at),
    last_failed_at: row.last_failed_at.toISOString(),
  }
}
