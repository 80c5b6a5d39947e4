// /v1/audio: speech, sound effects, transcripts and voices, for the payer of the call or for a linked user.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import type { Documents, RoutePolicy } from '../../http/access.ts'
import { EventStream } from '../../http/event-stream.ts'
import { acceptAll } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import type { Endpoint } from '../../wallet/holds.ts'
import { CALL_POLICY } from '../call-policy.ts'
import { digestJson, IdempotencyHeader } from '../idempotency/answer-once.ts'
import { type InputCall, setNumbers } from '../input-call.ts'
import {
  answerInput,
  type InputHandler,
  type InputRouteParts,
  type Keyed,
  nameUpstream,
  once,
} from '../input-route.ts'
import { type AudioParts, requireAudioModel, requireElevenlabs } from './audio-call.ts'
import { SOUND_DOCUMENTS, SPEECH_DOCUMENTS, TRANSCRIPT_DOCUMENTS } from './audio-documents.ts'
import {
  AUDIO_DESCRIPTION,
  SoundBody,
  SpeechBody,
  TRANSCRIPT_DESCRIPTION,
  VoiceListBody,
} from './route-schemas.ts'
import { type AudioWanted, serveAudio } from './serve-audio.ts'
import { checkLength, parseSound, parseSpeech } from './speech-request.ts'
import { formatTranscript, streamTranscript } from './transcript-formats.ts'
import { parseTranscription, type TranscriptionRequest, transcribe } from './transcription.ts'
import { digestUpload } from './upload.ts'
import { VoiceList } from './voices.ts'

export type AudioRouteParts = AudioParts & InputRouteParts

const BODY_LIMIT_BYTES = 1024 * 1024

export type AudioHandler = InputHandler<AudioRouteParts>

export function audioRoutes(app: App, parts: AudioRouteParts): void {
  app.get(
    '/v1/audio/voices',
    {
      config: {
        access: 'anyone_known',
        errors: ['provider_misconfigured', 'provider_unavailable', 'provider_timeout'],
      },
      schema: {
        tags: ['Audio'],
        operationId: 'list_voices',
        summary: 'List the voices',
        description: 'Free. OpenAI’s names of voices are aliases of some of them.',
        response: { 200: VoiceListBody },
      },
    },
    async () => ({ object: 'list' as const, data: await voices.read(requireElevenlabs(parts)) }),
  )
  const voices = new VoiceList(parts.clock)
  const answerWith = (endpoint: Endpoint, handler: AudioHandler) => {
    return (request: FastifyRequest, reply: FastifyReply) =>
      answerInput(parts, { endpoint, handler }, request, reply)
  }
  const speech = { operationId: 'speech', summary: 'Text to speech', body: SpeechBody }
  app.post(
    '/v1/audio/speech',
    made(speech, SPEECH_DOCUMENTS),
    answerWith('/v1/audio/speech', answerSpeech),
  )
  app.post(
    '/v1/users/:external_user_id/audio/speech',
    made(forUser(speech), SPEECH_DOCUMENTS),
    answerWith('/v1/users/:external_user_id/audio/speech', answerSpeech),
  )
  const sound = { operationId: 'sound_effects', summary: 'Sound effects', body: SoundBody }
  app.post(
    '/v1/audio/sound-effects',
    made(sound, SOUND_DOCUMENTS),
    answerWith('/v1/audio/sound-effects', answerSound),
  )
  app.post(
    '/v1/users/:external_user_id/audio/sound-effects',
    made(forUser(sound), SOUND_DOCUMENTS),
    answerWith('/v1/users/:external_user_id/audio/sound-effects', answerSound),
  )
  const heard = { operationId: 'transcription', summary: 'Speech to text' }
  app.post(
    '/v1/audio/transcriptions',
    uploaded(heard),
    answerWith('/v1/audio/transcriptions', answerTranscription),
  )
  app.post(
    '/v1/users/:external_user_id/audio/transcriptions',
    uploaded(forUser(heard)),
    answerWith('/v1/users/:external_user_id/audio/transcriptions', answerTranscription),
  )
}

type Described = {
  operationId: string
  summary: string
  tags?: string[]
  description?: string
  body?: TSchema
  params?: TSchema
}

function forUser(route: Described): Described {
  const { operationId, summary } = route
  return {
    ...route,
    operationId: `user_${operationId}`,
    summary: `${summary} billed to a linked user`,
    params: Type.Object({ external_user_id: Type.String() }),
  }
}

export function made(route: Described, documents: Documents, policy: RoutePolicy = CALL_POLICY) {
  return {
    config: { ...policy, documents },
    bodyLimit: BODY_LIMIT_BYTES,
    validatorCompiler: acceptAll,
    schema: {
      tags: ['Audio'],
      description: AUDIO_DESCRIPTION,
      headers: IdempotencyHeader,
      ...route,
    },
  }
}

export function uploaded(
  route: Described,
  documents: Documents = TRANSCRIPT_DOCUMENTS,
  policy: RoutePolicy = CALL_POLICY,
) {
  return {
    config: { ...policy, accepts_upload: true, documents },
    validatorCompiler: acceptAll,
    schema: {
      tags: ['Audio'],
      description: TRANSCRIPT_DESCRIPTION,
      headers: IdempotencyHeader,
      ...route,
    },
  }
}

export const answerSpeech: AudioHandler = async (parts, call, request, reply) => {
  const speech = parseSpeech(request.body)
  call.request = { model: speech.model, stream: speech.events }
  const model = requireAudioModel(parts.catalog, speech.model, 'speech')
  checkLength(speech, model)
  const elevenlabs = requireElevenlabs(parts)
  const ignored = nameUpstream(reply, model, speech)
  const { characters, format, events, wanted } = speech
  const audio: AudioWanted = {
    model,
    quantity: characters,
    counted: { characters },
    ignored,
    content_type: format.content_type,
    events,
    ask: (signal) => elevenlabs.speak({ ...wanted, model_id: model.upstream_id }, signal),
  }
  return await makeAudio(parts, call, audio, { request, reply })
}

export const answerSound: AudioHandler = async (parts, call, request, reply) => {
  const sound = parseSound(request.body)
  call.request = { model: sound.model, stream: false }
  const model = requireAudioModel(parts.catalog, sound.model, 'sound')
  checkLength(sound, model)
  const elevenlabs = requireElevenlabs(parts)
  const ignored = nameUpstream(reply, model, sound)
  const audio: AudioWanted = {
    model,
    quantity: 1,
    counted: { sounds: 1 },
    ignored,
    content_type: sound.format.content_type,
    events: false,
    ask: (signal) => elevenlabs.makeSound({ ...sound.wanted, model_id: model.upstream_id }, signal),
  }
  return await makeAudio(parts, call, audio, { request, reply })
}

async function makeAudio(
  parts: AudioRouteParts,
  call: InputCall,
  audio: AudioWanted,
  { request, reply }: Pick<Keyed, 'request' | 'reply'>,
): Promise<unknown> {
  const keyed = { request, reply, digestBody: () => digestJson(request.body) }
  return await once(parts, call, keyed, async (made) => {
    await serveAudio(parts, made, audio, reply)
    return reply
  })
}

export const answerTranscription: AudioHandler = (parts, call, request, reply) =>
  parts.uploads.receive(request.raw, async (upload) => {
    const asked = parseTranscription(parts, upload)
    call.request = { model: asked.model.name, stream: asked.stream }
    const wanted = { ...asked, ignored: nameUpstream(reply, asked.model, asked) }
    const keyed = { request, reply, digestBody: () => digestUpload(upload) }
    return await once(parts, call, keyed, (made) => sendTranscript(parts, made, wanted, reply))
  })

async function sendTranscript(
  parts: AudioRouteParts,
  call: InputCall,
  wanted: TranscriptionRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const client = new EventStream(reply)
  const { transcript, svc } = await transcribe(parts, call, wanted, client)
  setNumbers(reply, svc)
  if (wanted.stream) {
    const text = streamTranscript(transcript, svc)
    await call.claim?.keepBody(text, { content_type: 'text/event-stream; charset=utf-8', svc })
    client.start()
    await client.write(text)
    client.end()
    return reply
  }
  const { granularities, format } = wanted
  const { body, content_type } = formatTranscript(transcript, format, { granularities, svc })
  await call.claim?.keepBody(body, { content_type, svc })
  return reply.type(content_type).serializer(String).send(body)
}
