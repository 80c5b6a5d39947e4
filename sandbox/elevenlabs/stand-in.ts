// The ElevenLabs stand-in: speech, transcripts, sound effects, voices and models.

import { type Call, isRefusedKey, readBearer, readHeader, type StandIn } from '../call.ts'
import { decodePercent } from '../json.ts'
import { jsonReply, type Outcome, plainOutcome } from '../reply.ts'
import {
  type ElevenlabsError,
  elevenlabsHeaders,
  errorReply,
  MISSING_KEY,
  notFound,
  WRONG_KEY,
} from './errors.ts'
import { checkSpeechBody, makeSound, speak } from './speech.ts'
import { readForm, refuseForm, transcribe } from './transcript.ts'
import { describeModel, describeVoice, ELEVENLABS_MODELS, findVoice, VOICES } from './voices.ts'

const SPEECH_PATH = /^\/v1\/text-to-speech\/([^/]+)(\/stream)?(\/with-timestamps)?$/
const VOICE_PATH = /^\/v1\/voices\/([^/]+)$/

export const elevenlabsStandIn: StandIn = {
  // ElevenLabs has not retired a model of the catalogue, so none can be retired here.
  model_ids: [],
  max_body_bytes: 64 * 1_048_576,
  handle(call) {
    const speech = SPEECH_PATH.exec(call.path)
    if (call.method === 'POST' && speech !== null) return answerSpeech(call, speech)
    if (call.method === 'POST' && call.path === '/v1/sound-generation') return answerSound(call)
    if (call.method === 'POST' && call.path === '/v1/speech-to-text') return answerForm(call)
    if (call.method === 'GET') return checkKey(call) ?? show(call)
    return plainOutcome(jsonReply(404, { detail: 'Not Found' }, elevenlabsHeaders(call)))
  },
  refuseTooLarge(call) {
    const message = 'The request is too large.'
    const error = { status: 413, type: 'invalid_request', code: 'request_too_large', message }
    return errorReply(call, error)
  },
}

function refuse(call: Call, error: ElevenlabsError): Outcome {
  return plainOutcome(errorReply(call, error))
}

function checkKey(call: Call): Outcome | undefined {
  const key = readHeader(call, 'xi-api-key') || readBearer(call)
  if (key === '') return refuse(call, MISSING_KEY)
  return isRefusedKey(key) ? refuse(call, WRONG_KEY) : undefined
}

function answerSpeech(call: Call, path: RegExpExecArray): Outcome {
  const unfit = checkSpeechBody(call)
  if (unfit !== undefined) return plainOutcome(unfit)
  const [, voice_id = '', stream, timestamps] = path
  return (
    checkKey(call) ??
    speak(call, {
      voice_id: decodePercent(voice_id),
      streamed: stream !== undefined,
      timestamps: timestamps !== undefined,
    })
  )
}

function answerSound(call: Call): Outcome {
  const unfit = checkSpeechBody(call)
  if (unfit !== undefined) return plainOutcome(unfit)
  return checkKey(call) ?? makeSound(call)
}

function answerForm(call: Call): Outcome {
  const form = readForm(call)
  const refused = refuseForm(call, form) ?? checkKey(call)
  if (refused !== undefined) return refused
  return transcribe(call, form ?? { fields: new Map(), file: undefined })
}

function show(call: Call): Outcome {
  const headers = elevenlabsHeaders(call)
  const voices = VOICES.map(describeVoice)
  if (call.path === '/v1/voices') return plainOutcome(jsonReply(200, { voices }, headers))
  if (call.path === '/v2/voices') {
    const page = { has_more: false, total_count: voices.length, next_page_token: null }
    return plainOutcome(jsonReply(200, { voices, ...page }, headers))
  }
  if (call.path === '/v1/models') {
    const speaking = ELEVENLABS_MODELS.filter((model) => model.kind === 'speech')
    return plainOutcome(jsonReply(200, speaking.map(describeModel), headers))
  }
  const voice_id = decodePercent(VOICE_PATH.exec(call.path)?.[1] ?? '')
  const voice = findVoice(voice_id)
  if (voice !== undefined) return plainOutcome(jsonReply(200, describeVoice(voice), headers))
  if (voice_id === '') return plainOutcome(jsonReply(404, { detail: 'Not Found' }, headers))
  const message = `A voice with the voice_id ${voice_id} was not found.`
  return refuse(call, notFound('voice_not_found', message))
}
