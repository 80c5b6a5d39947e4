// /developers/keys, and what a key may know about itself.

import { type Static, Type } from 'typebox'
import { requireRecentProof, type StepUpParts } from '../accounts/step-up.ts'
import { keyOf, sessionOf } from '../http/access.ts'
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
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import {
  issueKey,
  type KeyParts,
  type KeyRequest,
  listActiveKeys,
  NO_LIMIT,
  revokeKey,
  type Spending,
  withSpending,
} from './keys.ts'
import type { KeyRow } from './store.ts'

const BillingMode = Type.Enum(['developer', 'user'], {
  description: 'Who pays: `developer`, or the end `user` who is named with each call.',
})
const SpendPeriod = Type.Enum(['day', 'month', 'total'])

const SpendingDescription = {
  spent_period_credits: Nullable(
    Type.Integer({
      description: 'What it spent in the present period of its limit; null without a limit.',
      examples: [120_000],
    }),
  ),
  period_resets_at: Nullable(Timestamp),
}

const KeyDescription = Type.Object({
  id: Id,
  name: Type.String({ examples: ['production'] }),
  billing_mode: BillingMode,
  client_id: Nullable(Type.String({ description: 'The app it is bound to.' })),
  prefix: Type.String({ description: 'The first 12 characters.', examples: ['sk-svc-4fT9x'] }),
  created_at: Timestamp,
  last_used_at: Nullable(Timestamp),
  expires_at: Nullable(Timestamp),
  rate_limit_per_minute: Nullable(Type.Integer()),
  spend_limit_credits: NullableCredits,
  spend_limit_period: Nullable(SpendPeriod),
  ...SpendingDescription,
})

const NewKey = Type.Object({
  name: Text({ min: 1, max: 200, description: 'For your own eyes.', examples: ['production'] }),
  billing_mode: BillingMode,
  client_id: Type.Optional(
    Nullable(
      Text({
        min: 1,
        max: 100,
        description: 'Binds the key to one app of yours: it finds links of that app only.',
      }),
    ),
  ),
  expires_at: Type.Optional(
    Nullable(Type.String({ format: 'date-time', description: 'When it stops working. ISO 8601.' })),
  ),
  rate_limit_per_minute: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'At most what the service allows.',
      }),
    ),
  ),
  spend_limit_credits: Type.Optional(
    Nullable(
      Type.Integer({
        minimum: 1,
        maximum: Number(CREDITS_MAX),
        description: 'Calls that would spend more are refused. Needs `spend_limit_period`.',
      }),
    ),
  ),
  spend_limit_period: Type.Optional(Nullable(SpendPeriod)),
})

const IssuedKey = Type.Object({
  key: Type.String({
    description: 'The secret. Shown once, stored nowhere.',
    examples: ['sk-svc-4fT9xQ2mWb7LrK0sVn3EjH5uYc0aBcDe'],
  }),
  ...KeyDescription.properties,
})

export function keyRoutes(
  app: App,
  parts: KeyParts & StepUpParts & { rate_limit_per_minute: number },
): void {
  app.post(
    '/developers/keys',
    {
      config: { access: 'session', errors: ['not_found', 'step_up_required'] },
      schema: {
        tags: ['API keys'],
        operationId: 'create_key',
        summary: 'Create a key',
        description:
          'To rotate: create a new key, deploy it, then delete the old one; both work meanwhile. A key without spend limit may need a step-up.',
        body: NewKey,
        response: { 201: IssuedKey },
      },
    },
    async (request, reply) => {
      const wanted = readRequest(request.body, parts.rate_limit_per_minute)
      if (wanted.spend_limit === null) requireRecentProof(parts, sessionOf(request))
      const { key, row } = await issueKey(parts, sessionOf(request).account_id, wanted)
      reply.code(201)
      const [made = { ...row, ...NO_LIMIT }] = await withSpending(parts, [row])
      return { key, ...presentKey(made) }
    },
  )
  app.get(
    '/developers/keys',
    {
      config: { access: 'session', errors: ['bad_request'] },
      schema: {
        tags: ['API keys'],
        operationId: 'list_keys',
        summary: 'List keys',
        description: 'Newest first, without secrets.',
        querystring: PageQuery,
        response: { 200: Page(KeyDescription) },
      },
    },
    async (request) => {
      const { cursor, limit } = request.query
      const page = await listActiveKeys(parts, sessionOf(request).account_id, { cursor, limit })
      return { ...page, data: page.data.map(presentKey) }
    },
  )
  app.delete(
    '/developers/keys/:id',
    {
      config: { access: 'session', errors: ['not_found'] },
      schema: {
        tags: ['API keys'],
        operationId: 'revoke_key',
        summary: 'Revoke a key',
        description: 'Takes effect at once, on every machine within a second.',
        params: Type.Object({ id: Type.String() }),
        response: { 200: Success },
      },
    },
    async (request) => {
      await revokeKey(parts, sessionOf(request).account_id, request.params.id)
      return { success: true as const }
    },
  )
  describeOwnKeyRoute(app, parts)
}

function describeOwnKeyRoute(app: App, parts: KeyParts & { rate_limit_per_minute: number }): void {
  app.get(
    '/v1/key',
    {
      config: { access: 'key' },
      schema: {
        tags: ['API keys'],
        operationId: 'own_key',
        summary: 'Which key is this?',
        description: 'What the key that makes the call is, and its limits.',
        response: {
          200: Type.Object({
            id: Id,
            name: Type.String(),
            billing_mode: BillingMode,
            client_id: Nullable(Type.String()),
            prefix: Type.String({ examples: ['sk-svc-4fT9x'] }),
            expires_at: Nullable(Timestamp),
            rate_limit_per_minute: Type.Integer(),
            spend_limit_credits: NullableCredits,
            spend_limit_period: Nullable(SpendPeriod),
            ...SpendingDescription,
          }),
        },
      },
    },
    async (request) => {
      const key = keyOf(request)
      const [spending = NO_LIMIT] = await withSpending(parts, [{ ...key, id: key.key_id }])
      return {
        id: key.key_id,
        name: key.name,
        billing_mode: key.billing_mode,
        client_id: key.client_id,
        prefix: key.prefix,
        expires_at: key.expires_at?.toISOString() ?? null,
        rate_limit_per_minute: key.rate_limit_per_minute ?? parts.rate_limit_per_minute,
        spend_limit_credits: nullableCredits(key.spend_limit_credits),
        spend_limit_period: key.spend_limit_period,
        ...presentSpending(spending),
      }
    },
  )
}

function readRequest(body: Static<typeof NewKey>, limit_max: number): KeyRequest {
  const { spend_limit_credits: credits, spend_limit_period: period } = body
  if ((credits === undefined || credits === null) !== (period === undefined || period === null)) {
    throw new ApiError('bad_request', {
      message: 'body.spend_limit_credits and body.spend_limit_period come together.',
    })
  }
  const wanted_limit = body.rate_limit_per_minute ?? null
  if (wanted_limit !== null && wanted_limit > limit_max) {
    throw new ApiError('bad_request', {
      message: `body.rate_limit_per_minute is above ${limit_max}.`,
      hint: 'Ask the operator of this service to raise the limit of a key.',
      param: 'rate_limit_per_minute',
    })
  }
  return {
    name: body.name,
    billing_mode: body.billing_mode,
    client_id: body.client_id ?? null,
    expires_at: body.expires_at ? readExpiry(body.expires_at) : null,
    rate_limit_per_minute: wanted_limit,
    spend_limit: credits && period ? { credits: BigInt(credits), period } : null,
  }
}

/** Times that the format allows and a calendar does not: leap seconds, years beyond four digits. */
function readExpiry(text: string): Date {
  const at = new Date(text)
  if (!Number.isNaN(at.getTime()) && at.getUTCFullYear() <= 9999) return at
  throw new ApiError('bad_request', {
    message: 'body.expires_at is no time we can keep.',
    hint: 'Send it like 2030-01-31T00:00:00Z.',
    param: 'expires_at',
  })
}

function presentKey(row: KeyRow & Spending) {
  const { account_id: _, ...rest } = row
  return {
    ...rest,
    created_at: row.created_at.toISOString(),
    last_used_at: row.last_used_at?.toISOString() ?? null,
    expires_at: row.expires_at?.toISOString() ?? null,
    spend_limit_credits: nullableCredits(row.spend_limit_credits),
    ...presentSpending(row),
  }
}

function presentSpending({ spent_period_credits, period_resets_at }: Spending) {
  return {
    spent_period_credits: nullableCredits(spent_period_credits),
    period_resets_at: period_resets_at?.toISOString() ?? null,
  }
}
