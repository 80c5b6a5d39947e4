// A transcript as the provider gives it, in the formats that OpenAI's clients ask for.

import type { SvcNumbers } from '../dialects/dialect.ts'
import { presentNumbers } from '../dialects/dialect.ts'
import { isRecord, type JsonRecord, listOf, numberOf, textOf } from '../upstreams/json-values.ts'

export const TRANSCRIPT_FORMATS = ['json', 'text', 'srt', 'vtt', 'verbose_json'] as const
export type TranscriptFormat = (typeof TRANSCRIPT_FORMATS)[number]

const CONTENT_TYPES: Readonly<Record<TranscriptFormat, string>> = {
  json: 'application/json; charset=utf-8',
  verbose_json: 'application/json; charset=utf-8',
  text: 'text/plain; charset=utf-8',
  srt: 'application/x-subrip; charset=utf-8',
  vtt: 'text/vtt; charset=utf-8',
}

/** A subtitle longer than this is hard to read, and one of this many seconds stands too long. */
const CUE_CHARACTERS = 84
const CUE_SECONDS = 7

/** No upload is longer: a length beyond it is a mistake of the provider's. */
const SECONDS_MAX = 100_000

export type Transcript = {
  text: string
  language: string
  seconds: number
  /** The provider did not say how long it is. */
  estimated: boolean
  words: Word[]
}
export type Word = { word: string; start: number; end: number }

/** `fallback_seconds`: where the provider says no length and no word has a time. */
export function readTranscript(answer: JsonRecord, fallback_seconds: number): Transcript {
  const words = listOf(answer['words']).filter(isRecord).flatMap(toWord)
  const reported = lengthOf(answer['audio_duration_secs'])
  return {
    text: textOf(answer['text']),
    language: textOf(answer['language_code']),
    seconds: reported ?? lengthOf(words.at(-1)?.end) ?? fallback_seconds,
    estimated: reported === undefined,
    words,
  }
}

function lengthOf(value: unknown): number | undefined {
  const seconds = numberOf(value)
  return seconds !== undefined && seconds >= 0 && seconds <= SECONDS_MAX ? seconds : undefined
}

/** Spaces and noises are entries of their own. */
function toWord(entry: JsonRecord): Word[] {
  const start = numberOf(entry['start'])
  const end = numberOf(entry['end'])
  if (entry['type'] !== 'word' || start === undefined || end === undefined) return []
  return [{ word: textOf(entry['text']), start, end }]
}

export function formatTranscript(
  transcript: Transcript,
  format: TranscriptFormat,
  options: { granularities: readonly string[]; svc: SvcNumbers },
): { body: string; content_type: string } {
  return { body: bodyOf(transcript, format, options), content_type: CONTENT_TYPES[format] }
}

function bodyOf(
  transcript: Transcript,
  format: TranscriptFormat,
  { granularities, svc }: { granularities: readonly string[]; svc: SvcNumbers },
): string {
  const { text, language, seconds, words } = transcript
  switch (format) {
    case 'text':
      return `${text}\n`
    case 'srt':
      return cuesOf(words)
        .map((cue, index) => `${index + 1}\n${srtTimes(cue)}\n${cue.text}\n`)
        .join('\n')
    case 'vtt':
      return `WEBVTT\n\n${cuesOf(words)
        .map((cue) => `${vttTimes(cue)}\n${cue.text}\n`)
        .join('\n')}`
    case 'json':
      return JSON.stringify({ text, usage: usageOf(transcript), svc: presentNumbers(svc) })
    case 'verbose_json':
      return JSON.stringify({
        task: 'transcribe',
        language,
        duration: seconds,
        text,
        ...(granularities.includes('word') && { words }),
        ...(granularities.includes('segment') && { segments: cuesOf(words).map(toSegment) }),
        usage: usageOf(transcript),
        svc: presentNumbers(svc),
      })
  }
}

/** The events of a streamed transcript; the provider gives it whole. */
export function streamTranscript(transcript: Transcript, svc: SvcNumbers): string {
  const { text } = transcript
  const done = {
    type: 'transcript.text.done',
    text,
    usage: usageOf(transcript),
    svc: presentNumbers(svc),
  }
  return [{ type: 'transcript.text.delta', delta: text }, done]
    .map((event) => `data: ${JSON.stringify(event)}\n\n`)
    .join('')
}

/** OpenAI bills by whole seconds; the credits are charged by the millisecond. */
function usageOf({ seconds }: Transcript) {
  return { type: 'duration', seconds: Math.ceil(seconds) }
}

type Cue = { text: string; start: number; end: number }

/** Words in lines that can be read: a new one after a sentence, when one is full, or when it stands too long. */
function cuesOf(words: readonly Word[]): Cue[] {
  const cues: Cue[] = []
  let is_open = false
  for (const { word, start, end } of words) {
    const last = cues.at(-1)
    const fits =
      last !== undefined &&
      last.text.length + 1 + word.length <= CUE_CHARACTERS &&
      end - last.start <= CUE_SECONDS
    if (last && is_open && fits) {
      last.text += ` ${word}`
      last.end = end
    } else {
      cues.push({ text: word, start, end })
    }
    is_open = !/[.!?…。！？]$/.test(word)
  }
  return cues
}

function toSegment({ text, start, end }: Cue, id: number) {
  return {
    id,
    seek: 0,
    start,
    end,
    text,
    tokens: [],
    temperature: 0,
    avg_logprob: 0,
    compression_ratio: 1,
    no_speech_prob: 0,
  }
}

function srtTimes({ start, end }: Cue): string {
  return `${clockTime(start, ',')} --> ${clockTime(end, ',')}`
}

function vttTimes({ start, end }: Cue): string {
  return `${clockTime(start, '.')} --> ${clockTime(end, '.')}`
}

function clockTime(seconds: number, mark: ',' | '.'): string {
  const ms = Math.round(seconds * 1000)
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  const clock = [ms / 3_600_000, (ms / 60_000) % 60, (ms / 1000) % 60].map(two).join(':')
  return `${clock}${mark}${String(ms % 1000).padStart(3, '0')}`
}
