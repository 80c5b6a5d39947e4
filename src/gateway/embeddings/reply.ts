// What a client is sent: OpenAI's list of vectors, as digits or in base64, and `svc` beside it. Piece by piece, because
// all digits of a large one together would be more than a hundred megabytes.

import type { FastifyReply } from 'fastify'
import type { EventStream } from '../../http/event-stream.ts'
import { presentNumbers } from '../dialects/dialect.ts'
import { RESULT_MAX_BYTES } from '../idempotency/kept-result.ts'
import type { InputCall } from '../input-call.ts'
import { unpackVector } from '../upstreams/embeddings.ts'
import type { Embedded } from './embed.ts'
import type { Encoding } from './request.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
/** The vectors stay in memory until all are sent, and few who read slowly must not take the room of all others. */
const SEND_LIMIT_MS = 180_000

export type EmbeddingsReply = Embedded & { model: string; encoding: Encoding }

type Receiver = { reply: FastifyReply; client: EventStream; limit_ms?: number }

export async function sendEmbeddings(
  call: Pick<InputCall, 'claim'>,
  answer: EmbeddingsReply,
  { reply, client, limit_ms = SEND_LIMIT_MS }: Receiver,
): Promise<FastifyReply> {
  const body = joinUpTo(RESULT_MAX_BYTES, writePieces(answer))
  if (body !== undefined) {
    await call.claim?.keepBody(body, { content_type: JSON_TYPE })
    return reply.type(JSON_TYPE).serializer(String).send(body)
  }
  await call.claim?.drop()
  client.start(JSON_TYPE)
  const ends_at = performance.now() + limit_ms
  for (const piece of writePieces(answer)) {
    if (client.left) break
    if (performance.now() > ends_at) {
      reply.raw.destroy()
      break
    }
    await client.write(piece)
  }
  client.end()
  return reply
}

/** Undefined: it is longer. */
function joinUpTo(most: number, pieces: Iterable<string>): string | undefined {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length > most) return undefined
  }
  return text
}

/** All of it is ASCII, so that its characters are its bytes. */
function* writePieces({ vectors, model, encoding, tokens, svc }: EmbeddingsReply) {
  let separator = '{"object":"list","data":['
  for (const [index, vector] of vectors.entries()) {
    const embedding = encoding === 'base64' ? `"${vector}"` : JSON.stringify(unpackVector(vector))
    yield `${separator}{"object":"embedding","index":${index},"embedding":${embedding}}`
    separator = ','
  }
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  const rest = JSON.stringify({ model, usage, svc: presentNumbers(svc) })
  yield `],${rest.slice(1)}`
}
