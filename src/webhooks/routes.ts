// /v1/webhooks: where a developer wants to be told. Sessions only.

import { Type } from 'typebox'
import { EVENT_TYPE_NAMES } from '../events/event-types.ts'
import { type RoutePolicy, sessionOf } from '../http/access.ts'
import {
  Id,
  Nullable,
  NullableCredits,
  nullableCredits,
  Page,
  PageQuery,
  Success,
  Text,
  Timestamp,
} from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { idOf, webhookName } from './names.ts'
import type { WebhookRow } from './store.ts'
import {
  changeWebhook,
  createWebhook,
  endSecretOverlap,
  listOwnWebhooks,
  readWebhook,
  removeWebhook,
  rotateWebhookSecret,
  type WebhookParts,
} from './webhooks.ts'

export const TAGS = ['Webhooks']

/** The specification's codes for a wrong session and for wrong input. */
export const POLICY = {
  access: 'session',
  denied: 'unauthorized',
  invalid: 'invalid_request',
} as const satisfies RoutePolicy

const OVERLAP_SECONDS_MAX = 7 * 86_400

const EventName = Type.Enum(EVENT_TYPE_NAMES)
const Webhook = Type.Object({
  id: Type.String({ examples: ['wh_01989f2e7c1a7b3e9d7e2f6f0d1c5a10'] }),
  client_id: Type.String({ description: 'The app whose events it is told of.' }),
  app_id: Id,
  app_name: Type.String({ examples: ['Poem Machine'] }),
  url: Type.String({ examples: ['https://example.com/hooks/svc'] }),
  events: Type.Array(EventName, { examples: [['usage.completed', 'balance.low']] }),
  low_balance_threshold: NullableCredits,
  active: Type.Boolean(),
  switched_off_at: Nullable(
    Type.String({
      format: 'date-time',
      description: 'When we switched it off, because for three days nothing had arrived.',
    }),
  ),
  previous_secret_until: Nullable(
    Type.String({
      format: 'date-time',
      description: 'Until then deliveries are signed with the secret before, too.',
    }),
  ),
  created_at: Timestamp,
})
const Secret = Type.String({
  description: 'Signs the deliveries. Shown once.',
  examples: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo='],
})
const WebhookWithSecret = Type.Object({ ...Webhook.properties, secret: Secret })

const Url = Text({
  min: 1,
  max: 2048,
  description: 'Where deliveries go: https, or in sandbox mode http://localhost.',
  examples: ['https://example.com/hooks/svc'],
})
const Events = Type.Array(Text({ max: 100 }), {
  minItems: 1,
  maxItems: 50,
  description: `Of: ${EVENT_TYPE_NAMES.map((name) => `\`${name}\``).join(', ')}.`,
  examples: [['usage.completed', 'balance.low']],
})
const Threshold = Nullable(
  Type.Number({
    description: 'Credits. `balance.low` is sent when a balance falls below. Null: never.',
    examples: [100_000],
  }),
)
const NewWebhook = Type.Object({
  client_id: Text({ min: 1, max: 200, description: 'One of your apps.' }),
  url: Url,
  events: Events,
  low_balance_threshold: Type.Optional(Threshold),
})
const Change = Type.Object({
  url: Type.Optional(Url),
  events: Type.Optional(Events),
  low_balance_threshold: Type.Optional(Threshold),
  active: Type.Optional(Type.Boolean({ description: 'false: nothing is sent any more.' })),
})
const Params = Type.Object({ id: Type.String() })

export const WebhookPage = Type.Object({
  ...PageQuery.properties,
  client_id: Type.Optional(Text({ max: 200 })),
})

export function webhookRoutes(app: App, parts: WebhookParts): void {
  app.post(
    '/v1/webhooks',
    {
      config: { ...POLICY, errors: ['invalid_url', 'forbidden', 'not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'create_webhook',
        summary: 'Create a webhook',
        body: NewWebhook,
        response: { 201: WebhookWithSecret },
      },
    },
    async (request, reply) => {
      const { account_id } = sessionOf(request)
      const { webhook, secret } = await createWebhook(parts, account_id, request.body)
      reply.code(201)
      return { ...presentWebhook(webhook), secret }
    },
  )
  app.get(
    '/v1/webhooks',
    {
      config: POLICY,
      schema: {
        tags: TAGS,
        operationId: 'list_webhooks',
        summary: 'List webhooks',
        description: 'Of one app, or of all of yours. Newest first, without secrets.',
        querystring: WebhookPage,
        response: { 200: Page(Webhook) },
      },
    },
    async (request) => {
      const { client_id, cursor, limit } = request.query
      const page = { client_id, cursor, limit }
      const found = await listOwnWebhooks(parts, sessionOf(request).account_id, page)
      return { ...found, data: found.data.map(presentWebhook) }
    },
  )
  app.get(
    '/v1/webhooks/:id',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'get_webhook',
        summary: 'Read a webhook',
        params: Params,
        response: { 200: Webhook },
      },
    },
    async (request) => presentWebhook(await readWebhook(parts.db, owned(request))),
  )
  changingRoutes(app, parts)
  secretRoutes(app, parts)
}

function changingRoutes(app: App, parts: WebhookParts): void {
  app.patch(
    '/v1/webhooks/:id',
    {
      config: { ...POLICY, errors: ['invalid_url', 'not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'change_webhook',
        summary: 'Change a webhook',
        description:
          'Switched off, it is told nothing and what waits is given up; switched on, it is told of what happens from then on.',
        params: Params,
        body: Change,
        response: { 200: Webhook },
      },
    },
    async (request) => presentWebhook(await changeWebhook(parts, owned(request), request.body)),
  )
  app.delete(
    '/v1/webhooks/:id',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'delete_webhook',
        summary: 'Delete a webhook',
        params: Params,
        response: { 200: Success },
      },
    },
    async (request) => {
      await removeWebhook(parts, owned(request))
      return { success: true as const }
    },
  )
}

function secretRoutes(app: App, parts: WebhookParts): void {
  app.post(
    '/v1/webhooks/:id/rotate-secret',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'rotate_webhook_secret',
        summary: 'Replace the secret',
        description:
          'Until the overlap ends, `X-Svc-Signature` is made with the secret before, `X-Svc-Signature-Next` with the new one, and `webhook-signature` has both.',
        params: Params,
        body: Type.Object({
          overlap_seconds: Type.Integer({
            minimum: 0,
            maximum: OVERLAP_SECONDS_MAX,
            default: 86_400,
            description: 'How long both secrets sign. 0: the old one ends at once.',
          }),
        }),
        response: { 200: WebhookWithSecret },
      },
    },
    async (request) => {
      const { overlap_seconds } = request.body
      const rotated = await rotateWebhookSecret(parts, owned(request), overlap_seconds)
      return { ...presentWebhook(rotated.webhook), secret: rotated.secret }
    },
  )
  app.delete(
    '/v1/webhooks/:id/previous-secret',
    {
      config: { ...POLICY, errors: ['not_found'] },
      schema: {
        tags: TAGS,
        operationId: 'end_secret_overlap',
        summary: 'End the overlap of two secrets',
        description: 'Once your receivers have the new secret.',
        params: Params,
        response: { 200: Webhook },
      },
    },
    async (request) => presentWebhook(await endSecretOverlap(parts, owned(request))),
  )
}

export function owned(request: Parameters<typeof sessionOf>[0] & { params: { id: string } }) {
  return { developer_id: sessionOf(request).account_id, id: idOf('wh', request.params.id) }
}

function presentWebhook(row: WebhookRow) {
  return {
    id: webhookName(row.id),
    client_id: row.client_id,
    app_id: row.app_id,
    app_name: row.app_name,
    url: row.url ?? '',
    events: row.events as (typeof EVENT_TYPE_NAMES)[number][],
    low_balance_threshold: nullableCredits(row.low_balance_threshold),
    active: row.active,
    switched_off_at: row.switched_off_at?.toISOString() ?? null,
    previous_secret_until: row.previous_secret_until?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  }
}
