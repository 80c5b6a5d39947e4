// Terminals that listen: a developer's machine is told of the events of an app through a stream that it opened, so it
// needs no public address. A terminal is a webhook without a url. It is told while its stream is open and not again:
// what it is sent counts as delivered.

import { setTimeout as wait } from 'node:timers/promises'
import { isSessionOpen } from '../accounts/sessions.ts'
import { eventName } from '../events/event-types.ts'
import type { SessionPrincipal } from '../http/access.ts'
import type { EventStream } from '../http/event-stream.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { formatEvent } from '../platform/sse.ts'
import { findDueListeners, type QueuedDelivery, takeForListener } from './delivery-store.ts'
import { readNow } from './log-store.ts'
import { deliveryName, webhookName } from './names.ts'
import { deliveryHeaders } from './signature.ts'
import { renewListener, type WebhookRow } from './store.ts'
import { createListener, removeWebhook, type WebhookParts } from './webhooks.ts'

const DELIVERIES_AT_ONCE = 20
const RETRY_AFTER_S = '5'
/** How long a stop waits for streams to take their leave. */
const STOP_WITHIN_MS = 2_000

const LIMITS = {
  /** Of this process. */
  streams: 200,
  /** How often one question for all of them is asked: fan-out in this process wakes them sooner. */
  poll_ms: 200,
  /** How often the terminal is kept alive in the database and its session is looked at. */
  beat_ms: 20_000,
  /** How long a terminal whose process died is still told. */
  listens_ms: 60_000,
  /** Proxies close what is silent for longer. */
  comment_ms: 15_000,
  /** A terminal that reads nothing for so long is dropped. Nothing is taken for it meanwhile. */
  stall_ms: 30_000,
  total_ms: 86_400_000,
}

export type ListenParts = WebhookParts & { log: Log; listeners: Listeners }

export type WantedListener = {
  session: SessionPrincipal
  client_id: string
  events: readonly string[]
  low_balance_threshold?: number | undefined
  /** Of the stream before, so that the receiver behind the terminal need not learn a new one. */
  secret?: string | undefined
}

export type EndReason =
  | 'left'
  | 'session_ended'
  | 'removed'
  | 'time_limit'
  | 'stopping'
  | 'unavailable'

/** The streams of this process. */
export class Listeners {
  /** Tests shorten them. */
  readonly limits = { ...LIMITS }
  readonly #open = new Map<string, Listener>()
  #count = 0
  #is_watching = false
  #stopped = false

  /** Until the stream ends. Throws only before its first byte. */
  async serve(parts: ListenParts, wanted: WantedListener, stream: EventStream): Promise<void> {
    this.#requireRoom()
    this.#count += 1
    try {
      const { webhook, secret } = await this.#create(parts, wanted)
      const listener = new Listener(webhook, { session: wanted.session, secret })
      this.#open.set(webhook.id, listener)
      if (!this.#is_watching) void this.#watch(parts)
      stream.onLeave(() => listener.end('left'))
      if (this.#stopped) listener.end('stopping')
      await this.#run(parts, listener, stream)
      this.#open.delete(webhook.id)
      await remove(parts, listener)
    } finally {
      this.#count -= 1
    }
  }

  /** Something was queued for it. */
  wake(webhook_id: string): void {
    this.#open.get(webhook_id)?.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const listener of this.#open.values()) listener.end('stopping')
    const give_up_at = performance.now() + STOP_WITHIN_MS
    while (this.#count > 0 && performance.now() < give_up_at) await wait(10)
  }

  /** While there is a stream. */
  async #watch({ db, log }: ListenParts): Promise<void> {
    this.#is_watching = true
    for (;;) {
      await wait(this.limits.poll_ms)
      if (this.#open.size === 0) break
      try {
        for (const id of await findDueListeners(db, [...this.#open.keys()])) this.wake(id)
      } catch (error) {
        log.warn({ err: error }, 'terminals cannot be told')
        for (const listener of this.#open.values()) listener.end('unavailable')
      }
    }
    this.#is_watching = false
  }

  #requireRoom(): void {
    if (!this.#stopped && this.#count < this.limits.streams) return
    throw new ApiError('service_unavailable', {
      message: this.#stopped ? 'The service is stopping.' : 'Too many terminals listen just now.',
      headers: { 'retry-after': RETRY_AFTER_S },
    })
  }

  async #create(parts: ListenParts, { session, ...wanted }: WantedListener) {
    const now = await readNow(parts.db)
    const listens_until = new Date(now.getTime() + this.limits.listens_ms)
    return await createListener(parts, session.account_id, { ...wanted, listens_until })
  }

  async #run(parts: ListenParts, listener: Listener, stream: EventStream): Promise<void> {
    stream.start()
    const stopComments = stream.keepAlive(this.limits.comment_ms, () => ': still here\n\n')
    try {
      await listener.write(stream, describeListener(listener))
      await this.#relay(parts, listener, stream)
      const reason = listener.end_reason
      if (reason !== 'left') await listener.write(stream, message('end', { reason }))
    } catch (error) {
      parts.log.warn({ err: error }, 'a terminal is not told any more')
      await listener.write(stream, message('end', { reason: 'unavailable' }))
    } finally {
      stopComments()
      stream.endNow()
    }
  }

  /** What the stream has no room for is not taken, so nothing waits in memory but one batch. */
  async #relay(parts: ListenParts, listener: Listener, stream: EventStream): Promise<void> {
    const { beat_ms, total_ms } = this.limits
    const began_at = performance.now()
    let beat_at = began_at
    while (listener.end_reason === undefined) {
      const taken = await takeForListener(parts.db, listener.id, DELIVERIES_AT_ONCE)
      const text = taken.map((delivery) => describeDelivery(parts, listener, delivery)).join('')
      await listener.write(stream, text)
      const now = performance.now()
      if (now - began_at >= total_ms) listener.end('time_limit')
      if (now - beat_at >= beat_ms) {
        beat_at = now
        await this.#beat(parts, listener)
      }
      if (taken.length < DELIVERIES_AT_ONCE) await listener.pause(beat_at + beat_ms - now)
    }
  }

  async #beat(parts: ListenParts, listener: Listener): Promise<void> {
    const { session_id } = listener.session
    if (!(await isSessionOpen(parts, session_id))) listener.end('session_ended')
    else if (!(await renewListener(parts.db, listener.id, this.limits.listens_ms))) {
      listener.end('removed')
    }
  }
}

/** One stream: when it looks for more, and why it ends. */
class Listener {
  readonly webhook: WebhookRow
  readonly session: SessionPrincipal
  readonly secret: string
  end_reason: EndReason | undefined
  readonly #ended = Promise.withResolvers<void>()
  #woken = false
  #resume: (() => void) | undefined

  constructor(webhook: WebhookRow, owner: { session: SessionPrincipal; secret: string }) {
    this.webhook = webhook
    this.session = owner.session
    this.secret = owner.secret
  }

  get id(): string {
    return this.webhook.id
  }

  /** The first reason counts. */
  end(reason: EndReason): void {
    this.end_reason ??= reason
    this.#ended.resolve()
    this.wake()
  }

  wake(): void {
    this.#woken = true
    this.#resume?.()
  }

  /** Not at all if it was woken meanwhile. */
  async pause(limit_ms: number): Promise<void> {
    if (!this.#woken) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limit_ms)
        this.#resume = () => {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#resume = undefined
    }
    this.#woken = false
  }

  /** Resolves when there is room for more, or when it is to end. */
  async write(stream: EventStream, text: string): Promise<void> {
    await Promise.race([stream.write(text), this.#ended.promise])
  }
}

function describeListener({ webhook, secret }: Listener): string {
  const { client_id, events } = webhook
  return message('listening', { id: webhookName(webhook.id), client_id, events, secret })
}

function describeDelivery(
  { clock }: ListenParts,
  { secret }: Listener,
  { id, event_id, event_type, body }: QueuedDelivery,
): string {
  const name = eventName(event_id)
  const headers = deliveryHeaders({ event_type, event_id: name, body, secret, at: clock.now() })
  return message('delivery', { id: deliveryName(id), event_id: name, event_type, headers, body })
}

function message(name: string, data: object): string {
  return formatEvent({ name, data: JSON.stringify(data) })
}

/** If this fails, it is forgotten once it has not been renewed for some minutes. */
async function remove(parts: ListenParts, { id, session }: Listener): Promise<void> {
  try {
    await removeWebhook(parts, { developer_id: session.account_id, id })
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return
    parts.log.warn({ err: error }, 'a terminal was not taken off the list')
  }
}
