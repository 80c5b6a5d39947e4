// The operator behind a request, and what every write asks of them: a proof of the last quarter of an hour, whatever
// STEP_UP says, and a reason.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { findAccountOfId } from '../accounts/accounts.ts'
import { requireFreshProof } from '../accounts/step-up.ts'
import { type RoutePolicy, sessionOf } from '../http/access.ts'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import { ApiError, type ErrorCode } from '../platform/errors.ts'
import { isUuid } from '../platform/tokens.ts'
import type { IdempotentAnswer } from '../wallet/idempotency.ts'
import type { By } from './acts.ts'

export const TAGS = ['Operators']

export const READ = { access: 'operator' } as const satisfies RoutePolicy

/** Of a list. */
export const LIST = { access: 'operator', errors: ['bad_request'] } as const satisfies RoutePolicy

export function write(...errors: ErrorCode[]) {
  return { access: 'operator', errors: ['step_up_required', ...errors] } satisfies RoutePolicy
}

export const Reason = Type.String({
  minLength: 1,
  maxLength: 500,
  pattern: '^(?=.*\\S)[^\\p{Cc}\\p{Cf}]*$',
  description: 'Why, in one line. Kept with the act.',
  examples: ['Asked for in ticket 2041'],
})

export const Why = Type.Object({ reason: Reason })

export const Changed = Type.Object({
  changed: Type.Boolean({ description: 'False: it was so before, and nothing was recorded.' }),
})

export const IdempotencyKey = Type.Object({
  'idempotency-key': Type.String({
    description: '1 to 255 printable characters, your choice.',
    examples: ['ticket-2041'],
  }),
})

export type Actor = By & { operator_id: string; reason: string }

export async function actorOf(
  parts: { db: Db; clock: Clock },
  request: FastifyRequest,
  reason: string,
): Promise<Actor> {
  const session = sessionOf(request)
  requireFreshProof(parts, session)
  const { account_id: operator_id, session_id } = session
  const account = await findAccountOfId(parts.db, operator_id)
  if (!account) throw new ApiError('user_not_found')
  return { who: account.email, reason: reason.trim(), operator_id, session_id, ip: request.ip }
}

/** As the database writes it. */
export function requireUserId(id: string): string {
  if (isUuid(id)) return id.toLowerCase()
  throw new ApiError('user_not_found', { message: 'There is no such account.' })
}

/** Byte for byte what was answered the first time. */
export function sendAnswer(reply: FastifyReply, answer: IdempotentAnswer): FastifyReply {
  if (answer.replayed) reply.header('idempotent-replayed', 'true')
  return reply
    .code(answer.status)
    .type('application/json; charset=utf-8')
    .serializer(String)
    .send(answer.body)
}
