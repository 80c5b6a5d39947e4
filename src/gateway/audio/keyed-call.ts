// An audio call with or without an Idempotency-Key.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { answerOnce, hasKey, type OnceParts } from '../idempotency/answer-once.ts'
import type { KeptResult } from '../idempotency/kept-result.ts'
import { replayBody } from '../idempotency/replay.ts'
import { type AudioCall, setNumbers } from './audio-call.ts'

export type Keyed = {
  request: FastifyRequest
  reply: FastifyReply
  digestBody: () => Buffer | Promise<Buffer>
}

/** Makes the call; where it has a key, once for all who ask with it. */
export function once(
  parts: OnceParts,
  call: AudioCall,
  { request, reply, digestBody }: Keyed,
  work: (call: AudioCall) => Promise<unknown>,
): Promise<unknown> {
  if (!hasKey(request)) return work(call)
  const { endpoint, payer } = call
  const replay = (result: KeptResult) => replayBody(reply, result, (svc) => setNumbers(reply, svc))
  return answerOnce(parts, { endpoint, payer, request, reply, digestBody, replay }, (claim) =>
    // Its record has the id that the client is told.
    work(Object.assign(call, { id: claim.id, claim })),
  )
}
