// Background work of webhooks: reads the outbox, sends what is due, keeps the log to its time.

import { queueNotice } from '../accounts/notices.ts'
import type { Wake } from '../events/wake.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { InvalidationFeed } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import type { WebhookMetrics } from '../platform/metrics.ts'
import type { SecretBox } from '../platform/secret-box.ts'
import { type Job, runAtStart, type Worker } from '../platform/worker.ts'
import {
  type ClaimedDelivery,
  claimDeliveries,
  findTargets,
  giveUpDeliveries,
  keepWebhookPartitions,
} from './delivery-store.ts'
import { type Dispatcher, LEASE_MS, type Rooms } from './dispatcher.ts'
import { fanOut, KEPT_DAYS } from './fan-out.ts'
import { resealSecrets } from './reseal.ts'
import { forgetOldWebhookRows, switchOffFailing } from './store.ts'

export const FAN_OUT_JOB = 'webhooks.fan_out'
export const SEND_DUE_JOB = 'webhooks.send_due'

/** Nobody waits for these: a wake-up comes first where there is one. */
const POLL_EVERY_MS = 1_000
const KEEP_EVERY_MS = 600_000
const SWITCH_OFF_EVERY_MS = 600_000
const NO_ID = '00000000-0000-0000-0000-000000000000'
const WEBHOOKS_PER_CLAIM = 64
/** Only failures for three days, of this many events. */
const SWITCH_OFF = { events: 20, seconds: 3 * 86_400 }

export type WebhookJobParts = {
  db: Db
  clock: Clock
  log: Log
  metrics: WebhookMetrics
  dispatcher: Dispatcher
  secret_box: SecretBox
  wakeMailSender: () => void
}

export function webhookJobs(parts: WebhookJobParts): Job[] {
  return [
    { name: FAN_OUT_JOB, every_ms: POLL_EVERY_MS, run: (signal) => fanOut(parts, signal) },
    { name: SEND_DUE_JOB, every_ms: POLL_EVERY_MS, run: (signal) => sendDue(parts, signal) },
    { name: 'webhooks.keep', every_ms: KEEP_EVERY_MS, run: () => keepWebhookLog(parts) },
    {
      name: 'webhooks.reseal',
      every_ms: KEEP_EVERY_MS,
      run: (signal) => resealSecrets(parts, signal),
    },
    {
      name: 'webhooks.switch_off',
      every_ms: SWITCH_OFF_EVERY_MS,
      run: () => switchOffDeadWebhooks(parts),
    },
  ]
}

type WakeParts = Pick<WebhookJobParts, 'dispatcher'> & {
  event_wake: Wake
  delivery_wake: Wake
  feed: InvalidationFeed
}

/** Whoever has news, in this process or another, wakes the jobs of this one. */
export function wakeOnNews(parts: WakeParts, worker: Worker): void {
  const sendDue = () => worker.kick(SEND_DUE_JOB)
  const work = [
    { wake: parts.event_wake, run: () => worker.kick(FAN_OUT_JOB) },
    { wake: parts.delivery_wake, run: sendDue },
  ]
  for (const { wake, run } of work) {
    wake.workHere(run)
    parts.feed.alsoListen(wake.channel, run)
  }
  parts.dispatcher.onRoom(sendDue)
}

/** At every start: without the partitions of today nothing can be queued, and events wait in the outbox. */
export async function prepareWebhooks(parts: Pick<WebhookJobParts, 'db' | 'log'>): Promise<void> {
  await runAtStart('webhooks.keep', parts.log, () => keepWebhookLog(parts))
}

export async function keepWebhookLog({
  db,
  log,
}: Pick<WebhookJobParts, 'db' | 'log'>): Promise<void> {
  const changed = await keepWebhookPartitions(db, KEPT_DAYS)
  const made = changed.filter((one) => !one.dropped).map((one) => one.partition_name)
  const dropped = changed.filter((one) => one.dropped).map((one) => one.partition_name)
  if (changed.length > 0) log.info({ made, dropped }, 'partitions of webhooks')
  await forgetOldWebhookRows(db)
}

/** Claims webhook after webhook what is due, as far as there is room to send it. */
export async function sendDue(parts: WebhookJobParts, signal?: AbortSignal): Promise<void> {
  const { db, dispatcher } = parts
  for (let after = NO_ID; !dispatcher.is_full; ) {
    const rooms = dispatcher.rooms()
    const claimed = await claimDeliveries(db, {
      after,
      rooms,
      webhooks: WEBHOOKS_PER_CLAIM,
      lease_ms: LEASE_MS,
    })
    await offerAll(parts, claimed, rooms)
    const last = claimed.at(-1)
    if (!last || signal?.aborted) return
    after = last.webhook_id
  }
}

async function offerAll(
  { db, dispatcher }: WebhookJobParts,
  claimed: readonly ClaimedDelivery[],
  rooms: Rooms,
): Promise<void> {
  if (claimed.length === 0) return
  const by_webhook = Map.groupBy(claimed, (delivery) => delivery.webhook_id)
  const targets = await findTargets(db, [...by_webhook.keys()])
  const known = new Map(targets.map((target) => [target.id, target]))
  const unwanted: ClaimedDelivery[] = []
  for (const [webhook_id, deliveries] of by_webhook) {
    const target = known.get(webhook_id)
    if (!target) {
      unwanted.push(...deliveries)
      continue
    }
    for (const delivery of deliveries) {
      if (!delivery.is_too_late) dispatcher.offer(delivery, target)
    }
    const asked_for = rooms.known.get(webhook_id) ?? rooms.first
    if (deliveries.length >= asked_for) dispatcher.noteBacklog(webhook_id)
  }
  // Of webhooks that were switched off or deleted.
  await giveUpDeliveries(db, unwanted, 'cancelled')
  const too_late = claimed.filter((one) => one.is_too_late && known.has(one.webhook_id))
  await giveUpDeliveries(db, too_late, 'failed')
}

/** What nobody takes is not sent for ever; whoever owns it is told. */
export async function switchOffDeadWebhooks(parts: WebhookJobParts): Promise<void> {
  const { db, clock, log } = parts
  const switched_off = await db.transaction(async (tx) => {
    const rows = await switchOffFailing(tx, SWITCH_OFF)
    for (const { url, developer_id, failed_events } of rows) {
      await queueNotice(tx, {
        account_id: developer_id,
        subject: 'A webhook was switched off',
        words: [
          `For three days nothing that we sent to ${url} has arrived: ${failed_events} events failed.`,
          'So we switched the webhook off. Its log says why each attempt failed.',
          'Once the receiver works again, switch it on with PATCH /v1/webhooks/… {"active": true}, and have what failed sent again with POST …/recover.',
        ].join('\n\n'),
        at: clock.now(),
      })
    }
    return rows
  })
  if (switched_off.length === 0) return
  log.warn({ webhooks: switched_off.map((row) => row.id) }, 'webhooks switched off')
  parts.wakeMailSender()
}
