// Text to speech and sound effects. The text is the prompt here, so test prompts stand in it, and its
// characters are what is charged.

import type { Call } from '../call.ts'
import {
  type Directives,
  directiveNumber,
  findUnknownDirective,
  parseDirectives,
} from '../directives.ts'
import { findFault } from '../faults.ts'
import {
  isAbsent,
  isObject,
  type JsonObject,
  numberOf,
  objectOf,
  parseJson,
  textOf,
} from '../json.ts'
import { makeLetters } from '../random.ts'
import { type HeaderList, jsonReply, type Outcome, plainOutcome, type Reply } from '../reply.ts'
import { contentType, DEFAULT_FORMAT, makeAudio, readFormat } from './audio.ts'
import {
  type ElevenlabsError,
  elevenlabsFault,
  elevenlabsHeaders,
  errorReply,
  invalid,
  notFound,
  textTooLong,
  unprocessable,
} from './errors.ts'
import { type ElevenlabsModel, findElevenlabsModel, findVoice } from './voices.ts'

const CHARACTERS_PER_SECOND = 15
const MAX_SECONDS = 3_600
const DEFAULT_SOUND_SECONDS = 5
const SETTING_RANGES: Readonly<Record<string, readonly [least: number, most: number]>> = {
  stability: [0, 1],
  similarity_boost: [0, 1],
  style: [0, 1],
  speed: [0.7, 1.2],
}

export type SpeechPath = { voice_id: string; timestamps: boolean; streamed: boolean }

/** Undefined when the body is fit to be looked at; that is decided before the key is. */
export function checkSpeechBody(call: Call): Reply | undefined {
  const body = parseJson(call.body.toString('utf8'))
  if (!isObject(body)) return unprocessable(call, [], 'Field required')
  if (isAbsent(body['text'])) return unprocessable(call, ['text'], 'Field required')
  if (typeof body['text'] === 'string') return undefined
  return unprocessable(call, ['text'], 'Input should be a valid string')
}

export function speak(call: Call, path: SpeechPath): Outcome {
  const body = objectOf(parseJson(call.body.toString('utf8')))
  const model_id = textOf(body['model_id'] ?? 'eleven_multilingual_v2')
  const model = findElevenlabsModel(model_id)
  const text = textOf(body['text'])
  if (findVoice(path.voice_id) === undefined) {
    const message = `A voice with the voice_id ${path.voice_id} was not found.`
    return plainOutcome(errorReply(call, notFound('voice_not_found', message)))
  }
  const error = checkText(text, model, model_id, 'speech') ?? checkSpeech(body, model)
  const directives = parseDirectives(text)
  if (error !== undefined || model === undefined) return refuse(call, error ?? unknown(model_id))
  const fault = findFault(withFilter(directives), true)
  if (fault !== undefined)
    return refuse(call, elevenlabsFault(fault, model_id, directives), directives)
  const characters = Array.from(text).length
  const speed = numberOf(objectOf(body['voice_settings'])['speed']) ?? 1
  const guessed_s = Math.min(characters / CHARACTERS_PER_SECOND / speed, MAX_SECONDS)
  const seconds = directiveNumber(directives.seconds, MAX_SECONDS) ?? guessed_s
  const headers = speechHeaders(call, Math.ceil(characters * model.character_cost), directives)
  if (path.timestamps) return timedSpeech(call, { text, seconds, headers, path, directives })
  return soundReply(call, { seconds, headers, directives })
}

export function makeSound(call: Call): Outcome {
  const body = objectOf(parseJson(call.body.toString('utf8')))
  const text = textOf(body['text'])
  const model_id = textOf(body['model_id'] ?? 'eleven_text_to_sound_v2')
  const model = findElevenlabsModel(model_id)
  const error = checkText(text, model, model_id, 'sound')
  const directives = parseDirectives(text)
  if (error !== undefined) return refuse(call, error)
  const fault = findFault(withFilter(directives), true)
  if (fault !== undefined)
    return refuse(call, elevenlabsFault(fault, model_id, directives), directives)
  const seconds = numberOf(body['duration_seconds']) ?? DEFAULT_SOUND_SECONDS
  if (seconds < 0.5 || seconds > 30) {
    const message = 'duration_seconds must be between 0.5 and 30.'
    return refuse(call, invalid('invalid_duration', message, 'duration_seconds'))
  }
  const headers = speechHeaders(call, Math.round(seconds * 40), directives)
  return soundReply(call, { seconds, headers, directives })
}

function refuse(call: Call, error: ElevenlabsError, directives: Directives = {}): Outcome {
  return { reply: errorReply(call, error), directives }
}

/** Speech is made whole or not at all, so what is filtered elsewhere half way is refused here. */
export function withFilter(directives: Directives): Directives {
  const filtered = directives.content_filter ?? directives.refusal
  return filtered === undefined ? directives : { ...directives, blocked: '' }
}

function checkText(
  text: string,
  model: ElevenlabsModel | undefined,
  model_id: string,
  kind: ElevenlabsModel['kind'],
): ElevenlabsError | undefined {
  if (model === undefined) return unknown(model_id)
  if (model.kind !== kind) {
    const message = `The model ${model_id} does not support this request.`
    return invalid('unsupported_model', message, 'model_id')
  }
  if (text.trim() === '') return invalid('empty_text', 'The text must not be empty.', 'text')
  const length = Array.from(text).length
  if (length > model.max_characters) return textTooLong(length, model.max_characters)
  const name = findUnknownDirective({ asked: text, results: [], results_follow: false })
  if (name === undefined) return undefined
  return invalid('invalid_text', `The sandbox knows no test prompt '${name}'.`, 'text')
}

function unknown(model_id: string): ElevenlabsError {
  return notFound('model_not_found', `A model with model_id ${model_id} was not found.`)
}

function checkSpeech(
  body: JsonObject,
  model: ElevenlabsModel | undefined,
): ElevenlabsError | undefined {
  const settings = objectOf(body['voice_settings'])
  const wrong = Object.entries(SETTING_RANGES).find(([name, [least, most]]) => {
    const value = numberOf(settings[name]) ?? least
    return value < least || value > most
  })
  if (wrong !== undefined) {
    const [name, [least, most]] = wrong
    const message = `Invalid setting for ${name}, expected a value between ${least} and ${most}.`
    return invalid('invalid_voice_settings', message, name)
  }
  if (isAbsent(body['language_code']) || model?.takes_language !== false) return undefined
  const message = `Model '${model.model_id}' does not support the language_code parameter.`
  return invalid('unsupported_language', message, 'language_code')
}

function speechHeaders(call: Call, cost: number, directives: Directives): HeaderList {
  return {
    ...elevenlabsHeaders(call),
    ...(directives.no_usage === undefined && { 'character-cost': String(cost) }),
    'history-item-id': makeLetters(`history/${call.number}`, 20),
  }
}

type Sound = { seconds: number; headers: HeaderList; directives: Directives }

function soundReply(call: Call, { seconds, headers, directives }: Sound): Outcome {
  const name = call.query.get('output_format') ?? DEFAULT_FORMAT
  const format = readFormat(name)
  if (format === undefined) return refuse(call, badFormat(name))
  const typed = { ...headers, 'content-type': contentType(format) }
  const chunks = makeAudio(format, seconds)
  return { reply: { type: 'bytes', status: 200, headers: typed, chunks }, directives }
}

function badFormat(name: string): ElevenlabsError {
  return invalid('invalid_output_format', `Invalid output format '${name}'.`, 'output_format')
}

type TimedSpeech = Sound & { text: string; path: SpeechPath }

function timedSpeech(call: Call, speech: TimedSpeech): Outcome {
  const { text, seconds, headers, path, directives } = speech
  const name = call.query.get('output_format') ?? DEFAULT_FORMAT
  const format = readFormat(name)
  if (format === undefined) return refuse(call, badFormat(name))
  const characters = Array.from(text)
  const step_s = seconds / characters.length
  const alignment = {
    characters,
    character_start_times_seconds: characters.map((_, at) => round(at * step_s)),
    character_end_times_seconds: characters.map((_, at) => round((at + 1) * step_s)),
  }
  const audio_base64 = Buffer.concat([...makeAudio(format, seconds)]).toString('base64')
  const body = { audio_base64, alignment, normalized_alignment: alignment }
  if (!path.streamed) return { reply: jsonReply(200, body, headers), directives }
  const typed = { ...headers, 'content-type': 'application/json' }
  const chunks = [Buffer.from(`${JSON.stringify(body)}\n`)]
  return { reply: { type: 'bytes', status: 200, headers: typed, chunks }, directives }
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
