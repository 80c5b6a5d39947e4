// What the OpenAPI document says of audio: these bodies are read and written past the schemas.

import type { Documents } from '../../http/access.ts'
import type { Content, Header, Schema } from '../../http/reference/document.ts'
import { eventStream, PAYER_PARAMETERS, SVC_SCHEMA, UPSTREAM_HEADERS } from '../chat-documents.ts'
import { AUDIO_FORMATS } from './audio-format.ts'
import { TRANSCRIPT_FORMATS } from './transcript-formats.ts'

const CREDITS: Schema = { type: 'integer', description: 'Credits; 1,000,000 = $1.00.' }

const AUDIO_HEADERS: Readonly<Record<string, Header>> = {
  ...UPSTREAM_HEADERS,
  'X-Svc-Credits-Used': { description: 'What it cost.', schema: CREDITS },
  'X-Svc-Balance-Before': { schema: CREDITS },
  'X-Svc-Balance-After': { schema: CREDITS },
  'X-Svc-Billing-Mode': { schema: { type: 'string', enum: ['developer', 'user'] } },
}

const SHARED = { parameters: PAYER_PARAMETERS, reply_headers: AUDIO_HEADERS }

const AUDIO: Content = Object.fromEntries(
  Object.values(AUDIO_FORMATS).map(({ content_type }) => [
    content_type,
    { schema: { type: 'string', format: 'binary' } },
  ]),
)

export const SOUND_DOCUMENTS: Documents = { ...SHARED, reply: AUDIO }

export const SPEECH_DOCUMENTS: Documents = {
  ...SHARED,
  reply: {
    ...AUDIO,
    'text/event-stream': eventStream(
      'With `stream_format: "sse"`: `speech.audio.delta` with base64, then `speech.audio.done`.',
      `data: {"type":"speech.audio.delta","audio":"SUQzBAAAAAA="}

data: {"type":"speech.audio.done","usage":{"input_tokens":13,"output_tokens":0,"total_tokens":13},"svc":{"credits_used":650,"balance_before":1000000,"balance_after":999350,"billing_mode":"developer"}}

`,
    ),
  },
}

const SECONDS: Schema = { type: 'number', examples: [1.25] }
const TIMED = { start: SECONDS, end: SECONDS }

const TRANSCRIPT: Schema = {
  type: 'object',
  required: ['text', 'usage', 'svc'],
  properties: {
    text: { type: 'string', examples: ['Good morning.'] },
    task: { type: 'string', description: 'From here to `segments`: with `verbose_json`.' },
    language: { type: 'string', examples: ['eng'] },
    duration: SECONDS,
    words: {
      type: 'array',
      items: { type: 'object', properties: { word: { type: 'string' }, ...TIMED } },
    },
    segments: {
      type: 'array',
      items: { type: 'object', properties: { text: { type: 'string' }, ...TIMED } },
    },
    usage: {
      type: 'object',
      properties: {
        type: { type: 'string', const: 'duration' },
        seconds: { type: 'integer', examples: [2] },
      },
    },
    svc: SVC_SCHEMA,
  },
}

const UPLOAD: Schema = {
  type: 'object',
  required: ['file', 'model'],
  properties: {
    file: {
      type: 'string',
      format: 'binary',
      description: 'Up to 25 MB of mp3, m4a, wav, flac, ogg or webm.',
      examples: ['@meeting.mp3'],
    },
    model: { type: 'string', examples: ['elevenlabs/scribe_v1'] },
    response_format: { type: 'string', enum: TRANSCRIPT_FORMATS, default: 'json' },
    language: { type: 'string', description: 'A code of two or three letters.' },
    temperature: { type: 'number', minimum: 0, maximum: 1 },
    'timestamp_granularities[]': {
      type: 'array',
      items: { type: 'string', enum: ['word', 'segment'] },
    },
    stream: { type: 'boolean', description: 'true: as server-sent events.' },
  },
}

const TEXT = { schema: { type: 'string' } }

export const TRANSCRIPT_DOCUMENTS: Documents = {
  ...SHARED,
  body: { 'multipart/form-data': { schema: UPLOAD } },
  reply: {
    'application/json': { schema: TRANSCRIPT },
    'text/plain': { ...TEXT, example: 'Good morning.\n' },
    'application/x-subrip': TEXT,
    'text/vtt': { ...TEXT, example: 'WEBVTT\n\n00:00.000 --> 00:01.250\nGood morning.\n' },
    'text/event-stream': eventStream(
      'With `stream=true`: `transcript.text.delta`, then `transcript.text.done`.',
      `data: {"type":"transcript.text.delta","delta":"Good morning."}

data: {"type":"transcript.text.done","text":"Good morning.","usage":{"type":"duration","seconds":2},"svc":{"credits_used":61,"balance_before":1000000,"balance_after":999939,"billing_mode":"developer"}}

`,
    ),
  },
}
