// Says again what was said before: a body as it was, a stream in few events.

import type { FastifyReply } from 'fastify'
import { renderError } from '../../http/error-handler.ts'
import { ApiError } from '../../platform/errors.ts'
import {
  type Dialect,
  ERROR_DIALECTS,
  type StreamOptions,
  type SvcNumbers,
} from '../dialects/dialect.ts'
import type { KeptResult, KeptStream } from './kept-result.ts'

export type StreamTerms = {
  dialect: Dialect
  options: Omit<StreamOptions, 'created' | 'credits_limit'>
  request_id: string
  public_url: string
}

export function replayChat(
  reply: FastifyReply,
  result: KeptResult,
  terms: () => StreamTerms,
): FastifyReply {
  if (result.form !== 'stream') return replayBody(reply, result)
  return reply
    .type('text/event-stream; charset=utf-8')
    .header('cache-control', 'no-cache, no-transform')
    .serializer(String)
    .send(writeStream(result, terms()))
}

export function replayBody(
  reply: FastifyReply,
  result: KeptResult,
  setNumbers?: (svc: SvcNumbers) => void,
): FastifyReply {
  // Not thrown: nothing has failed now.
  if (result.form === 'error') return reply.send(result.error)
  if (result.form === 'stream') throw new Error('a stream was kept where there is none')
  if (result.svc) setNumbers?.(result.svc)
  return reply.type(result.content_type).send(result.body)
}

function writeStream(kept: KeptStream, terms: StreamTerms): string {
  const { created, ended, credits_limit, events, end } = kept
  const { dialect, options, request_id, public_url } = terms
  const writer = dialect.openStream({ ...options, created, credits_limit })
  let text = ''
  for (const event of events) text += writer.write(event)
  if (!(end instanceof ApiError)) return text + writer.finish(end, ended)
  const errors = ERROR_DIALECTS[dialect.name]
  return text + writer.fail(renderError(end, { dialect: errors, request_id, public_url }))
}
