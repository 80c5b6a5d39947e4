// /v1/audio: speech, sound effects, transcripts and voices, for the payer of the call or for a linked user.

import type { FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { type PayerParts, resolvePayer } from '../../access/payer.ts'
import type { AudioModel } from '../../catalog/models.ts'
import { callerOf, type RoutePolicy } from '../../http/access.ts'
import { EventStream } from '../../http/event-stream.ts'
import { acceptAll, Nullable } from '../../http/schemas.ts'
import type { App } from '../../http/server.ts'
import type { Endpoint } from '../../wallet/holds.ts'
import { nameable } from '../plan.ts'
import type { RunningCalls } from '../running-calls.ts'
import {
  type AudioCall,
  type AudioParts,
  requireAudioModel,
  requireElevenlabs,
  setNumbers,
} from './audio-call.ts'
import { serveAudio } from './serve-audio.ts'
import { checkLength, parseSound, parseSpeech } from './speech-request.ts'
import { formatTranscript, streamTranscript } from './transcript-formats.ts'
import { parseTranscription, transcribe } from './transcription.ts'
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
  app.post('/v1/audio/speech', made(speech), answerWith('/v1/audio/speech', answerSpeech))
  app.post(
    '/v1/users/:external_user_id/audio/speech',
    made(forUser(speech)),
    answerWith('/v1/users/:external_user_id/audio/speech', answerSpeech),
  )
  const sound = { operationId: 'sound_effects', summary: 'Sound effects', body: SoundBody }
  app.post(
    '/v1/audio/sound-effects',
    made(sound),
    answerWith('/v1/audio/sound-effects', answerSound),
  )
  app.post(
    '/v1/users/:external_user_id/audio/sound-effects',
    made(forUser(sound)),
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

function made(route: Described) {
  return {
    config: POLICY,
    bodyLimit: BODY_LIMIT_BYTES,
    validatorCompiler: acceptAll,
    schema: { tags: ['Audio'], description: AUDIO_DESCRIPTION, ...route },
  }
}

function uploaded(route: Described) {
  return {
    config: { ...POLICY, accepts_upload: true },
    validatorCompiler: acceptAll,
    schema: {
      tags: ['Audio'],
      description: TRANSCRIPT_DESCRIPTION,
      consumes: ['multipart/form-data'],
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
  try {
    const key = caller.kind === 'key' ? caller : null
    return await handler(
      parts,
      { endpoint, payer, key, request_id: request.id, running },
      request,
      reply,
    )
  } finally {
    running.end()
  }
}

const answerSpeech: Handler = async (parts, call, request, reply) => {
  const speech = parseSpeech(request.body)
  const model = requireAudioModel(parts.catalog, speech.model, 'speech')
  checkLength(speech, model)
  const elevenlabs = requireElevenlabs(parts)
  const ignored = nameUpstream(reply, model, speech)
  const { characters, format, events, wanted } = speech
  await serveAudio(
    parts,
    call,
    {
      model,
      quantity: characters,
      counted: { characters },
      ignored,
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
  const model = requireAudioModel(parts.catalog, sound.model, 'sound')
  checkLength(sound, model)
  const elevenlabs = requireElevenlabs(parts)
  const ignored = nameUpstream(reply, model, sound)
  await serveAudio(
    parts,
    call,
    {
      model,
      quantity: 1,
      counted: { sounds: 1 },
      ignored,
      content_type: sound.format.content_type,
      events: false,
      ask: (signal) =>
        elevenlabs.makeSound({ ...sound.wanted, model_id: model.upstream_id }, signal),
    },
    reply,
  )
  return reply
}

const answerTranscription: Handler = (parts, call, request, reply) =>
  parts.uploads.receive(request.raw, async (upload) => {
    const asked = parseTranscription(parts, upload)
    const wanted = { ...asked, ignored: nameUpstream(reply, asked.model, asked) }
    const client = new EventStream(reply)
    const { transcript, svc } = await transcribe(parts, call, wanted, client)
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
  })

/** The names of what is ignored, for the call's record. */
function nameUpstream(
  reply: FastifyReply,
  { upstream_id }: AudioModel,
  { ignored }: { ignored: readonly string[] },
): readonly string[] {
  const names = nameable(ignored)
  reply.header('x-svc-upstream-model', upstream_id)
  if (names.length > 0) reply.header('x-svc-ignored-fields', names.join(', '))
  return names
}

// For the documentation: the readers say exactly what is wrong with a body.
const SpeechBody = Type.Object({
  model: Type.Unknown({ examples: ['elevenlabs/eleven_flash_v2_5'] }),
  input: Type.Unknown({ description: 'What is to be said.', examples: ['Good morning.'] }),
  voice: Type.Unknown({ description: 'From GET /v1/audio/voices.', examples: ['alloy'] }),
  response_format: Type.Optional(
    Type.Unknown({ description: 'mp3, opus, wav or pcm.', examples: ['mp3'] }),
  ),
  speed: Type.Optional(Type.Unknown({ description: '0.7 to 1.2.', examples: [1] })),
  stream_format: Type.Optional(
    Type.Unknown({ description: 'audio, or sse: as events.', examples: ['audio'] }),
  ),
})
const SoundBody = Type.Object({
  model: Type.Unknown({ examples: ['elevenlabs/eleven_text_to_sound_v2'] }),
  input: Type.Unknown({ description: 'What is to be heard.', examples: ['Rain on a tin roof'] }),
  response_format: Type.Optional(
    Type.Unknown({ description: 'mp3, opus, wav or pcm.', examples: ['mp3'] }),
  ),
  seconds: Type.Optional(Type.Unknown({ description: '0.5 to 30.', examples: [5] })),
  prompt_influence: Type.Optional(Type.Unknown({ description: '0 to 1.', examples: [0.3] })),
  loop: Type.Optional(
    Type.Unknown({ description: 'Whether it can be repeated without a gap.', examples: [false] }),
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
