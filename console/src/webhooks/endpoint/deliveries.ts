// The delivery log of one webhook, and sending again.

import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api, ask } from '../../api.ts'
import type { paths } from '../../api-types.ts'
import { queries, useList } from '../../queries.ts'
import type { EventName } from '../webhooks.ts'

type Log = paths['/v1/webhooks/{id}/deliveries']['get']
type OneDelivery = paths['/v1/webhooks/{id}/deliveries/{delivery_id}']['get']
export type Delivery = Log['responses'][200]['content']['application/json']['deliveries'][number]
export type DeliveryWithAttempts = OneDelivery['responses'][200]['content']['application/json']
export type Attempt = DeliveryWithAttempts['attempts'][number]
export type Status = Delivery['status']

export type Filter = {
  status?: Status
  event_type?: EventName
  from?: string
  to?: string
}

const POLL_MS = 2_000
/** What is due later is not waited for. */
const DUE_SOON_MS = 60_000
const POLLS_MAX = 150

const logOf = (id: string) => ['webhook', id, 'deliveries']

export function useDeliveries(id: string, filter: Filter) {
  return useList<Delivery>([...logOf(id), filter], async (page) => {
    const given = { params: { path: { id }, query: { ...filter, ...page } } }
    const { deliveries, ...rest } = await ask(() => api.GET('/v1/webhooks/{id}/deliveries', given))
    return { data: deliveries, ...rest }
  })
}

/** Read again every two seconds while an attempt is under way, for five minutes at most. */
export function useDelivery(id: string, delivery_id: string) {
  const found = useQuery({
    queryKey: ['webhook', id, 'delivery', delivery_id],
    queryFn: () => {
      const params = { path: { id, delivery_id } }
      return ask(() => api.GET('/v1/webhooks/{id}/deliveries/{delivery_id}', { params }))
    },
    refetchInterval: ({ state }) =>
      state.data && isUnderWay(state.data) && state.dataUpdateCount < POLLS_MAX ? POLL_MS : false,
  })
  useListAgainAfter(id, found.data)
  return found
}

/** The list beside it shows what has become of the delivery, too. */
function useListAgainAfter(id: string, delivery: Delivery | undefined): void {
  const shown = useRef<string | undefined>(undefined)
  const state = delivery && `${delivery.id} ${delivery.status} ${delivery.attempt}`
  useEffect(() => {
    const before = shown.current
    shown.current = state
    if (before === undefined || state === undefined || before === state) return
    if (before.split(' ')[0] !== state.split(' ')[0]) return
    void queries.invalidateQueries({ queryKey: logOf(id) })
    void queries.invalidateQueries({ queryKey: ['webhook', id, 'stats'] })
  }, [id, state])
}

const TICK_MS = 10_000

/** Waits are told in words that go out of date. */
export function useNow(is_waiting: boolean): number {
  const [, setTicks] = useState(0)
  useEffect(() => {
    if (!is_waiting) return undefined
    const timer = setInterval(() => setTicks((ticks) => ticks + 1), TICK_MS)
    return () => clearInterval(timer)
  }, [is_waiting])
  return Date.now()
}

function isUnderWay({ status, next_attempt_at }: Delivery): boolean {
  if (status !== 'pending') return false
  return next_attempt_at === null || Date.parse(next_attempt_at) - Date.now() < DUE_SOON_MS
}

async function sent<Sent extends { data?: unknown; error?: unknown; response: Response }>(
  id: string,
  send: () => Promise<Sent>,
) {
  const answer = await ask(send)
  await queries.invalidateQueries({ queryKey: ['webhook', id] })
  return answer
}

export function sendTestEvent(id: string, event_type: EventName): Promise<Delivery> {
  const given = { params: { path: { id } }, body: { event_type } }
  return sent(id, () => api.POST('/v1/webhooks/{id}/test', given))
}

export function redeliver(id: string, delivery_id: string): Promise<Delivery> {
  const params = { path: { id, delivery_id } }
  return sent(id, () =>
    api.POST('/v1/webhooks/{id}/deliveries/{delivery_id}/redeliver', { params }),
  )
}

export function recoverSince(id: string, since: string) {
  const given = { params: { path: { id } }, body: { since } }
  return sent(id, () => api.POST('/v1/webhooks/{id}/recover', given))
}

const EVENT_TIME = /^evt_([0-9a-f]{12})[0-9a-f]{20}$/

/** The id of an event begins with its time, to the millisecond: so its delivery is found without reading the log. */
export function timeOfEvent(event_id: string): Required<Pick<Filter, 'from' | 'to'>> | undefined {
  const found = EVENT_TIME.exec(event_id)?.[1]
  if (found === undefined) return undefined
  const at_ms = Number.parseInt(found, 16)
  const [from, to] = [new Date(at_ms), new Date(at_ms + 1)]
  if (Number.isNaN(to.getTime())) return undefined
  return { from: from.toISOString(), to: to.toISOString() }
}
