// /account/playground: the calls of /v1 for the owner of a session, who tries a model in the browser. They are held,
// charged, limited and recorded as all calls are; no key reaches the page, and the record says where they came from.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Documents } from '../http/access.ts'
import { acceptAll } from '../http/schemas.ts'
import type { App } from '../http/server.ts'
import type { Endpoint } from '../wallet/holds.ts'
import { SOUND_DOCUMENTS, SPEECH_DOCUMENTS, TRANSCRIPT_DOCUMENTS } from './audio/audio-documents.ts'
import { SoundBody, SpeechBody } from './audio/route-schemas.ts'
import {
  type AudioHandler,
  type AudioRouteParts,
  answerSound,
  answerSpeech,
  answerTranscription,
  made,
  uploaded,
} from './audio/routes.ts'
import { PLAYGROUND_POLICY } from './call-policy.ts'
import { CHAT_DOCUMENTS } from './chat-documents.ts'
import { openAiDialect } from './dialects/openai/dialect.ts'
import { IdempotencyHeader } from './idempotency/answer-once.ts'
import { answerInput } from './input-route.ts'
import { answerChat, BODY_LIMIT_BYTES, ChatBody, type GatewayParts } from './routes.ts'

const TAGS = ['Playground']

export function playgroundRoutes(app: App, parts: GatewayParts & AudioRouteParts): void {
  app.post(
    '/account/playground/chat/completions',
    {
      config: { ...PLAYGROUND_POLICY, documents: withoutPayer(CHAT_DOCUMENTS) },
      bodyLimit: BODY_LIMIT_BYTES,
      validatorCompiler: acceptAll,
      schema: {
        tags: TAGS,
        operationId: 'playground_chat_completion',
        summary: 'Chat completion paid by the session’s account',
        description: DESCRIPTION,
        headers: IdempotencyHeader,
        body: ChatBody,
      },
    },
    (request, reply) =>
      answerChat(
        parts,
        { endpoint: '/account/playground/chat/completions', dialect: openAiDialect },
        request,
        reply,
      ),
  )
  audioPlaygroundRoutes(app, parts)
}

function audioPlaygroundRoutes(app: App, parts: AudioRouteParts): void {
  const answerWith = (endpoint: Endpoint, handler: AudioHandler) => {
    return (request: FastifyRequest, reply: FastifyReply) =>
      answerInput(parts, { endpoint, handler }, request, reply)
  }
  const about = (operationId: string, summary: string) => ({
    tags: TAGS,
    operationId: `playground_${operationId}`,
    summary: `${summary} paid by the session’s account`,
    description: DESCRIPTION,
  })
  app.post(
    '/account/playground/audio/speech',
    made(
      { ...about('speech', 'Text to speech'), body: SpeechBody },
      withoutPayer(SPEECH_DOCUMENTS),
      PLAYGROUND_POLICY,
    ),
    answerWith('/account/playground/audio/speech', answerSpeech),
  )
  app.post(
    '/account/playground/audio/sound-effects',
    made(
      { ...about('sound_effects', 'Sound effects'), body: SoundBody },
      withoutPayer(SOUND_DOCUMENTS),
      PLAYGROUND_POLICY,
    ),
    answerWith('/account/playground/audio/sound-effects', answerSound),
  )
  app.post(
    '/account/playground/audio/transcriptions',
    uploaded(
      about('transcription', 'Speech to text'),
      withoutPayer(TRANSCRIPT_DOCUMENTS),
      PLAYGROUND_POLICY,
    ),
    answerWith('/account/playground/audio/transcriptions', answerTranscription),
  )
}

/** A session pays for itself: the headers that name another payer are refused here. */
function withoutPayer(documents: Documents): Documents {
  return { ...documents, parameters: [] }
}

const DESCRIPTION =
  'For pages of this service: body, answer and stream are those of the same path under `/v1`, the session’s own wallet pays, and `GET /account/usage` shows the call with `source: playground` and no key. Refused when a page of another site asks.'
