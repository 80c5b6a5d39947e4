// Sends what this process has a lease on. Each webhook has a queue and a number of attempts at once of its own: it grows
// while they arrive and shrinks to one while they fail, so an endpoint that is dead or slow holds up nobody else.

import { setTimeout as sleep } from 'node:timers/promises'
import { eventName } from '../events/event-types.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { Forgetful } from '../platform/invalidation.ts'
import type { Log } from '../platform/log.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import type { WebhookMetrics } from '../platform/metrics.ts'
import { type SecretBox, SecretNotOpened } from '../platform/secret-box.ts'
import { type AttemptResult, sendAttempt } from './attempt.ts'
import type { WebhookClient } from './client.ts'
import type { QueuedDelivery, Target } from './delivery-store.ts'
import { Results } from './results.ts'
import { retryAfterMs } from './retries.ts'
import { deliveryHeaders } from './signature.ts'

/** How long a delivery is ours. One that has waited too long to be sent within it is left to whoever claims it next. */
export const LEASE_MS = 60_000
const SEND_WITHIN_MS = 45_000
const RUNNING_MAX = 256
/** Of these, for webhooks that fail: however many there are, the others find a place. */
const FAILING_MAX = 192
/** Attempts at once of one webhook. */
const AT_ONCE = { first: 8, min: 1, max: 64 }
const WAITING = 16
const SECRETS_KEPT = 1_000
const LEARNED_KEPT = 10_000
/** How long a stop waits for attempts that are on their way. */
const STOP_WITHIN_MS = 5_000

const UNSIGNED: AttemptResult = {
  outcome: 'not_sent',
  reason:
    'The service cannot read the secret of this webhook, so nothing was sent: replace the secret, or ask the operator.',
  response_status: 0,
  response_body: 'not sent',
  duration_ms: 0,
}

export type DispatcherOptions = {
  db: Db
  client: WebhookClient
  secret_box: SecretBox
  clock: Clock
  log: Log
  metrics: WebhookMetrics
}

/** How many more deliveries each webhook takes. */
export type Rooms = { first: number; known: ReadonlyMap<string, number> }

type Waiting = { delivery: QueuedDelivery; send_before: number }
type Lane = {
  target: Target
  waiting: Waiting[]
  running: number
  at_once: number
  /** The database may have more of it than was taken into memory. */
  has_backlog: boolean
}

export class Dispatcher implements Forgetful {
  readonly #options: DispatcherOptions
  /** Who has had no place for the longest time comes first. */
  readonly #lanes = new Map<string, Lane>()
  readonly #secrets = createLruCache<string, string>(SECRETS_KEPT)
  /** What was learned of webhooks that have nothing to send now. */
  readonly #learned = createLruCache<string, number>(LEARNED_KEPT)
  #running = 0
  #failing = 0
  #stopped = false
  #onRoom: () => void = () => {}

  readonly #results: Results

  constructor(options: DispatcherOptions) {
    this.#options = options
    this.#results = new Results(options)
  }

  /** Is called when a webhook, of which the database has more, has room again. */
  onRoom(callback: () => void): void {
    this.#onRoom = callback
  }

  roomFor(webhook_id: string): number {
    if (this.#stopped) return 0
    const lane = this.#lanes.get(webhook_id)
    return lane ? capacityOf(lane.at_once) - lane.waiting.length : this.#firstRoom(webhook_id)
  }

  /** Of webhooks with something to send: how many more each takes. Any other takes `first`. */
  rooms(): Rooms {
    const known = new Map([...this.#lanes.keys()].map((id) => [id, this.roomFor(id)]))
    return { first: capacityOf(AT_ONCE.first), known }
  }

  #firstRoom(webhook_id: string): number {
    return capacityOf(this.#learned.get(webhook_id) ?? AT_ONCE.first)
  }

  /** The process as a whole has something to do for now. */
  get is_full(): boolean {
    return this.#stopped || this.#running >= RUNNING_MAX
  }

  /** Nothing is on its way, and all that came back is written. */
  get is_idle(): boolean {
    return this.#lanes.size === 0 && this.#results.are_written
  }

  noteBacklog(webhook_id: string): void {
    const lane = this.#lanes.get(webhook_id)
    if (lane) lane.has_backlog = true
    else this.#onRoom()
  }

  /** For a delivery that this process has just got the lease of. */
  offer(delivery: QueuedDelivery, target: Target): void {
    let lane = this.#lanes.get(target.id)
    if (!lane) {
      const at_once = this.#learned.get(target.id) ?? AT_ONCE.first
      lane = { target, waiting: [], running: 0, at_once, has_backlog: false }
      this.#lanes.set(target.id, lane)
    }
    lane.target = target
    lane.waiting.push({ delivery, send_before: performance.now() + SEND_WITHIN_MS })
    this.#fill(lane)
  }

  /** A webhook was changed, switched off or deleted: what waits is judged anew when its lease is over. */
  forget(tags: readonly string[]): void {
    for (const tag of tags) {
      const lane = tag.startsWith('webhook:')
        ? this.#lanes.get(tag.slice('webhook:'.length))
        : undefined
      if (lane) this.#dropWaiting(lane)
    }
  }

  forgetAll(): void {
    for (const lane of this.#lanes.values()) this.#dropWaiting(lane)
  }

  /** What waits is left to others; what is on its way is finished. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.forgetAll()
    const give_up_at = performance.now() + STOP_WITHIN_MS
    while (this.#running > 0 && performance.now() < give_up_at) await sleep(10)
    await this.#results.stop()
  }

  #dropWaiting(lane: Lane): void {
    lane.waiting = []
    this.#closeIfDone(lane)
  }

  #fill(lane: Lane): void {
    const is_failing = lane.at_once === AT_ONCE.min
    while (lane.running < lane.at_once && this.#running < RUNNING_MAX) {
      if (is_failing && this.#failing >= FAILING_MAX) break
      const next = lane.waiting.shift()
      if (!next) break
      if (performance.now() > next.send_before) continue
      this.#lanes.delete(lane.target.id)
      this.#lanes.set(lane.target.id, lane)
      void this.#send(lane, next.delivery, is_failing)
    }
    this.#closeIfDone(lane)
  }

  async #send(lane: Lane, delivery: QueuedDelivery, is_failing: boolean): Promise<void> {
    lane.running += 1
    this.#running += 1
    if (is_failing) this.#failing += 1
    let delivered = false
    try {
      delivered = await this.#attempt(lane.target, delivery)
    } catch (error) {
      // Its lease ends, and it is tried again.
      this.#options.log.error({ err: error, delivery_id: delivery.id }, 'a delivery was not tried')
    }
    const others_wait =
      this.#running === RUNNING_MAX || (is_failing && this.#failing === FAILING_MAX)
    lane.running -= 1
    this.#running -= 1
    if (is_failing) this.#failing -= 1
    lane.at_once = delivered
      ? Math.min(lane.at_once + 1, AT_ONCE.max)
      : Math.max(Math.floor(lane.at_once / 2), AT_ONCE.min)
    if (others_wait) this.#giveTurns()
    this.#goOn(lane)
  }

  /** A place that all wanted is not for whoever has just had it. */
  #giveTurns(): void {
    for (const lane of this.#lanes.values()) {
      if (this.#running >= RUNNING_MAX) break
      this.#fill(lane)
    }
    this.#onRoom()
  }

  #goOn(lane: Lane): void {
    if (lane.has_backlog && lane.waiting.length <= lane.at_once) {
      lane.has_backlog = false
      this.#onRoom()
    }
    this.#fill(lane)
  }

  #closeIfDone(lane: Lane): void {
    if (lane.running > 0 || lane.waiting.length > 0) return
    this.#learned.set(lane.target.id, lane.at_once)
    this.#lanes.delete(lane.target.id)
  }

  async #attempt(target: Target, delivery: QueuedDelivery): Promise<boolean> {
    const { client, clock, metrics } = this.#options
    const { url } = target
    if (url === null) throw new Error('a terminal takes its own deliveries')
    const at = clock.now()
    const { body } = delivery
    const headers = this.#headersOf(target, delivery, at)
    const result = headers ? await sendAttempt(client, { url, headers, body }) : UNSIGNED
    const { outcome, duration_ms } = result
    metrics.webhook_attempts.inc({ outcome })
    if (headers && outcome === 'not_sent') throw new Error(result.reason)
    metrics.webhook_attempt_seconds.observe(duration_ms / 1000)
    const delivered = outcome === 'delivered'
    const { id, created_at, retries_left } = delivery
    const retry_after_ms = outcome === 'gone' ? null : retryAfterMs(retries_left)
    this.#results.record({
      item: {
        ...result,
        webhook_id: target.id,
        id,
        created_at,
        at,
        request_headers: JSON.stringify(headers ?? {}),
        delivered,
        ...(!delivered && { retry_after_ms }),
      },
      counted: { webhook_id: target.id, delivered, is_first: delivery.attempts === 0, duration_ms },
    })
    return delivered
  }

  /** Undefined: the secret does not open, which the operator is told, and the developer in the log. */
  #headersOf(target: Target, delivery: QueuedDelivery, at: Date) {
    const { id, secret, previous_secret, previous_secret_until } = target
    const overlaps = previous_secret_until !== null && new Date(previous_secret_until) > at
    try {
      return deliveryHeaders({
        event_type: delivery.event_type,
        event_id: eventName(delivery.event_id),
        body: delivery.body,
        secret: this.#open(secret, id),
        ...(overlaps &&
          previous_secret !== null && { previous_secret: this.#open(previous_secret, id) }),
        at,
      })
    } catch (error) {
      if (!(error instanceof SecretNotOpened)) throw error
      this.#options.log.error({ err: error, webhook_id: id }, 'a delivery cannot be signed')
      return undefined
    }
  }

  #open(sealed: string, webhook_id: string): string {
    const known = this.#secrets.get(sealed)
    if (known !== undefined) return known
    const secret = this.#options.secret_box.open(sealed, webhook_id)
    this.#secrets.set(sealed, secret)
    return secret
  }
}

/** What waits in memory: little of a webhook that fails, because a lease that ends unused was for nothing. */
function capacityOf(at_once: number): number {
  return WAITING + 12 * at_once
}
