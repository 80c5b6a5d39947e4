// The events that happened, as snapshots of the moment. Stripe forgets them after thirty days; the
// stand-in keeps the newest.

import type { Clock } from './clock.ts'
import { missing } from './errors.ts'
import type { Ids } from './ids.ts'
import type { Event } from './objects.ts'
import type { Page, PageWish } from './table.ts'

const MAX_EVENTS = 20_000
/** The version that the official client of this project is pinned to. */
export const API_VERSION = '2026-10-28.endive'

export type EventDetails = { account?: string; previous_attributes?: Record<string, unknown> }

export type EventLog = {
  emit(type: string, object: object, details?: EventDetails): void
  get(id: string): Event
  /** Newest first. */
  page(wish: PageWish, keep: (event: Event) => boolean): Page<Event>
  size(): number
  /** Names the request that causes the events until the work is done. */
  during<Result>(request: Event['request'], work: () => Result): Result
  /** Work that leaves no trace. */
  quietly<Result>(work: () => Result): Result
}

const NO_REQUEST: Event['request'] = { id: null, idempotency_key: null }

type Options = { clock: Clock; ids: Ids; onEvent: (event: Event) => void }

export function createEventLog({ clock, ids, onEvent }: Options): EventLog {
  const events = new Map<string, Event>()
  let request = NO_REQUEST
  let quiet = false

  function get(id: string): Event {
    const event = events.get(id)
    if (event === undefined) throw missing('event', id, 'id')
    return event
  }

  return {
    emit(type, object, details = {}) {
      if (quiet) return
      const event = makeEvent({ type, object, details, request, clock, ids })
      events.set(event.id, event)
      const oldest = events.size > MAX_EVENTS ? events.keys().next().value : undefined
      if (oldest !== undefined) events.delete(oldest)
      onEvent(event)
    },
    get,
    page(wish, keep) {
      const all = [...events.values()].toReversed()
      const after = wish.starting_after === undefined ? -1 : all.indexOf(get(wish.starting_after))
      const until =
        wish.ending_before === undefined ? all.length : all.indexOf(get(wish.ending_before))
      const found = all.slice(after + 1, until).filter(keep)
      const data =
        wish.ending_before === undefined ? found.slice(0, wish.limit) : found.slice(-wish.limit)
      return { data, has_more: found.length > wish.limit }
    },
    size: () => events.size,
    during(cause, work) {
      request = cause
      try {
        return work()
      } finally {
        request = NO_REQUEST
      }
    },
    quietly(work) {
      quiet = true
      try {
        return work()
      } finally {
        quiet = false
      }
    },
  }
}

type Making = { type: string; object: object; details: EventDetails; request: Event['request'] }

function makeEvent(making: Making & Pick<Options, 'clock' | 'ids'>): Event {
  const { type, object, request, clock, ids } = making
  const { account, previous_attributes } = making.details
  return {
    id: ids.make('evt'),
    object: 'event',
    ...(account !== undefined && { account }),
    api_version: API_VERSION,
    created: clock.nowSeconds(),
    data: {
      object: structuredClone(object),
      ...(previous_attributes !== undefined && { previous_attributes }),
    },
    livemode: false,
    pending_webhooks: 1,
    request,
    type,
  }
}
