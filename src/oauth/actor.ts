// Who does something with a session of theirs: what the security log tells about it.

import type { FastifyRequest } from 'fastify'
import { type Client, clientOf, isSessionOpen } from '../accounts/sessions.ts'
import { sessionOf } from '../http/access.ts'
import type { Clock } from '../platform/clock.ts'
import type { Tx } from '../platform/db.ts'
import { ApiError } from '../platform/errors.ts'

export type Actor = { client: Client; session_id: string }

/** Of a route that declared `access: 'session'`, or of a page whose viewer is known. */
export function actorOf(request: FastifyRequest): Actor {
  return { client: clientOf(request), session_id: sessionOf(request).session_id }
}

/**
 * For a transaction that holds the lock of the account. Whoever ends its sessions, with all that was made with them, holds
 * the same lock: nothing new is to come after them.
 */
export async function requireOpenSession(
  parts: { db: Tx; clock: Clock },
  session_id: string,
): Promise<void> {
  if (await isSessionOpen(parts, session_id)) return
  throw new ApiError('invalid_api_key', { message: 'The session has ended.' })
}
