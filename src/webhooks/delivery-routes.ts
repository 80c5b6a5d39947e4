// /v1/webhooks/:id/…: the log of what was sent, and sending again. Sessions only.

import { Type } from 'typebox'
import { EVENT_TYPE_NAMES, eventName } from '../events/event-types.ts'
import { sessionOf } from '../http/access.ts'
import { Nullable, Page, PageQuery, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import {
  type DeliveryParts,
  listOwnDeliveries,
  listOwnStats,
  readDelivery,
  readOwnStats,
  recoverFailed,
  redeliver,
  sendTestEvent,
  type WebhookStats,
} from './deliveries.ts'
import type { AttemptRow, DeliveryRow } from './log-store.ts'
import { deliveryName, idOf, webhookName } from './names.ts'
import { owned, POLICY, TAGS, WebhookPage } from './routes.ts'

const STATUSES = ['pending', 'delivered', 'failed', 'cancelled'] as const
const EventName = Type.Enum(EVENT_TYPE_NAMES)
const Outcome = Type.String({ examples: ['http_error'] })
const Reason = Type.String({ examples: ['example.com answered with status 500.'] })
const Status = Type.Integer({
  description: 'What the receiver answered; 0 if there was no answer.',
  examples: [200],
})
const ResponseBody = Nullable(Type.String({ description: 'The first 4 KiB of the answer.' }))

const Delivery = Type.Object({
  id: Type.String({ examples: ['dlv_01989f2e7c1a8b3e9d7e2f6f0d1c5a10'] }),
  event_id: Type.String({ examples: ['evt_01989f2e7c1a8a029d7e2f6f0d1c5a10'] }),
  event_type: EventName,
  status: Type.Enum(STATUSES, {
    description:
      'pending: sent or to be sent again; failed: given up; cancelled: the webhook was switched off or deleted.',
  }),
  payload: Type.Unknown({ description: 'The event as it is sent.' }),
  test: Type.Boolean(),
  attempt: Type.Integer({ description: 'How often it was sent.' }),
  next_attempt_at: Nullable(Timestamp),
  response_status: Nullable(Status),
  response_body: ResponseBody,
  outcome: Nullable(Outcome),
  reason: Nullable(Reason),
  delivered_at: Nullable(Timestamp),
  created_at: Timestamp,
})
const Attempt = Type.Object({
  number: Type.Integer(),
  at: Timestamp,
  duration_ms: Type.Integer(),
  outcome: Outcome,
  reason: Reason,
  response_status: Status,
  response_body: ResponseBody,
  request_headers: Type.Record(Type.String(), Type.String(), {
    description: 'As they were sent, with the signatures.',
  }),
})
const DeliveryWithAttempts = Type.Object({
  ...Delivery.properties,
  attempts: Type.Array(Attempt),
})

const Params = Type.Object({ id: Type.String() })
const DeliveryParams = Type.Object({ id: Type.String(), delivery_id: Type.String() })
const Time = Type.String({ format: 'date-time' })

export function deliveryRoutes(app: App, parts: DeliveryParts): void {
  app.get(
    '/v1/webhooks/:id/deliveries',
    {
      config: { ...POLICY, errors: ['not_found', 'bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_deliveries',
        summary: 'List deliveries',
        description: 'Of the last 30 days, newest first.',
        params: Params,
        querystring: Type.Object({
          ...PageQuery.properties,
          status: Type.Optional(Type.Enum(STATUSES)),
          event_type: Type.Optional(EventName),
          from: Type.Optional(Time),
          to: Type.Optional(Time),
        }),
        response: {
          200: Type.Object({
            deliveries: Type.Array(Delivery),
            has_more: Type.Boolean(),
            next_cursor: Nullable(Type.String()),
          }),
        },
      },
    },
    async (request) => {
      const { limit, cursor, from, to, ...query } = request.query
      const filter = { ...query, from: readTime('from', from), to: readTime('to', to) }
      const page = await listOwnDeliveries(parts, owned(request), { filter, cursor, limit })
      const { data, has_more, next_cursor } = page
      return { deliveries: data.map(presentDelivery), has_more, next_cursor }
    },
  )
  app.get(
    '/v1/webhooks/:id/deliveries/:delivery_id',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'get_delivery',
        summary: 'Read a delivery with its attempts',
        params: DeliveryParams,
        response: { 200: DeliveryWithAttempts },
      },
    },
    async (request) => {
      const id = idOf('dlv', request.params.delivery_id)
      const { delivery, attempts } = await readDelivery(parts, owned(request), id)
      return { ...presentDelivery(delivery), attempts: attempts.map(presentAttempt) }
    },
  )
  app.get(
    '/v1/webhooks/:id/stats',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'webhook_stats',
        summary: 'Attempts of the last 24 hours, by half hour',
        params: Params,
        response: { 200: Type.Object({ data: Type.Array(HalfHour) }) },
      },
    },
    async (request) => ({ data: await readOwnStats(parts, owned(request)) }),
  )
  app.get(
    '/v1/webhooks/stats',
    {
      config: { ...POLICY, errors: ['bad_request'] },
      schema: {
        tags: TAGS,
        operationId: 'list_webhook_stats',
        summary: 'Attempts of the last 24 hours, of all webhooks',
        description:
          'The same pages as `GET /v1/webhooks`, with 48 counts each: one for each half hour, oldest first.',
        querystring: WebhookPage,
        response: { 200: Page(WebhookCounts) },
      },
    },
    async (request) => {
      const { client_id, cursor, limit } = request.query
      const page = { client_id, cursor, limit }
      const found = await listOwnStats(parts, sessionOf(request).account_id, page)
      return { ...found, data: found.data.map(presentCounts) }
    },
  )
  sendingRoutes(app, parts)
}

const HalfHour = Type.Object({
  at: Timestamp,
  delivered: Type.Integer(),
  failed: Type.Integer({ description: 'Attempts that failed; some may have been tried again.' }),
  p95_ms: Nullable(Type.Integer({ description: 'How long 95 % took at most, to about a fifth.' })),
})

const Counts = Type.Array(Type.Integer(), { examples: [[0, 3, 12]] })
const WebhookCounts = Type.Object({
  webhook_id: Type.String({ examples: ['wh_01989f2e7c1a8b3e9d7e2f6f0d1c5a10'] }),
  from: Timestamp,
  delivered: Counts,
  failed: Counts,
})

function presentCounts({ webhook_id, half_hours }: WebhookStats) {
  return {
    webhook_id: webhookName(webhook_id),
    from: half_hours[0]?.at ?? '',
    delivered: half_hours.map(({ delivered }) => delivered),
    failed: half_hours.map(({ failed }) => failed),
  }
}

function sendingRoutes(app: App, parts: DeliveryParts): void {
  app.post(
    '/v1/webhooks/:id/test',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'send_test_event',
        summary: 'Send a test event',
        description: 'A sample, marked with `test: true`. It gets one attempt.',
        params: Params,
        body: Type.Object({
          event_type: Type.Optional(EventName),
        }),
        response: { 202: Delivery },
      },
    },
    async (request, reply) => {
      const { event_type } = request.body
      reply.code(202)
      return presentDelivery(await sendTestEvent(parts, owned(request), event_type))
    },
  )
  app.post(
    '/v1/webhooks/:id/deliveries/:delivery_id/redeliver',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'redeliver',
        summary: 'Send a delivery again',
        description: 'The same bytes, once, whatever came of it before.',
        params: DeliveryParams,
        response: { 202: Delivery },
      },
    },
    async (request, reply) => {
      const id = idOf('dlv', request.params.delivery_id)
      reply.code(202)
      return presentDelivery(await redeliver(parts, owned(request), id))
    },
  )
  app.post(
    '/v1/webhooks/:id/recover',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'recover_deliveries',
        summary: 'Send everything again that failed since a time',
        description:
          'What failed, and what was cancelled while the webhook was off. At most 10,000 at once, oldest first; `has_more` says whether to ask again.',
        params: Params,
        body: Type.Object({ since: Time }),
        response: { 202: Type.Object({ count: Type.Integer(), has_more: Type.Boolean() }) },
      },
    },
    async (request, reply) => {
      const since = readTime('since', request.body.since)
      reply.code(202)
      return await recoverFailed(parts, owned(request), since)
    },
  )
}

function readTime(name: string, text: string): Date
function readTime(name: string, text: string | undefined): Date | undefined
/** The format of a schema lets leap seconds pass, which no Date has, and PostgreSQL takes not every year and offset. */
function readTime(name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  if (Number.isFinite(time.getTime())) return time
  throw new ApiError('invalid_request', {
    message: `${name} is not a time that there is.`,
    param: name.replace('query.', ''),
  })
}

function presentDelivery(row: DeliveryRow) {
  return {
    id: deliveryName(row.id),
    event_id: eventName(row.event_id),
    event_type: row.event_type as (typeof EVENT_TYPE_NAMES)[number],
    status: row.status,
    payload: JSON.parse(row.body) as unknown,
    test: row.test,
    attempt: row.attempts,
    next_attempt_at: row.next_attempt_at?.toISOString() ?? null,
    response_status: row.response_status,
    response_body: row.response_body,
    outcome: row.outcome,
    reason: row.reason,
    delivered_at: row.delivered_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  }
}

function presentAttempt(row: AttemptRow) {
  return {
    number: row.number,
    at: row.at.toISOString(),
    duration_ms: row.duration_ms,
    outcome: row.outcome,
    reason: row.reason,
    response_status: row.response_status,
    response_body: row.response_body,
    request_headers: JSON.parse(row.request_headers) as Record<string, string>,
  }
}
