// POST /v1/audio/transcriptions: the upload goes to the provider as it lies on disk, and is charged by the length
// that the provider heard.

import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { AudioModel } from '../../catalog/models.ts'
import type { EventStream } from '../../http/event-stream.ts'
import type { CallLifetime } from '../call-lifetime.ts'
import { readChoice, refuse } from '../dialects/body-fields.ts'
import type { SvcNumbers } from '../dialects/dialect.ts'
import {
  beginLifetime,
  concludeFailed,
  holdInput,
  type InputCall,
  requireStillWanted,
  settleInput,
} from '../input-call.ts'
import type { Elevenlabs, Upload as ProviderUpload } from '../upstreams/elevenlabs/elevenlabs.ts'
import { type AudioParts, requireAudioModel, requireElevenlabs } from './audio-call.ts'
import { boundLength } from './audio-length.ts'
import {
  readTranscript,
  TRANSCRIPT_FORMATS,
  type Transcript,
  type TranscriptFormat,
} from './transcript-formats.ts'
import type { Upload, UploadedFile } from './upload.ts'

const LANGUAGE = /^[A-Za-z]{2,3}$/
const READ = [
  'model',
  'language',
  'response_format',
  'temperature',
  'stream',
  'timestamp_granularities[]',
  'timestamp_granularities',
]

export type TranscriptionRequest = {
  file: UploadedFile
  model: AudioModel
  language: string | undefined
  temperature: string | undefined
  format: TranscriptFormat
  granularities: readonly string[]
  stream: boolean
  ignored: readonly string[]
}

export function parseTranscription({ catalog }: AudioParts, upload: Upload): TranscriptionRequest {
  const { file, fields } = upload
  const last = (name: string) => fields.get(name)?.at(-1)
  if (!file) refuse('file', 'is missing', 'Send the audio as the field `file` of the form.')
  if (file.size === 0) refuse('file', 'is empty')
  const name = last('model')
  if (!name) refuse('model', 'is missing')
  const language = last('language')
  if (language !== undefined && !LANGUAGE.test(language)) {
    refuse('language', 'must be a code of two or three letters')
  }
  const granularities = [
    ...(fields.get('timestamp_granularities[]') ?? []),
    ...(fields.get('timestamp_granularities') ?? []),
  ].map((value) => readChoice(value, ['word', 'segment'], 'timestamp_granularities'))
  return {
    file,
    model: requireAudioModel(catalog, name, 'transcription'),
    language,
    temperature: readTemperature(last('temperature')),
    format: readChoice(last('response_format') ?? 'json', TRANSCRIPT_FORMATS, 'response_format'),
    granularities: granularities.length > 0 ? granularities : ['segment'],
    stream: readChoice(last('stream') ?? 'false', ['true', 'false'], 'stream') === 'true',
    ignored: [...fields.keys()].filter((field) => !READ.includes(field)),
  }
}

function readTemperature(value: string | undefined): string | undefined {
  if (value === undefined || value === '') return undefined
  const number = Number(value)
  if (!(number >= 0 && number <= 1)) refuse('temperature', 'must be between 0 and 1')
  return String(number)
}

export type Transcribed = { transcript: Transcript; svc: SvcNumbers }

/** Throws in our words. */
export async function transcribe(
  parts: AudioParts,
  call: InputCall,
  request: TranscriptionRequest,
  client: Pick<EventStream, 'onLeave'>,
): Promise<Transcribed> {
  const { model, file, ignored } = request
  const elevenlabs = requireElevenlabs(parts)
  const bounds = await boundLength(file)
  const hold = await holdInput(parts, call, { model, ...bounds })
  const lifetime = beginLifetime(parts, call, client)
  const use = { model, hold, ignored, started_at: performance.now() }
  try {
    const answer = await ask(elevenlabs, request, lifetime).catch(async (error: unknown) => {
      const guessed = { ...use, ...countOf(bounds.least / 1000) }
      throw await concludeFailed(parts, call, { use: guessed, lifetime, error })
    })
    const { request_id: provider_request_id, transcript: heard } = answer
    const transcript = readTranscript(heard, bounds.least / 1000)
    const { seconds, estimated } = transcript
    const used = { ...use, ...countOf(seconds), estimated, provider_request_id }
    return { transcript, svc: await settleInput(parts, call, used) }
  } finally {
    lifetime.close()
  }
}

async function ask(elevenlabs: Elevenlabs, request: TranscriptionRequest, lifetime: CallLifetime) {
  requireStillWanted(lifetime)
  return await elevenlabs.transcribe(toForm(request), lifetime.signal)
}

function countOf(seconds: number) {
  return { quantity: Math.ceil(seconds * 1000), counted: { seconds } }
}

/** What the provider is sent, streamed from the disk. */
function toForm({ file, model, language, temperature }: TranscriptionRequest): ProviderUpload {
  const boundary = `svc-${randomUUID()}`
  const field = (name: string, value: string | undefined) =>
    value === undefined
      ? ''
      : `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  const head = [
    field('model_id', model.upstream_id),
    field('language_code', language),
    field('temperature', temperature),
    field('timestamps_granularity', 'word'),
    field('tag_audio_events', 'false'),
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${plainName(file.name)}"\r\n`,
    `content-type: ${plainName(file.media_type)}\r\n\r\n`,
  ].join('')
  const tail = `\r\n--${boundary}--\r\n`
  async function* pieces() {
    yield Buffer.from(head)
    yield* file.read()
    yield Buffer.from(tail)
  }
  return {
    // A provider that answers before it has read everything leaves nobody who listens to the file.
    body: Readable.from(pieces(), { objectMode: false }).on('error', () => {}),
    content_type: `multipart/form-data; boundary=${boundary}`,
    length: Buffer.byteLength(head) + file.size + Buffer.byteLength(tail),
  }
}

/** A name is the client's, and a line break in it would begin a header of its own. */
function plainName(name: string): string {
  return name.replaceAll(/[^\w./[\]:= +-]/g, '_').slice(0, 200) || 'audio'
}
