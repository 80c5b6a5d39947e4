// Speech to text. There is no prompt, so test prompts stand in the file's name or anywhere in its
// bytes. The length of the sound, which is what is charged, comes from a WAV header, else from the
// file's size, else from `[[sandbox:seconds=...]]`.

import type { Call } from '../call.ts'
import {
  type Directives,
  directiveNumber,
  findUnknownDirective,
  parseDirectives,
} from '../directives.ts'
import { findFault } from '../faults.ts'
import { guessSeconds } from '../media.ts'
import { readParts } from '../multipart.ts'
import { writeSentences } from '../prose.ts'
import { digest, makeLetters } from '../random.ts'
import { jsonReply, type Outcome, plainOutcome } from '../reply.ts'
import {
  type ElevenlabsError,
  elevenlabsFault,
  elevenlabsHeaders,
  errorReply,
  invalid,
  unprocessable,
} from './errors.ts'
import { withFilter } from './speech.ts'
import { findElevenlabsModel } from './voices.ts'

const LEAST_SECONDS = 0.1
const MAX_SECONDS = 36_000
const WORDS_PER_SECOND = 2.5
const MAX_SENTENCES = 200

export type TranscriptForm = { fields: ReadonlyMap<string, string>; file: Sound | undefined }
type Sound = { name: string; bytes: Buffer }

/** Undefined when the body is no form at all. */
export function readForm(call: Call): TranscriptForm | undefined {
  const parts = readParts(call.headers['content-type'] ?? '', call.body)
  if (parts === undefined) return undefined
  const plain = parts.filter((part) => part.file_name === undefined)
  const fields = new Map(plain.map((part) => [part.name, part.bytes.toString('utf8')]))
  const sent = parts.find((part) => part.name === 'file' && part.file_name !== undefined)
  return { fields, file: sent && { name: sent.file_name ?? '', bytes: sent.bytes } }
}

export function refuseForm(call: Call, form: TranscriptForm | undefined): Outcome | undefined {
  if (form?.fields.get('model_id') !== undefined) return undefined
  return plainOutcome(unprocessable(call, ['model_id'], 'Field required'))
}

export function transcribe(call: Call, { fields, file }: TranscriptForm): Outcome {
  const model_id = fields.get('model_id') ?? ''
  const prompt = file === undefined ? '' : `${file.name}\n${file.bytes.toString('latin1')}`
  const directives = parseDirectives(prompt)
  const seconds = measureSeconds(file, directives)
  const error = checkForm({ fields, file }, seconds) ?? checkDirectives(prompt)
  if (error !== undefined) return plainOutcome(errorReply(call, error))
  const fault = findFault(withFilter(directives), false)
  if (fault !== undefined) {
    return { reply: errorReply(call, elevenlabsFault(fault, model_id, directives)), directives }
  }
  const seed = digest(`${model_id}\n${prompt}${fields.get('source_url') ?? ''}`)
  const unicode = directives.unicode !== undefined
  const text = writeTranscript(seconds, { seed, unicode })
  const none = fields.get('timestamps_granularity') === 'none'
  const body = {
    language_code: fields.get('language_code') ?? 'eng',
    language_probability: 0.98,
    text,
    words: none ? [] : timeWords(text, seconds, fields),
    transcription_id: makeLetters(`transcript/${call.number}`, 20),
    audio_duration_secs: directives.no_usage === undefined ? seconds : null,
  }
  return { reply: jsonReply(200, body, elevenlabsHeaders(call)), directives }
}

function measureSeconds(file: Sound | undefined, directives: Directives): number {
  const told = directiveNumber(directives.seconds, MAX_SECONDS)
  if (told !== undefined) return told
  if (file === undefined) return 10
  const { bytes } = file
  const wav = bytes.length >= 44 && bytes.toString('latin1', 0, 4) === 'RIFF'
  const rate_bytes = wav ? bytes.readUInt32LE(28) : 0
  const seconds = rate_bytes > 0 ? (bytes.length - 44) / rate_bytes : guessSeconds(bytes.length)
  return Math.round(seconds * 1000) / 1000
}

function checkForm(form: TranscriptForm, seconds: number): ElevenlabsError | undefined {
  const model_id = form.fields.get('model_id') ?? ''
  if (findElevenlabsModel(model_id)?.kind !== 'transcript') {
    const message = `'${model_id}' is not a valid model_id. Only 'scribe_v1' and 'scribe_v2' are.`
    return invalid('unsupported_model', message, 'model_id')
  }
  const linked = form.fields.has('source_url') || form.fields.has('cloud_storage_url')
  if (form.file === undefined && !linked) {
    return invalid('invalid_request', 'Must provide either file or source_url.', 'file')
  }
  if (form.file?.bytes.length === 0) {
    return invalid('invalid_audio', 'The uploaded file is empty.', 'file')
  }
  if (seconds >= LEAST_SECONDS) return undefined
  return invalid('audio_too_short', 'The audio is too short: at least 100 ms are needed.', 'file')
}

function checkDirectives(prompt: string): ElevenlabsError | undefined {
  const name = findUnknownDirective({ asked: prompt, results: [], results_follow: false })
  if (name === undefined) return undefined
  return invalid('invalid_request', `The sandbox knows no test prompt '${name}'.`, 'file')
}

function writeTranscript(seconds: number, options: { seed: string; unicode: boolean }): string {
  const words = Math.max(Math.floor(seconds * WORDS_PER_SECOND), 1)
  const text = writeSentences(Math.min(Math.ceil(words / 6), MAX_SENTENCES), options)
  return text.split(' ').slice(0, words).join(' ')
}

/** Words share the time evenly; the blanks between them are entries of their own. */
function timeWords(text: string, seconds: number, fields: ReadonlyMap<string, string>) {
  const parts = text.split(/( )/)
  const words = (parts.length + 1) / 2
  const step_s = seconds / words
  const speaker = fields.get('diarize') === 'true' ? { speaker_id: 'speaker_0' } : {}
  return parts.map((part, at) => {
    const spoken = at % 2 === 0
    const start = round((at / 2) * step_s)
    const end = spoken ? round((at / 2 + 0.5) * step_s) : start
    return { text: part, start, end, type: spoken ? 'word' : 'spacing', logprob: -0.05, ...speaker }
  })
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000
}
