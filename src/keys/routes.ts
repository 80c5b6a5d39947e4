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
import { keyChangeRoutes } from './change-routes.ts'
import {
  BillingMode,
  IssuedKey,
  KeyDescription,
  KeyLimits,
  KeyName,
  presentKey,
  presentSpending,
  readLimits,
  SpendingDescription,
  SpendPeriod,
} from './key-record.ts'
import {
  issueKey,
  type KeyParts,
  type KeyRequest,
  listActiveKeys,
  NO_LIMIT,
  ownerOf,
  revokeKey,
  withSpending,
  withSpendingOf,
} from './keys.ts'

const NewKey = Type.Object({
  name: KeyName,
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
  ...KeyLimits,
})

const NOTHING_SET = {
  expires_at: null,
  rate_limit_per_minute: null,
  spend_limit_credits: null,
  spend_limit_period: null,
  allowed_endpoints: null,
  allowed_ips: null,
}

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
          'The secret is in this answer and nowhere else. To replace it later: `POST /developers/keys/{id}/rotate`. A key without spend limit may need a step-up.',
        body: NewKey,
        response: { 201: IssuedKey },
      },
    },
    async (request, reply) => {
      const wanted = readRequest(request.body, parts.rate_limit_per_minute)
      if (wanted.spend_limit_credits === null) requireRecentProof(parts, sessionOf(request))
      const { key, row } = await issueKey(parts, ownerOf(request), wanted)
      reply.code(201)
      return { key, ...presentKey(await withSpendingOf(parts, row), parts.clock.now()) }
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
      return { ...page, data: page.data.map((key) => presentKey(key, parts.clock.now())) }
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
      await revokeKey(parts, ownerOf(request), request.params.id)
      return { success: true as const }
    },
  )
  keyChangeRoutes(app, parts)
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

function readRequest(body: Static<typeof NewKey>, rate_limit_max: number): KeyRequest {
  const { spend_limit_credits: credits = null, spend_limit_period: period = null } = body
  if ((credits === null) !== (period === null)) {
    throw new ApiError('bad_request', {
      message: 'body.spend_limit_credits and body.spend_limit_period come together.',
    })
  }
  return {
    ...NOTHING_SET,
    ...readLimits(body, rate_limit_max),
    name: body.name,
    billing_mode: body.billing_mode,
    client_id: body.client_id ?? null,
  }
}
