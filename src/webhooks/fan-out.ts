// From what happened to who is told: reads the outbox and queues one delivery for each webhook that wants the event. The
// rows are read and the deliveries written in one transaction, and the id of a delivery follows from event and webhook:
// nothing is lost, nothing is queued twice.

import { deriveId, type EventType, eventBody } from '../events/event-types.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Log } from '../platform/log.ts'
import type { WebhookMetrics } from '../platform/metrics.ts'
import {
  type NewDelivery,
  type OutboxEvent,
  queueDeliveries,
  type TakenEvents,
  takeEvents,
} from './delivery-store.ts'
import { type Dispatcher, LEASE_MS } from './dispatcher.ts'
import type { Listeners } from './listen.ts'
import { RETRIES } from './retries.ts'

/** Rows of the outbox in one transaction. */
const BATCH_SIZE = 500
/** Older events have no place to be kept in. */
export const KEPT_DAYS = 30
const DAY_MS = 86_400_000

export type FanOutParts = {
  db: Db
  dispatcher: Dispatcher
  clock: Clock
  log: Log
  metrics: WebhookMetrics
  /** Where this process also serves terminals that listen. */
  listeners?: Pick<Listeners, 'wake'>
}

type Webhook = TakenEvents['webhooks'][number]

/** Until nothing new is left. What is queued is sent by this process, as far as it has room. */
export async function fanOut(parts: FanOutParts, signal?: AbortSignal): Promise<void> {
  for (;;) {
    if ((await fanOutOnce(parts)) < BATCH_SIZE || signal?.aborted) return
  }
}

async function fanOutOnce(parts: FanOutParts): Promise<number> {
  const { db, dispatcher, clock, log, metrics } = parts
  const { taken, fresh, webhooks } = await db.transaction(async (tx) => {
    const { taken, events, webhooks } = await takeEvents(tx, BATCH_SIZE)
    if (events.length === 0) return { taken, fresh: [], webhooks }
    const keep_from = clock.now().getTime() - KEPT_DAYS * DAY_MS
    const kept = events.filter((event) => Date.parse(event.at) > keep_from)
    if (kept.length < events.length) {
      log.error({ alarm: 'webhooks', events: events.length - kept.length }, 'events are too old')
    }
    const deliveries = planDeliveries(kept, webhooks, dispatcher)
    if (deliveries.length === 0) return { taken, fresh: [], webhooks }
    const queued = await queueDeliveries(tx, deliveries, { lease_ms: LEASE_MS, retries: RETRIES })
    return { taken, webhooks, fresh: deliveries.filter((one) => queued.has(one.id)) }
  })
  metrics.webhook_events.inc(taken)
  metrics.webhook_queued.inc(fresh.length)
  const targets = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
  for (const { leased, ...delivery } of fresh) {
    const target = targets.get(delivery.webhook_id)
    if (!target) continue
    if (target.url === null) parts.listeners?.wake(target.id)
    else if (leased) dispatcher.offer({ ...delivery, attempts: 0, retries_left: RETRIES }, target)
    else dispatcher.noteBacklog(target.id)
  }
  return taken
}

/** Those that the dispatcher has room for are leased to it; the others wait to be claimed. */
function planDeliveries(
  events: readonly OutboxEvent[],
  webhooks: readonly Webhook[],
  dispatcher: Dispatcher,
): NewDelivery[] {
  const by_id = new Map(webhooks.map((webhook) => [webhook.id, webhook]))
  const room = new Map<string, number>()
  const deliveries: NewDelivery[] = []
  for (const event of events) {
    const made = new Map<string, { event_id: string; body: string }>()
    for (const webhook_id of event.webhook_ids) {
      const webhook = by_id.get(webhook_id)
      for (const { type, data, about } of webhook ? eventsFor(event, webhook) : []) {
        const created_at = new Date(event.at)
        const { event_id, body } = made.get(about) ?? makeEvent({ type, data, about, created_at })
        made.set(about, { event_id, body })
        const left = room.get(webhook_id) ?? dispatcher.roomFor(webhook_id)
        room.set(webhook_id, left - 1)
        deliveries.push({
          id: deriveId(created_at, `${event_id} ${webhook_id}`),
          created_at,
          webhook_id,
          event_id,
          event_type: type,
          body,
          leased: left > 0 && webhook?.url !== null,
        })
      }
    }
  }
  return deliveries
}

function makeEvent(event: { type: EventType; data: object; about: string; created_at: Date }) {
  const event_id = deriveId(event.created_at, event.about)
  return { event_id, body: eventBody({ ...event, id: event_id }) }
}

type Told = {
  type: EventType
  data: object
  /** What makes it this event and no other. */
  about: string
}

/** What one row of the outbox means to one webhook. */
function eventsFor(event: OutboxEvent, webhook: Webhook): Told[] {
  const told: Told[] = []
  const tell = (type: EventType, data: object, detail = '') => {
    if (webhook.events.includes(type)) {
      told.push({ type, data, about: `${event.source_id} ${event.at} ${type} ${detail}` })
    }
  }
  const user_id = event.wallet_id
  const { balance_before, balance_after } = event
  if (event.kind === 'user.connected' || event.kind === 'user.disconnected') {
    const { client_id: _, ...data } = event.payload ?? {}
    tell(event.kind, data)
    return told
  }
  if (balance_before === null || balance_after === null) return told
  if (event.kind === 'usage.completed') {
    tell('usage.completed', usageOf(event))
    tell('balance.updated', {
      user_id,
      new_balance: balance_after,
      amount_spent: balance_before - balance_after,
      model: event.model,
      endpoint: event.endpoint,
    })
  }
  const threshold = webhook.low_balance_threshold
  if (threshold !== null && balance_before >= threshold && balance_after < threshold) {
    tell('balance.low', { user_id, current_balance: balance_after, threshold }, String(threshold))
  }
  return told
}

function usageOf(event: OutboxEvent) {
  const prompt_tokens = event.prompt_tokens ?? 0
  const completion_tokens = event.completion_tokens ?? 0
  return {
    user_id: event.wallet_id,
    model: event.model,
    prompt_tokens,
    completion_tokens,
    total_tokens: prompt_tokens + completion_tokens,
    credits_used: event.credits_used,
  }
}
