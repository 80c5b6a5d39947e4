// Who does something with a session of theirs: what the security log tells about it.

import type { FastifyRequest } from 'fastify'
import { type Client, clientOf } from '../accounts/sessions.ts'
import { sessionOf } from '../http/access.ts'

export type Actor = { client: Client; session_id: string }

/** Of a route that declared `access: 'session'`, or of a page whose viewer is known. */
export function actorOf(request: FastifyRequest): Actor {
  return { client: clientOf(request), session_id: sessionOf(request).session_id }
}
