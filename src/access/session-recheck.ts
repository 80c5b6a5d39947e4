// A session may end while the body of a request is still on its way. Whoever holds a request open, and sends the rest of it
// after the owner's reset, must not get a key for it: so writes look again once they are read.

import type { FastifyRequest } from 'fastify'
import { findActiveSession } from '../accounts/sessions.ts'
import type { Access } from '../http/access.ts'
import type { App } from '../http/server.ts'
import { ApiError } from '../platform/errors.ts'
import { readCredential } from './credentials.ts'
import type { PrincipalParts } from './principal.ts'

const SESSION_ACCESS: readonly Access[] = ['session', 'operator', 'public']

/** Before the routes: only those that a session can write with are asked again. */
export function addSessionRecheck(app: App, parts: PrincipalParts): void {
  app.addHook('onRoute', (route) => {
    const access = route.config?.access
    if (access === undefined || !SESSION_ACCESS.includes(access) || isRead(route.method)) return
    route.preHandler = [
      (request: FastifyRequest) => requireLivingSession(request, parts),
      ...[route.preHandler ?? []].flat(),
    ]
  })
}

async function requireLivingSession(request: FastifyRequest, parts: PrincipalParts): Promise<void> {
  if (request.principal?.kind !== 'session') return
  const credential = readCredential(request)
  if (credential.kind !== 'session') return
  if (await findActiveSession(parts, credential.secret)) return
  throw new ApiError(request.policy.denied ?? 'invalid_api_key', {
    message: 'The session has ended.',
  })
}

function isRead(method: string | string[]): boolean {
  return [method].flat().every((one) => one === 'GET' || one === 'HEAD')
}
