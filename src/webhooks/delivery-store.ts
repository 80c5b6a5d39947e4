// SQL of deliveries: queued, claimed, finished, listed.

import { type Queryable, statement, type Tx } from '../platform/db.ts'
import { ALL_BUCKETS } from '../wallet/bucket.ts'

export type DeliveryStatus = 'pending' | 'delivered' | 'failed' | 'cancelled'

/** What a sender needs to know of a delivery. */
export type QueuedDelivery = {
  id: string
  created_at: Date
  webhook_id: string
  event_id: string
  event_type: string
  body: string
  attempts: number
  retries_left: number
}

export type ClaimedDelivery = QueuedDelivery & { is_too_late: boolean }

/** Where it goes. The secrets are sealed. */
export type Target = {
  id: string
  url: string | null
  secret: string
  previous_secret: string | null
  previous_secret_until: string | null
}

export type TakenEvents = {
  taken: number
  events: OutboxEvent[]
  webhooks: (Target & { events: string[]; low_balance_threshold: number | null })[]
}

/** A row of the outbox with the call behind it, as JSON has it: amounts are below 2^53. */
export type OutboxEvent = {
  id: number
  kind: 'usage.completed' | 'balance.updated' | 'user.connected' | 'user.disconnected'
  at: string
  source_id: string
  wallet_id: string
  balance_before: number | null
  balance_after: number | null
  payload: Record<string, unknown> | null
  model: string | null
  endpoint: string | null
  credits_used: number | null
  prompt_tokens: number | null
  completion_tokens: number | null
  webhook_ids: string[]
}

const TAKE_EVENTS = statement<TakenEvents>(
  'webhooks.take_events',
  'select taken, events, webhooks from take_events(p_buckets => $1::smallint[], p_limit => $2::integer)',
)

// An event that was read twice is queued once.
const QUEUE = statement<{ id: string }>(
  'webhooks.queue',
  `insert into webhook_delivery (id, created_at, webhook_id, event_id, event_type, body, test, queued_at, due_at, status,
     retries_left)
   select d.id, d.created_at, d.webhook_id, d.event_id, d.event_type, d.body, $8::boolean, ledger_now(),
     ledger_now() + d.leased::integer * $9::integer * interval '1 millisecond', 'pending', $10::smallint
   from unnest($1::uuid[], $2::timestamptz[], $3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::boolean[])
     as d (id, created_at, webhook_id, event_id, event_type, body, leased)
   on conflict (webhook_id, id, created_at) do nothing
   returning id`,
)

// A retry was planned within 24 hours; if nobody was there to send it, its time is over.
const CLAIM = statement<ClaimedDelivery>(
  'webhooks.claim',
  `select id, created_at, webhook_id, event_id, event_type, body, attempts, retries_left,
     attempts > 0 and queued_at < ledger_now() - interval '24 hours' as is_too_late
   from claim_deliveries(p_after => $1::uuid, p_known => $2::uuid[], p_rooms => $3::integer[],
     p_first => $4::integer, p_webhooks => $5::integer, p_lease => $6::integer * interval '1 millisecond')`,
)

const FIND_TARGETS = statement<Target>(
  'webhooks.find_targets',
  `select id, url, secret, previous_secret, previous_secret_until::text
   from webhook
   where id = any ($1::uuid[])
     and active
     and (listens_until is null or listens_until > ledger_now())`,
)

const FINISH = statement<{ delivery_id: string; new_status: DeliveryStatus }>(
  'webhooks.finish',
  `select delivery_id, new_status
   from finish_deliveries(p_items => $1::json, p_stats => $2::json)`,
)

const GIVE_UP = statement<{ id: string }>(
  'webhooks.give_up',
  `update webhook_delivery d
   set status = $4::delivery_status, due_at = null
   from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as c (webhook_id, id, created_at)
   where d.webhook_id = c.webhook_id and d.id = c.id and d.created_at = c.created_at and d.status = 'pending'
   returning d.id`,
)

const FIND_DUE_LISTENERS = statement<{ id: string }>(
  'webhooks.find_due_listeners',
  `select l.id
   from unnest($1::uuid[]) as l (id)
   where exists (select 1 from webhook_delivery d where d.webhook_id = l.id and d.due_at is not null)`,
)

// Oldest first: a terminal shows what happened in its order.
const TAKE_FOR_LISTENER = statement<QueuedDelivery>(
  'webhooks.take_for_listener',
  `with due as materialized (
     select webhook_id, id, created_at from webhook_delivery
     where webhook_id = $1::uuid and due_at is not null
     order by due_at
     limit $2::integer
     for update skip locked
   ), taken as (
     update webhook_delivery d
     set status = 'delivered', due_at = null, delivered_at = ledger_now(), attempts = 1
     from due
     where d.webhook_id = due.webhook_id and d.id = due.id and d.created_at = due.created_at
     returning d.*
   )
   select id, created_at, webhook_id, event_id, event_type, body, attempts, retries_left from taken order by id`,
)

const KEEP_PARTITIONS = statement<{ partition_name: string; dropped: boolean }>(
  'webhooks.keep_partitions',
  `select partition_name, dropped
   from keep_webhook_partitions(p_now => ledger_now(), p_keep_from => ledger_now() - $1::integer * interval '1 day')`,
)

export async function takeEvents(tx: Tx, limit: number): Promise<TakenEvents> {
  const [row] = await tx.run(TAKE_EVENTS, [ALL_BUCKETS, limit])
  return row ?? { taken: 0, events: [], webhooks: [] }
}

export type NewDelivery = Omit<QueuedDelivery, 'attempts' | 'retries_left'> & { leased: boolean }

/** Answers the ids of those that were not queued before. */
export async function queueDeliveries(
  tx: Queryable,
  deliveries: readonly NewDelivery[],
  terms: { lease_ms: number; retries: number; test?: boolean },
): Promise<Set<string>> {
  const column = <Name extends keyof NewDelivery>(name: Name) => deliveries.map((row) => row[name])
  const rows = await tx.run(QUEUE, [
    column('id'),
    column('created_at'),
    column('webhook_id'),
    column('event_id'),
    column('event_type'),
    column('body'),
    column('leased'),
    terms.test ?? false,
    terms.lease_ms,
    terms.retries,
  ])
  return new Set(rows.map((row) => row.id))
}

/** `rooms` says how many of each webhook. */
export async function claimDeliveries(
  db: Queryable,
  claim: {
    after: string
    rooms: { first: number; known: ReadonlyMap<string, number> }
    webhooks: number
    lease_ms: number
  },
): Promise<ClaimedDelivery[]> {
  const { after, rooms, webhooks, lease_ms } = claim
  const { first, known } = rooms
  return await db.run(CLAIM, [
    after,
    [...known.keys()],
    [...known.values()],
    first,
    webhooks,
    lease_ms,
  ])
}

/** Those that are on and still there. */
export async function findTargets(db: Queryable, ids: readonly string[]): Promise<Target[]> {
  return await db.run(FIND_TARGETS, [ids])
}

export async function finishDeliveries(
  db: Queryable,
  items: readonly object[],
  stats: readonly object[],
): Promise<{ delivery_id: string; new_status: DeliveryStatus }[]> {
  return await db.run(FINISH, [JSON.stringify(items), JSON.stringify(stats)])
}

/** Without another attempt. */
export async function giveUpDeliveries(
  db: Queryable,
  deliveries: readonly Pick<QueuedDelivery, 'webhook_id' | 'id' | 'created_at'>[],
  status: 'failed' | 'cancelled',
): Promise<void> {
  if (deliveries.length === 0) return
  await db.run(GIVE_UP, [
    deliveries.map((one) => one.webhook_id),
    deliveries.map((one) => one.id),
    deliveries.map((one) => one.created_at),
    status,
  ])
}

/** Those of the terminals for which something waits. */
export async function findDueListeners(db: Queryable, ids: readonly string[]): Promise<string[]> {
  return (await db.run(FIND_DUE_LISTENERS, [ids])).map((row) => row.id)
}

export async function takeForListener(
  db: Queryable,
  webhook_id: string,
  limit: number,
): Promise<QueuedDelivery[]> {
  return await db.run(TAKE_FOR_LISTENER, [webhook_id, limit])
}

export async function keepWebhookPartitions(
  db: Queryable,
  days: number,
): Promise<{ partition_name: string; dropped: boolean }[]> {
  return await db.run(KEEP_PARTITIONS, [days])
}
