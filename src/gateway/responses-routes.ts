// /v1/responses: OpenAI's newer format, for every chat model. An answer is as that of the other formats; before it, items
// that the body refers to are put in their places.

import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { resolvePayer, resolvePayerInMemory } from '../access/payer.ts'
import { acceptAll } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { CALL_POLICY } from './call-policy.ts'
import { RESPONSES_DOCUMENTS } from './chat-documents.ts'
import { requireChatModel } from './chat-model.ts'
import type { Dialect } from './dialects/dialect.ts'
import { IdempotencyHeader } from './idempotency/answer-once.ts'
import { promptTokens } from './prompt-size.ts'
import { findReferences } from './response-items/references.ts'
import { answerChat, BODY_LIMIT_BYTES, type GatewayParts } from './routes.ts'

type ResponsesParts = GatewayParts & { responses_dialect: Dialect }

// For the documentation: the dialect reads the body itself and says exactly what is wrong with it.
const Model = Type.String({
  description: 'A name from GET /v1/models.',
  examples: ['gpt-4o-mini'],
})
const Input = Type.Unknown({
  description:
    'Text, or items: messages, calls of tools with their outputs, reasoning, references.',
  examples: ['Say hello.'],
})
const ResponsesBody = Type.Object({
  model: Model,
  input: Input,
  stream: Type.Optional(
    Type.Boolean({ description: 'true: the answer as server-sent events.', examples: [false] }),
  ),
  store: Type.Optional(
    Type.Boolean({
      description: 'false: no item of the answer is kept for references.',
      examples: [false],
    }),
  ),
})

export function responsesRoutes(app: App, parts: ResponsesParts): void {
  const { responses_dialect: dialect } = parts
  app.post(
    '/v1/responses',
    {
      config: { ...CALL_POLICY, documents: RESPONSES_DOCUMENTS },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: ['Chat'],
        operationId: 'response',
        summary: 'Response (OpenAI’s Responses format)',
        description: DESCRIPTION,
        headers: IdempotencyHeader,
        body: ResponsesBody,
      },
    },
    async (request, reply) => {
      const body = await resolveBody(parts, request)
      return await answerChat(parts, { endpoint: '/v1/responses', dialect, body }, request, reply)
    },
  )
  app.post(
    '/v1/users/:external_user_id/responses',
    {
      config: { ...CALL_POLICY, documents: RESPONSES_DOCUMENTS },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: ['Chat'],
        operationId: 'user_response',
        summary: 'Response billed to a linked user',
        description: DESCRIPTION,
        params: Type.Object({ external_user_id: Type.String() }),
        headers: IdempotencyHeader,
        body: ResponsesBody,
      },
    },
    async (request, reply) => {
      const body = await resolveBody(parts, request)
      const endpoint = '/v1/users/:external_user_id/responses'
      return await answerChat(parts, { endpoint, dialect, body }, request, reply)
    },
  )
  inputTokensRoute(app, parts)
}

function inputTokensRoute(app: App, parts: ResponsesParts): void {
  app.post(
    '/v1/responses/input_tokens',
    {
      config: {
        access: 'caller',
        errors: ['bad_request', 'model_not_found', 'provider_misconfigured', 'user_not_found'],
      },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: ['Chat'],
        operationId: 'response_input_tokens',
        summary: 'Estimate the tokens of a response’s input',
        description:
          'Free. An estimate: the provider’s own count, which is charged, differs a little.',
        body: Type.Object({ model: Model, input: Input }),
        response: {
          200: Type.Object({
            object: Type.Literal('response.input_tokens'),
            input_tokens: Type.Integer({ examples: [12] }),
          }),
        },
      },
    },
    async (request) => {
      const body = await resolveBody(parts, request)
      const chat = parts.responses_dialect.parse(body, request.headers)
      const model = requireChatModel(parts.catalog, chat.model)
      const input_tokens = promptTokens(chat, model, 'close')
      return { object: 'response.input_tokens' as const, input_tokens }
    },
  )
}

/** Before anything is planned: what is referred to is part of the prompt, and is held for. */
async function resolveBody(parts: ResponsesParts, request: FastifyRequest): Promise<unknown> {
  if (findReferences(request.body).length === 0) return request.body
  const payer = resolvePayerInMemory(parts, request) ?? (await resolvePayer(parts, request))
  return await parts.response_items.resolve(payer, request.body)
}

const DESCRIPTION =
  'OpenAI’s Responses format for every chat model. The reply carries `svc`: what it cost and the balance before and after; in a stream it stands in the `response` of the last event. No conversation is kept: send it whole in `input`, or refer to items of answers of the last days. `X-Svc-Generation-Id` names the call for `GET /v1/generations/:id`.'
