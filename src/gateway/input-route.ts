// How a route answers a call that is priced by what goes in: its payer, its id, its Idempotency-Key, and its record where
// it fails.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type PayerParts, resolvePayer } from '../access/payer.ts'
import type { InputModel } from '../catalog/models.ts'
import { callingKeyOf } from '../http/access.ts'
import { ApiError } from '../platform/errors.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import type { Endpoint } from '../wallet/holds.ts'
import { noteFailure } from './failures.ts'
import { answerOnce, hasKey, type OnceParts } from './idempotency/answer-once.ts'
import type { KeptResult } from './idempotency/kept-result.ts'
import { replayBody } from './idempotency/replay.ts'
import { type InputCall, type InputParts, setNumbers } from './input-call.ts'
import { nameable } from './plan.ts'
import type { RunningCalls } from './running-calls.ts'

export type InputRouteParts = InputParts & PayerParts & OnceParts & { running: RunningCalls }

export type InputHandler<Parts> = (
  parts: Parts,
  call: InputCall,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<unknown>

export async function answerInput<Parts extends InputRouteParts>(
  parts: Parts,
  { endpoint, handler }: { endpoint: Endpoint; handler: InputHandler<Parts> },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const payer = await resolvePayer(parts, request)
  const running = parts.running.begin(payer.account_id)
  const call: InputCall = {
    id: mintWalletId(payer.account_id, parts.clock.now()),
    began_at: performance.now(),
    endpoint,
    payer,
    key: callingKeyOf(request),
    request_id: request.id,
    running,
    request: { model: '', stream: false },
  }
  reply.header('x-svc-generation-id', call.id)
  try {
    return await handler(parts, call, request, reply)
  } catch (error) {
    const is_refusal = error instanceof ApiError && error.status < 500
    throw noteFailure(parts, call, { error, outcome: is_refusal ? 'refused' : 'failed' })
  } finally {
    running.end()
  }
}

export type Keyed = {
  request: FastifyRequest
  reply: FastifyReply
  digestBody: () => Buffer | Promise<Buffer>
}

/** Makes the call; where it has a key, once for all who ask with it. */
export function once(
  parts: OnceParts,
  call: InputCall,
  { request, reply, digestBody }: Keyed,
  work: (call: InputCall) => Promise<unknown>,
): Promise<unknown> {
  if (!hasKey(request)) return work(call)
  const { endpoint, payer } = call
  const replay = (result: KeptResult) => replayBody(reply, result, (svc) => setNumbers(reply, svc))
  return answerOnce(parts, { endpoint, payer, request, reply, digestBody, replay }, (claim) =>
    // Its record has the id that the client is told.
    work(Object.assign(call, { id: claim.id, claim })),
  )
}

/** The names of what is ignored, for the call's record. */
export function nameUpstream(
  reply: FastifyReply,
  { upstream_id }: InputModel,
  { ignored }: { ignored: readonly string[] },
): readonly string[] {
  const names = nameable(ignored)
  reply.header('x-svc-upstream-model', upstream_id)
  if (names.length > 0) reply.header('x-svc-ignored-fields', names.join(', '))
  return names
}
