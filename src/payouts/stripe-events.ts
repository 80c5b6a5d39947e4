// Events that Stripe sends: signed, at least once each, in any order. Each is done once. What an event is about may have
// changed since, so handlers ask Stripe where that matters.

import type { Stripe } from 'stripe'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Job } from '../platform/worker.ts'
import { forgetEvents, isEventDone, takeEvent } from './event-store.ts'
import { forPerson, requireProcessor, type WithProcessor } from './processor.ts'

/** Done in the transaction that notes the event. */
export type EventWork = (tx: Tx) => Promise<void>

/**
 * Asks the processor what it has to, outside any transaction, and answers what is to be done. Undefined: nothing is.
 */
export type EventHandler<Type extends Stripe.Event.Type> = {
  /** Whose event it has to be. A connected account must not be able to speak for the platform. */
  from: 'platform' | 'connected'
  prepare(event: Extract<Stripe.Event, { type: Type }>): Promise<EventWork | undefined>
}

/** By the type of the event. Types that are not here are acknowledged and ignored. */
export type EventHandlers = { readonly [Type in Stripe.Event.Type]?: EventHandler<Type> }

export type EventParts = WithProcessor & {
  db: Db
  clock: Clock
  log: Log
  secrets: readonly string[]
  handlers: EventHandlers
}

/** Throws if it could not be done: then Stripe sends it again, for three days. */
export async function receiveEvent(
  parts: EventParts,
  received: { body: string; signature: string },
): Promise<void> {
  const has_secrets = parts.secrets.length > 0
  const processor = requireProcessor({ processor: has_secrets ? parts.processor : undefined })
  const { body, signature } = received
  const event = await processor.readEvent(body, signature, parts.secrets)
  if (!event) {
    throw new ApiError('bad_request', { message: 'This is not signed by Stripe, or too old.' })
  }
  const handler = handlerOf(parts.handlers, event)
  if (!handler || (await isEventDone(parts.db, event.id))) return
  try {
    const work = await forPerson(handler())
    await parts.db.transaction(async (tx) => {
      const { id, type } = event
      if (await takeEvent(tx, { id, type, at: parts.clock.now() })) await work?.(tx)
    })
  } catch (error) {
    alarmIfRefused(parts, event, error)
    throw error
  }
  parts.log.info({ event: event.id, type: event.type }, 'stripe event')
}

/** What we refuse ourselves will be refused at every repeat: money that was paid would be forgotten without a word. */
function alarmIfRefused({ log }: EventParts, event: Stripe.Event, error: unknown): void {
  if (!(error instanceof ApiError) || error.status >= 500) return
  const about = { alarm: 'stripe_event', event: event.id, type: event.type, err: error }
  log.error(about, 'an event of the processor cannot be done')
}

function handlerOf(
  handlers: EventHandlers,
  event: Stripe.Event,
): (() => Promise<EventWork | undefined>) | undefined {
  if (!Object.hasOwn(handlers, event.type)) return undefined
  // The table pairs each type with a handler of that very type, which the compiler cannot follow through a lookup.
  const handler = handlers[event.type] as EventHandler<typeof event.type> | undefined
  const from = event.account === undefined || event.account === null ? 'platform' : 'connected'
  if (handler?.from !== from) return undefined
  return () => handler.prepare(event)
}

/** Stripe can be asked to send an event again for 30 days. */
const KEPT_DAYS = 40
const FORGET_EVERY_MS = 3_600_000
const FORGET_BATCH = 5_000
const FORGET_BATCHES_MAX = 100

export function forgetEventsJob(parts: Pick<EventParts, 'db' | 'clock'>): Job {
  return {
    name: 'payouts.forget_stripe_events',
    every_ms: FORGET_EVERY_MS,
    run: async (signal) => {
      const before = new Date(parts.clock.now().getTime() - KEPT_DAYS * 86_400_000)
      for (let batch = 0; batch < FORGET_BATCHES_MAX && !signal.aborted; batch++) {
        if ((await forgetEvents(parts.db, before, FORGET_BATCH)) < FORGET_BATCH) return
      }
    },
  }
}
