// /v1/audio: speech, sound effects, transcripts and voices, for the payer of the call or for a linked user.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { type PayerParts, resolvePayer } from '../../access/payer.ts'
import { callerOf, type Documents, type RoutePolicy } from '../../http/access.ts'
import { EventStream } from '../../http/event-stream.ts'
import { acceptAll, Nullable } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import { ApiError } from '../../platform/errors.ts'
import { mintWalletId } from '../../wallet/bucket.ts'
import type { Endpoint } from '../../wallet/holds.ts'
import { noteFailure } from '../failures.ts'
import { nameable } from '../plan.ts'
import type { RunningCalls } from '../running-calls.ts'
import {
  type AudioCall,
  type AudioParts,
  requireAudioModel,
  requireElevenlabs,
  setNumbers,
} from './audio-call.ts'
import { SOUND_DOCUMENTS, SPEECH_DOCUMENTS, TRANSCRIPT_DOCUMENTS } from './audio-documents.ts'
import { serveAudio } from './serve-audio.ts'
import { checkLength, parseSound, parseSpeech } from './speech-request.ts'
import { formatTranscript, streamTranscript } from './transcript-formats.ts'
import { parseTranscription, transcribe } from './transcription.ts'
import { readUpload } from './upload.ts'
import { VoiceList } from './voices.ts'

export type AudioRouteParts = AudioParts & PayerParts & { running: RunningCalls }

const BODY_LIMIT_BYTES = 1024 * 1024

const POLICY = {
  access: 'caller',
  scope: 'credits.spend',
  errors: [
    'bad_request',
    'insufficient_credits',
    'user_not_found',
    'model_not_found',
    'content_filtered',
    'provider_rate_limited',
    'pricing_error',
    'upstream_error',
    'provider_misconfigured',
    'provider_unavailable',
    'provider_timeout',
  ],
} as const satisfies RoutePolicy

type Handler = (
  parts: AudioRouteParts,
  call: AudioCall,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<unknown>

export function audioRoutes(app: App, parts: AudioRouteParts): void {
  app.get(
    '/v1/audio/voices',
    {
      config: {
        access: 'caller',
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
  const answerWith = (endpoint: Endpoint, handler: Handler) => {
    return (request: FastifyRequest, reply: FastifyReply) =>
      answer(parts, { endpoint, handler }, request, reply)
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

type Described = { operationId: string; summary: string; body?: TSchema; params?: TSchema }

function forUser(route: Described): Described {
  const { operationId, summary } = route
  return {
    ...route,
    operationId: `user_${operationId}`,
    summary: `${summary} billed to a linked user`,
    params: Type.Object({ external_user_id: Type.String() }),
  }
}

function made(route: Described, documents: Documents) {
  return {
    config: { ...POLICY, documents },
    bodyLimit: BODY_LIMIT_BYTES,
    validatorCompiler: acceptAll,
    schema: { tags: ['Audio'], description: AUDIO_DESCRIPTION, ...route },
  }
}

function uploaded(route: Described) {
  return {
    config: { ...POLICY, accepts_upload: true, documents: TRANSCRIPT_DOCUMENTS },
    validatorCompiler: acceptAll,
    schema: {
      tags: ['Audio'],
      description: TRANSCRIPT_DESCRIPTION,
      ...route,
    },
  }
}

async function answer(
  parts: AudioRouteParts,
  { endpoint, handler }: { endpoint: Endpoint; handler: Handler },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const payer = await resolvePayer(parts, request)
  const caller = callerOf(request)
  const running = parts.running.begin()
  const call: AudioCall = {
    id: mintWalletId(payer.account_id, parts.clock.now()),
    began_at: performance.now(),
    endpoint,
    payer,
    key: caller.kind === 'key' ? caller : null,
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

const answerSpeech: Handler = async (parts, call, request, reply) => {
  const speech = parseSpeech(request.body)
  call.request = { model: speech.model, stream: speech.events }
  const model = requireAudioModel(parts.catalog, speech.model, 'speech')
  checkLength(speech, model)
  const elevenlabs = requireElevenlabs(parts)
  nameUpstream(reply, model.upstream_id, speech.ignored)
  const { characters, format, events, wanted } = speech
  await serveAudio(
    parts,
    call,
    {
      model,
      quantity: characters,
      counted: { characters },
      content_type: format.content_type,
      events,
      ask: (signal) => elevenlabs.speak({ ...wanted, model_id: model.upstream_id }, signal),
    },
    reply,
  )
  return reply
}

const answerSound: Handler = async (parts, call, request, reply) => {
  const sound = parseSound(request.body)
  call.request = { model: sound.model, stream: false }
  const model = requireAudioModel(parts.catalog, sound.model, 'sound')
  checkLength(sound, model)
  const elevenlabs = requireElevenlabs(parts)
  nameUpstream(reply, model.upstream_id, sound.ignored)
  await serveAudio(
    parts,
    call,
    {
      model,
      quantity: 1,
      counted: { sounds: 1 },
      content_type: sound.format.content_type,
      events: false,
      ask: (signal) =>
        elevenlabs.makeSound({ ...sound.wanted, model_id: model.upstream_id }, signal),
    },
    reply,
  )
  return reply
}

const answerTranscription: Handler = async (parts, call, request, reply) => {
  const upload = await readUpload(request.raw, parts.upload_folder)
  try {
    const wanted = parseTranscription(parts, upload)
    call.request = { model: wanted.model.name, stream: wanted.stream }
    nameUpstream(reply, wanted.model.upstream_id, wanted.ignored)
    const client = new EventStream(reply)
    const { transcript, svc } = await transcribe(parts, call, wanted, (left) =>
      client.onLeave(left),
    )
    setNumbers(reply, svc)
    if (wanted.stream) {
      client.start()
      await client.write(streamTranscript(transcript, svc))
      client.end()
      return reply
    }
    const { granularities, format } = wanted
    const { body, content_type } = formatTranscript(transcript, format, { granularities, svc })
    return reply.type(content_type).serializer(String).send(body)
  } finally {
    await upload.file?.close()
  }
}

function nameUpstream(reply: FastifyReply, upstream_id: string, ignored: readonly string[]): void {
  reply.header('x-svc-upstream-model', upstream_id)
  if (ignored.length > 0) reply.header('x-svc-ignored-fields', nameable(ignored).join(', '))
}

// For the documentation: the readers say exactly what is wrong with a body.
const Format = Type.Optional(
  Type.Enum(['mp3', 'opus', 'wav', 'pcm'], { description: 'mp3 if left out.', examples: ['mp3'] }),
)
const SpeechBody = Type.Object({
  model: Type.String({ examples: ['elevenlabs/eleven_flash_v2_5'] }),
  input: Type.String({ description: 'What is to be said.', examples: ['Good morning.'] }),
  voice: Type.String({ description: 'From GET /v1/audio/voices.', examples: ['alloy'] }),
  response_format: Format,
  speed: Type.Optional(Type.Number({ minimum: 0.7, maximum: 1.2, examples: [1] })),
  stream_format: Type.Optional(
    Type.Enum(['audio', 'sse'], { description: 'sse: as events.', examples: ['audio'] }),
  ),
})
const SoundBody = Type.Object({
  model: Type.String({ examples: ['elevenlabs/eleven_text_to_sound_v2'] }),
  input: Type.String({ description: 'What is to be heard.', examples: ['Rain on a tin roof'] }),
  response_format: Format,
  seconds: Type.Optional(Type.Number({ minimum: 0.5, maximum: 30, examples: [5] })),
  prompt_influence: Type.Optional(Type.Number({ minimum: 0, maximum: 1, examples: [0.3] })),
  loop: Type.Optional(
    Type.Boolean({ description: 'Whether it can be repeated without a gap.', examples: [false] }),
  ),
})
const VoiceListBody = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      id: Type.String({ examples: ['21m00Tcm4TlvDq8ikWAM'] }),
      name: Type.String({ examples: ['Rachel'] }),
      aliases: Type.Array(Type.String({ examples: ['nova'] })),
      labels: Type.Record(Type.String(), Type.String()),
      preview_url: Nullable(Type.String()),
    }),
  ),
})
const AUDIO_DESCRIPTION =
  'The audio comes as it is made. What it cost stands in the headers `X-Svc-Credits-Used`, `X-Svc-Balance-Before`, `X-Svc-Balance-After` and `X-Svc-Billing-Mode`.'
const TRANSCRIPT_DESCRIPTION =
  'A form with the fields `file` (up to 25 MB), `model`, and as wanted `language`, `response_format` (json, text, srt, vtt, verbose_json), `timestamp_granularities[]`, `temperature`, `stream`. Charged by the length of the audio.'
