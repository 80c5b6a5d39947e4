// SQL of the delivery log: what developers read, and what they ask to be sent again.

import { type Queryable, statement } from '../platform/db.ts'
import type { DeliveryStatus } from './delivery-store.ts'

export type DeliveryRow = {
  id: string
  created_at: Date
  event_id: string
  event_type: string
  body: string
  status: DeliveryStatus
  attempts: number
  next_attempt_at: Date | null
  delivered_at: Date | null
  test: boolean
  /** Of the last attempt; null before the first. */
  response_status: number | null
  response_body: string | null
  outcome: string | null
  reason: string | null
}

export type AttemptRow = {
  number: number
  at: Date
  duration_ms: number
  response_status: number
  outcome: string
  reason: string
  response_body: string | null
  request_headers: string
}

export type WebhookStatRow = {
  webhook_id: string
  half_hour: Date
  delivered: number
  failed: number
  durations: number[]
}

const DELIVERY = `d.id, d.created_at, d.event_id, d.event_type, d.body, d.status, d.attempts,
  d.due_at as next_attempt_at, d.delivered_at, d.test, a.response_status, a.response_body, a.outcome, a.reason`

const LAST_ATTEMPT = `left join lateral (
     select response_status, response_body, outcome, reason
     from webhook_attempt
     where delivery_id = d.id and created_at = d.created_at
     order by number desc
     limit 1
   ) a on true`

// Of the newest 30 days; what is older waits to be dropped with its week.
const LIST = statement<DeliveryRow>(
  'webhooks.list_deliveries',
  `select ${DELIVERY}
   from webhook_delivery d
   ${LAST_ATTEMPT}
   where d.webhook_id = $1::uuid
     and d.created_at > ledger_now() - $2::integer * interval '1 day'
     and ($3::delivery_status is null or d.status = $3::delivery_status)
     and ($4::text is null or d.event_type = $4::text)
     and ($5::timestamptz is null or d.created_at >= $5::timestamptz)
     and ($6::timestamptz is null or d.created_at < $6::timestamptz)
     and ($7::uuid is null or d.id < $7::uuid)
   order by d.id desc
   limit $8::integer`,
)

const FIND = statement<DeliveryRow>(
  'webhooks.find_delivery',
  `select ${DELIVERY}
   from webhook_delivery d
   ${LAST_ATTEMPT}
   where d.id = $2::uuid
     and d.created_at = id_time($2::uuid)
     and d.webhook_id = $1::uuid
     and d.created_at > ledger_now() - $3::integer * interval '1 day'`,
)

const LIST_ATTEMPTS = statement<AttemptRow>(
  'webhooks.list_attempts',
  `select number, at, duration_ms, response_status, outcome, reason, response_body, request_headers
   from webhook_attempt
   where delivery_id = $1::uuid and created_at = id_time($1::uuid)
   order by number, at
   limit 100`,
)

// One attempt, now. What waits for a retry anyway keeps those that it has, unless its 24 hours are over. They count from
// when somebody asked.
const REDELIVER = statement<{ id: string }>(
  'webhooks.redeliver',
  `update webhook_delivery
   set due_at = ledger_now(),
     retries_left = case when status = 'pending' and queued_at > ledger_now() - interval '24 hours'
       then retries_left else 0 end,
     queued_at = case when status = 'pending' and queued_at > ledger_now() - interval '24 hours'
       then queued_at else ledger_now() end,
     status = 'pending'
   where id = $2::uuid and created_at = id_time($2::uuid) and webhook_id = $1::uuid
   returning id`,
)

// What waited when the webhook was switched off was cancelled, and did not arrive either.
const RECOVER = statement<{ id: string }>(
  'webhooks.recover',
  `with failed as materialized (
     select id, created_at
     from webhook_delivery
     where webhook_id = $1::uuid
       and status in ('failed', 'cancelled')
       and created_at >= $2::timestamptz
     order by id
     limit $3::integer
     for update skip locked
   )
   update webhook_delivery d
   set status = 'pending', due_at = ledger_now(), queued_at = ledger_now(), retries_left = 0
   from failed
   where d.webhook_id = $1::uuid and d.id = failed.id and d.created_at = failed.created_at
   returning d.id`,
)

const STATS = statement<WebhookStatRow>(
  'webhooks.stats',
  `select webhook_id, half_hour, delivered, failed, durations
   from webhook_stat
   where webhook_id = any ($1::uuid[]) and half_hour > $2::timestamptz - interval '24 hours'
   order by half_hour`,
)

const NOW = statement<{ now: Date }>('webhooks.now', 'select ledger_now() as now')

export type DeliveryFilter = {
  status?: DeliveryStatus | undefined
  event_type?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
}

export async function listDeliveries(
  db: Queryable,
  webhook_id: string,
  page: { filter: DeliveryFilter; days: number; before_id: string | null; count: number },
): Promise<DeliveryRow[]> {
  const { status, event_type, from, to } = page.filter
  return await db.run(LIST, [
    webhook_id,
    page.days,
    status ?? null,
    event_type ?? null,
    from ?? null,
    to ?? null,
    page.before_id,
    page.count,
  ])
}

export async function findDelivery(
  db: Queryable,
  { webhook_id, id, days }: { webhook_id: string; id: string; days: number },
): Promise<DeliveryRow | undefined> {
  return (await db.run(FIND, [webhook_id, id, days]))[0]
}

export async function listAttempts(db: Queryable, delivery_id: string): Promise<AttemptRow[]> {
  return await db.run(LIST_ATTEMPTS, [delivery_id])
}

export async function markForRedelivery(
  db: Queryable,
  { webhook_id, id }: { webhook_id: string; id: string },
): Promise<boolean> {
  return (await db.run(REDELIVER, [webhook_id, id])).length > 0
}

export async function markFailedForRedelivery(
  db: Queryable,
  { webhook_id, since, limit }: { webhook_id: string; since: Date; limit: number },
): Promise<number> {
  return (await db.run(RECOVER, [webhook_id, since, limit])).length
}

export async function readStats(db: Queryable, webhook_ids: readonly string[], now: Date) {
  return await db.run(STATS, [webhook_ids, now])
}

export async function readNow(db: Queryable): Promise<Date> {
  const [row] = await db.run(NOW)
  if (!row) throw new Error('the database did not say what time it is')
  return row.now
}
