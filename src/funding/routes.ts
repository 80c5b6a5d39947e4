// POST /v1/funding/credit: a developer gives credits to a user of theirs.

import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { keyOf } from '../http/access.ts'
import type { RateLimits } from '../http/rate-limit.ts'
import { Credits, Id, Nullable, Text, Timestamp } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db, Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import type { IdempotentAnswer } from '../wallet/idempotency.ts'
import type { PromotionalCredits } from '../wallet/promotional.ts'
import { creditUser, type FundedUser } from './transfers.ts'

const Funding = Type.Object({
  amount: Type.Integer({
    minimum: 1,
    maximum: Number(CREDITS_MAX),
    description: 'Credits to move.',
    examples: [500_000],
  }),
  external_user_id: Type.Optional(
    Text({
      min: 1,
      max: 255,
      description: 'Your own id of a linked user. This or `user_id`.',
      examples: ['user-17'],
    }),
  ),
  user_id: Type.Optional(
    Text({ min: 1, max: 64, description: 'Our id of a user who connected to an app of yours.' }),
  ),
  client_id: Type.Optional(Text({ min: 1, max: 100, description: 'Only links of this app.' })),
  description: Type.Optional(Text({ min: 1, max: 500, description: 'Shown in both statements.' })),
})

type FundingBody = { external_user_id?: string; user_id?: string; client_id?: string }

type Funded = { account_id: string; external_user_id: string | null }

export type FundingParts = {
  db: Db
  clock: Clock
  limits: RateLimits
  promotional_credits: PromotionalCredits
  /** Both throw `user_not_found`; asked inside the transaction that moves the credits. */
  readLinkedUser(
    tx: Tx,
    wanted: { developer_id: string; external_user_id: string; client_id: string | null },
  ): Promise<Funded>
  readConnectedUser(
    tx: Tx,
    wanted: { developer_id: string; account_id: string; client_id: string | null },
  ): Promise<Funded>
}

export function fundingRoutes(app: App, parts: FundingParts): void {
  app.post(
    '/v1/funding/credit',
    {
      config: { access: 'key', errors: ['insufficient_credits', 'user_not_found'] },
      schema: {
        tags: ['Wallet'],
        operationId: 'fund_user',
        summary: 'Give credits to a user',
        description:
          'Moves credits from your wallet to that of a user who connected to an app of yours. Safe to repeat: the same `Idempotency-Key` with the same body moves them once and gets the same answer, with `Idempotent-Replayed: true`. An answer that is an error is not remembered. Where `PROMOTIONAL_CREDITS` is `spend_only`, credits that nobody paid for (`promotional` of the balance) stay: the answer is then 402.',
        headers: Type.Object({
          'idempotency-key': Type.String({
            description: '1 to 255 printable characters, your choice.',
            examples: ['gift-2041'],
          }),
        }),
        body: Funding,
        response: {
          200: Type.Object({
            id: Id,
            amount: Credits,
            user_id: Id,
            external_user_id: Nullable(Type.String()),
            developer_balance: Credits,
            user_balance: Credits,
            created_at: Timestamp,
          }),
        },
      },
    },
    async (request, reply) => {
      const key = keyOf(request)
      await parts.limits.require('funding', key.key_id)
      const answer = await creditUser(parts.db, {
        developer_id: key.account_id,
        idempotency_key: request.headers['idempotency-key'],
        body: request.body,
        at: parts.clock.now(),
        promotional_credits: parts.promotional_credits,
        findUser: (tx) => findFundedUser(parts, tx, { key, body: request.body }),
      })
      return sendAnswer(reply, answer)
    },
  )
}

/** Byte for byte what was answered the first time. */
function sendAnswer(reply: FastifyReply, answer: IdempotentAnswer): FastifyReply {
  if (answer.replayed) reply.header('idempotent-replayed', 'true')
  return reply
    .code(answer.status)
    .type('application/json; charset=utf-8')
    .serializer(String)
    .send(answer.body)
}

async function findFundedUser(
  parts: FundingParts,
  tx: Tx,
  { key, body }: { key: { account_id: string; client_id: string | null }; body: FundingBody },
): Promise<FundedUser> {
  const { external_user_id, user_id, client_id = key.client_id } = body
  if (key.client_id !== null && client_id !== key.client_id) {
    throw new ApiError('bad_request', {
      message: 'This key is bound to another app.',
      param: 'client_id',
    })
  }
  const of = { developer_id: key.account_id, client_id }
  if ((external_user_id === undefined) === (user_id === undefined)) {
    throw new ApiError('bad_request', {
      message: 'body needs either external_user_id or user_id.',
    })
  }
  const link =
    external_user_id !== undefined
      ? await parts.readLinkedUser(tx, { ...of, external_user_id })
      : await parts.readConnectedUser(tx, { ...of, account_id: user_id ?? '' })
  return { user_id: link.account_id, external_user_id: link.external_user_id }
}
