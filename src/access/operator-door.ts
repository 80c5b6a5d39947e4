// The door of /operator/…: to everybody but operators there is none.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Principal, type SessionPrincipal, UNROUTED } from '../http/access.ts'
import { unknownAddress } from '../http/server.ts'

/**
 * To everybody but operators an address of theirs is answered as one that does not exist, with the same words and after
 * the same reading of the body: a body that is not JSON is 400 at both.
 */
export function answerUnknown(
  request: FastifyRequest,
  _reply: FastifyReply,
  done: (error?: Error) => void,
) {
  done(request.policy === UNROUTED ? unknownAddress(request) : undefined)
}

export function isOperator(principal: Principal | null): principal is SessionPrincipal {
  return (
    principal?.kind === 'session' && principal.is_operator && principal.suspended_reason === null
  )
}
