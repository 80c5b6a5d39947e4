// /v1/chat/completions and /v1/messages: one handler for both, each in its own dialect.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type PayerParts, resolvePayer, resolvePayerInMemory } from '../access/payer.ts'
import { callingKeyOf } from '../http/access.ts'
import { EventStream } from '../http/event-stream.ts'
import { acceptAll } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import { mintWalletId } from '../wallet/bucket.ts'
import { CALL_POLICY } from './call-policy.ts'
import { completeChat, streamChat } from './chat.ts'
import { CHAT_DOCUMENTS, MESSAGES_DOCUMENTS } from './chat-documents.ts'
import { requireChatModel } from './chat-model.ts'
import { anthropicDialect } from './dialects/anthropic/dialect.ts'
import { parseTokenCount } from './dialects/anthropic/request.ts'
import { openAiDialect } from './dialects/openai/dialect.ts'
import { type AskedCall, noteFailure, planOrNote } from './failures.ts'
import {
  answerOnce,
  digestJson,
  hasKey,
  IdempotencyHeader,
  type OnceParts,
} from './idempotency/answer-once.ts'
import { replayChat, type StreamTerms } from './idempotency/replay.ts'
import type { ChatCall, ChatParts } from './order.ts'
import { promptTokens } from './prompt-size.ts'
import type { RunningCalls } from './running-calls.ts'

export type GatewayParts = ChatParts & PayerParts & OnceParts & { running: RunningCalls }

/** `body`: where it is not as it came. */
type Answering = Pick<ChatCall, 'endpoint' | 'dialect'> & { body?: unknown }

export const BODY_LIMIT_BYTES = 10 * 1024 * 1024
const JSON_TYPE = 'application/json; charset=utf-8'

// For the documentation: the dialect reads the body itself and says exactly what is wrong with it.
const Messages = Type.Array(
  Type.Object({ role: Type.String(), content: Type.Unknown({ description: 'Text, or parts.' }) }),
  { description: 'The conversation.', examples: [[{ role: 'user', content: 'Say hello.' }]] },
)
const Stream = Type.Optional(
  Type.Boolean({ description: 'true: the answer as server-sent events.', examples: [false] }),
)
const Model = Type.String({
  description: 'A name from GET /v1/models.',
  examples: ['gpt-4o-mini'],
})
export const ChatBody = Type.Object({ model: Model, messages: Messages, stream: Stream })
const MessagesBody = Type.Object({
  model: Type.String({ examples: ['anthropic/claude-sonnet-4'] }),
  max_tokens: Type.Integer({ examples: [256] }),
  messages: Messages,
  stream: Stream,
})

export function gatewayRoutes(app: App, parts: GatewayParts): void {
  app.addHook('onClose', () => parts.running.finish())
  const chat = { summary: 'Chat completion', tags: ['Chat'], description: CHAT_DESCRIPTION }
  app.post(
    '/v1/chat/completions',
    {
      config: { ...CALL_POLICY, documents: CHAT_DOCUMENTS },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        ...chat,
        operationId: 'chat_completion',
        headers: IdempotencyHeader,
        body: ChatBody,
      },
    },
    (request, reply) =>
      answerChat(
        parts,
        { endpoint: '/v1/chat/completions', dialect: openAiDialect },
        request,
        reply,
      ),
  )
  app.post(
    '/v1/users/:external_user_id/chat/completions',
    {
      config: { ...CALL_POLICY, documents: CHAT_DOCUMENTS },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        ...chat,
        summary: 'Chat completion billed to a linked user',
        operationId: 'user_chat_completion',
        params: Type.Object({ external_user_id: Type.String() }),
        headers: IdempotencyHeader,
        body: ChatBody,
      },
    },
    (request, reply) =>
      answerChat(
        parts,
        { endpoint: '/v1/users/:external_user_id/chat/completions', dialect: openAiDialect },
        request,
        reply,
      ),
  )
  messagesRoutes(app, parts)
}

function messagesRoutes(app: App, parts: GatewayParts): void {
  app.post(
    '/v1/messages',
    {
      config: { ...CALL_POLICY, dialect: 'anthropic', documents: MESSAGES_DOCUMENTS },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: ['Chat'],
        operationId: 'messages',
        summary: 'Messages (Anthropic format)',
        description: MESSAGES_DESCRIPTION,
        headers: IdempotencyHeader,
        body: MessagesBody,
      },
    },
    (request, reply) =>
      answerChat(parts, { endpoint: '/v1/messages', dialect: anthropicDialect }, request, reply),
  )
  app.post(
    '/v1/users/:external_user_id/messages',
    {
      config: { ...CALL_POLICY, dialect: 'anthropic', documents: MESSAGES_DOCUMENTS },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: ['Chat'],
        operationId: 'user_messages',
        summary: 'Messages billed to a linked user',
        description: MESSAGES_DESCRIPTION,
        params: Type.Object({ external_user_id: Type.String() }),
        headers: IdempotencyHeader,
        body: MessagesBody,
      },
    },
    (request, reply) =>
      answerChat(
        parts,
        { endpoint: '/v1/users/:external_user_id/messages', dialect: anthropicDialect },
        request,
        reply,
      ),
  )
  app.post(
    '/v1/messages/count_tokens',
    {
      config: {
        access: 'caller',
        dialect: 'anthropic',
        errors: ['bad_request', 'model_not_found', 'provider_misconfigured'],
      },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: ['Chat'],
        operationId: 'count_tokens',
        summary: 'Estimate the tokens of a prompt',
        description:
          'Free. An estimate: the provider’s own count, which is charged, differs a little.',
        body: Type.Object({ model: Model, messages: Messages }),
        response: { 200: Type.Object({ input_tokens: Type.Integer({ examples: [12] }) }) },
      },
    },
    (request) => {
      const chat = parseTokenCount(request.body)
      return {
        input_tokens: promptTokens(chat, requireChatModel(parts.catalog, chat.model), 'close'),
      }
    },
  )
}

export async function answerChat(
  parts: GatewayParts,
  { endpoint, dialect, body }: Answering,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const chat = dialect.parse(body ?? request.body, request.headers)
  const payer = resolvePayerInMemory(parts, request) ?? (await resolvePayer(parts, request))
  const named: AskedCall = {
    id: mintWalletId(payer.account_id, parts.clock.now()),
    began_at: performance.now(),
    endpoint,
    dialect,
    request: chat,
    payer,
    key: callingKeyOf(request),
    request_id: request.id,
  }
  reply.header('x-svc-generation-id', named.id)
  const asked: Asked = { ...named, plan: planOrNote(parts, named) }
  const { model, ignored } = asked.plan
  reply.header('x-svc-upstream-model', model.upstream_id)
  if (ignored.length > 0) reply.header('x-svc-ignored-fields', ignored.join(', '))
  if (!hasKey(request)) return await makeCall(parts, asked, reply)
  return await answerOnce(
    parts,
    {
      endpoint,
      payer,
      request,
      reply,
      digestBody: () => digestJson(request.body),
      replay: (result, id) => replayChat(reply, result, () => streamTerms(parts, { ...asked, id })),
      onRefusal: (error) => void noteFailure(parts, asked, { error, outcome: 'refused' }),
    },
    (claim) => makeCall(parts, { ...asked, id: claim.id, claim }, reply),
  )
}

type Asked = Omit<ChatCall, 'running'>

async function makeCall(
  parts: GatewayParts,
  asked: Asked,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const client = new EventStream(reply)
  const running = parts.running.begin(asked.payer.account_id)
  try {
    const call: ChatCall = { ...asked, running }
    if (call.request.stream) {
      await streamChat(parts, call, client)
      return reply
    }
    const body = await completeChat(parts, call, client)
    await call.claim?.keepBody(body, { content_type: JSON_TYPE })
    return reply.type(JSON_TYPE).serializer(String).send(body)
  } finally {
    running.end()
  }
}

function streamTerms({ public_url }: GatewayParts, asked: Asked): StreamTerms {
  const { id: call_id, dialect, request_id, request, plan } = asked
  const { include_usage, style } = request
  const estimatePrompt = () => promptTokens(request, plan.model, 'close')
  const options = { call_id, model: plan.model.name, include_usage, style, estimatePrompt }
  return { dialect, request_id, public_url, options }
}

const CHAT_DESCRIPTION =
  'OpenAI’s format for every chat model. The reply carries `svc`: what it cost and the balance before and after. A stream ends with `data: [DONE]` and one more line with the same numbers. With `X-Svc-User`, or with an OAuth access token, the user pays. `X-Svc-Generation-Id` names the call for `GET /v1/generations/:id`.'
const MESSAGES_DESCRIPTION =
  'Anthropic’s Messages format for every chat model. The reply carries `svc`; a stream ends with the event `svc_usage`. `X-Svc-Generation-Id` names the call for `GET /v1/generations/:id`.'
