// /v1/embeddings: vectors of texts, for the payer of the call or for a linked user.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { EventStream } from '../../http/event-stream.ts'
import { acceptAll } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import type { Endpoint } from '../../wallet/holds.ts'
import { CALL_POLICY } from '../call-policy.ts'
import { digestJson, IdempotencyHeader } from '../idempotency/answer-once.ts'
import {
  answerInput,
  type InputHandler,
  type InputRouteParts,
  nameUpstream,
  once,
} from '../input-route.ts'
import { EMBEDDINGS_DESCRIPTION, EMBEDDINGS_DOCUMENTS, EmbeddingsBody } from './documents.ts'
import { type EmbeddingParts, embedTexts, requireAddress } from './embed.ts'
import { sendEmbeddings } from './reply.ts'
import { fitToModel, parseEmbeddings, requireEmbeddingModel } from './request.ts'
import { VectorRoom } from './vector-room.ts'

const BODY_LIMIT_BYTES = 10 * 1024 * 1024

export type EmbeddingRouteParts = EmbeddingParts & InputRouteParts

export function embeddingRoutes(app: App, parts: EmbeddingRouteParts): void {
  const handler = answerWithin(new VectorRoom())
  const answerAt = (endpoint: Endpoint) => (request: FastifyRequest, reply: FastifyReply) =>
    answerInput(parts, { endpoint, handler }, request, reply)
  const shared = {
    config: { ...CALL_POLICY, documents: EMBEDDINGS_DOCUMENTS },
    bodyLimit: BODY_LIMIT_BYTES,
    validatorCompiler: acceptAll,
  }
  const described = {
    tags: ['Embeddings'],
    description: EMBEDDINGS_DESCRIPTION,
    headers: IdempotencyHeader,
    body: EmbeddingsBody,
  }
  app.post(
    '/v1/embeddings',
    {
      ...shared,
      schema: { ...described, operationId: 'embeddings', summary: 'Embeddings of texts' },
    },
    answerAt('/v1/embeddings'),
  )
  app.post(
    '/v1/users/:external_user_id/embeddings',
    {
      ...shared,
      schema: {
        ...described,
        operationId: 'user_embeddings',
        summary: 'Embeddings of texts billed to a linked user',
        params: Type.Object({ external_user_id: Type.String() }),
      },
    },
    answerAt('/v1/users/:external_user_id/embeddings'),
  )
}

function answerWithin(room: VectorRoom): InputHandler<EmbeddingRouteParts> {
  return async (parts, call, request, reply) => {
    const asked = parseEmbeddings(request.body)
    call.request = { model: asked.model, stream: false }
    const model = requireEmbeddingModel(parts.catalog, asked.model)
    const embedder = parts.embedders[model.provider]
    const dimensions = fitToModel(asked, model, embedder)
    const address = requireAddress(parts, model)
    const ignored = nameUpstream(reply, model, asked)
    const { inputs, encoding } = asked
    const wanted = { model, inputs, dimensions, embedder, address, ignored }
    const keyed = { request, reply, digestBody: () => digestJson(request.body) }
    return await once(parts, call, keyed, (made) =>
      room.within(wanted, async () => {
        const client = new EventStream(reply)
        const embedded = await embedTexts(parts, made, wanted, client)
        const answer = { ...embedded, model: model.name, encoding }
        return await sendEmbeddings(made, answer, { reply, client })
      }),
    )
  }
}
