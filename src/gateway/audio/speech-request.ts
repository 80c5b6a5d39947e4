// Reads the bodies of POST /v1/audio/speech, as OpenAI's clients send it, and of POST /v1/audio/sound-effects.

import type { AudioModel } from '../../catalog/models.ts'
import {
  type Fields,
  isAbsent,
  isObject,
  readBody,
  readName,
  readOptionalBoolean,
  readOptionalChoice,
  readOptionalNumber,
  readText,
  refuse,
} from '../dialects/body-fields.ts'
import type { SoundWanted, SpeechWanted } from '../upstreams/elevenlabs/elevenlabs.ts'
import { type AudioFormat, readFormat } from './audio-format.ts'
import { VOICE_NAMES } from './voices.ts'

const VOICE_ID = /^[A-Za-z0-9_-]{1,64}$/
const VOICE_HINT = 'GET /v1/audio/voices lists the voices.'
const SPEECH_FIELDS = ['model', 'input', 'voice', 'response_format', 'speed', 'stream_format']
const SOUND_FIELDS = ['model', 'input', 'response_format', 'seconds', 'prompt_influence', 'loop']

export type SpeechRequest = {
  model: string
  text: string
  /** Code points, which is what is charged. */
  characters: number
  format: AudioFormat
  /** Whether the audio travels in server-sent events. */
  events: boolean
  ignored: string[]
  wanted: Omit<SpeechWanted, 'model_id'>
}

export function parseSpeech(body: unknown): SpeechRequest {
  const fields = readBody(body)
  const text = readInput(fields)
  const format = readFormat(fields['response_format'])
  const speed = readOptionalNumber(fields['speed'], { path: 'speed', min: 0.7, max: 1.2 })
  return {
    model: readName(fields['model'], 'model'),
    text,
    characters: countCharacters(text),
    format,
    events:
      readOptionalChoice(fields['stream_format'], ['audio', 'sse'], 'stream_format') === 'sse',
    ignored: Object.keys(fields).filter((field) => !SPEECH_FIELDS.includes(field)),
    wanted: {
      text,
      voice_id: readVoice(fields['voice']),
      output_format: format.output_format,
      speed: speed === 1 ? undefined : speed,
    },
  }
}

export type SoundRequest = Omit<SpeechRequest, 'wanted' | 'events'> & {
  wanted: Omit<SoundWanted, 'model_id'>
}

export function parseSound(body: unknown): SoundRequest {
  const fields = readBody(body)
  const text = readInput(fields)
  const format = readFormat(fields['response_format'])
  const number = (path: string, min: number, max: number) =>
    readOptionalNumber(fields[path], { path, min, max })
  return {
    model: readName(fields['model'], 'model'),
    text,
    characters: countCharacters(text),
    format,
    ignored: Object.keys(fields).filter((field) => !SOUND_FIELDS.includes(field)),
    wanted: {
      text,
      output_format: format.output_format,
      seconds: number('seconds', 0.5, 30),
      prompt_influence: number('prompt_influence', 0, 1),
      loop: readOptionalBoolean(fields['loop'], 'loop'),
    },
  }
}

export function checkLength(
  { characters }: Pick<SpeechRequest, 'characters'>,
  { name, max_characters }: AudioModel,
): void {
  if (max_characters === undefined || characters <= max_characters) return
  refuse(
    'input',
    `has ${characters} characters, and ${name} takes ${max_characters}`,
    'Split the text over several requests.',
  )
}

function readInput(fields: Fields): string {
  const text = readText(fields['input'], 'input')
  if (text.trim() === '') refuse('input', 'must not be empty')
  return text
}

/** Its backend counts code points, as Python does. */
function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function readVoice(value: unknown): string {
  if (isAbsent(value)) refuse('voice', 'is missing', VOICE_HINT)
  const voice = isObject(value) ? readName(value['id'], 'voice.id') : readName(value, 'voice')
  const id = VOICE_NAMES.get(voice) ?? voice
  if (!VOICE_ID.test(id)) refuse('voice', 'is no id of a voice', VOICE_HINT)
  return id
}
