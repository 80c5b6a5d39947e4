// GET /v1/balance: what the wallet that would pay holds right now.

import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { RoutePolicy } from '../http/access.ts'
import { Credits } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Db } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { readBalance } from './postings.ts'

export type BalanceParts = {
  db: Db
  /** Who would pay for a call with this credential and these headers. */
  resolvePayer(request: FastifyRequest): Promise<{
    account_id: string
    billing_mode: 'developer' | 'user'
  }>
}

const NamedUser = Type.Object({
  'x-svc-user': Type.Optional(
    Type.String({ description: 'External id of a linked user who would pay.' }),
  ),
})

const Balance = Type.Object({
  balance: Credits,
  held: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'Reserved by calls that are running.',
    examples: [0],
  }),
  available: Credits,
  promotional: Type.Unsafe<bigint>({
    type: 'integer',
    description: 'The part of the balance that nobody paid for. It is spent first.',
    examples: [100],
  }),
  billing_mode: Type.Enum(['developer', 'user']),
})

const POLICY = {
  access: 'caller',
  scope: 'credits.read',
  errors: ['bad_request', 'user_not_found'],
} as const satisfies RoutePolicy

export function walletRoutes(app: App, parts: BalanceParts): void {
  app.get(
    '/v1/balance',
    {
      config: POLICY,
      schema: {
        tags: ['Wallet'],
        operationId: 'balance',
        summary: 'Read the balance',
        description:
          'Of the wallet that a call with this credential would be charged to: the developer’s or, with `X-Svc-User` or an access token, the user’s.',
        headers: NamedUser,
        response: { 200: Balance },
      },
    },
    (request) => readPayersBalance(parts, request),
  )
  app.get(
    '/v1/users/:external_user_id/balance',
    {
      config: POLICY,
      schema: {
        tags: ['Wallet'],
        operationId: 'user_balance',
        summary: 'Read the balance of a linked user',
        params: Type.Object({ external_user_id: Type.String() }),
        response: { 200: Balance },
      },
    },
    (request) => readPayersBalance(parts, request),
  )
}

async function readPayersBalance(parts: BalanceParts, request: FastifyRequest) {
  const { account_id, billing_mode } = await parts.resolvePayer(request)
  const wallet = await readBalance(parts.db, account_id)
  if (!wallet) throw new ApiError('user_not_found')
  return { ...wallet, billing_mode }
}
