// The formats that audio can be asked for in, as OpenAI names them and as ElevenLabs does.

import { readOptionalChoice, refuse } from '../dialects/body-fields.ts'

/** 24 kHz, 16 bit, one channel, as OpenAI's clients play it. The others need no special plan at the provider. */
export const AUDIO_FORMATS = {
  mp3: { output_format: 'mp3_44100_128', content_type: 'audio/mpeg' },
  opus: { output_format: 'opus_48000_128', content_type: 'audio/ogg' },
  wav: { output_format: 'wav_24000', content_type: 'audio/wav' },
  pcm: { output_format: 'pcm_24000', content_type: 'audio/pcm' },
} as const

const KNOWN = ['mp3', 'opus', 'wav', 'pcm', 'aac', 'flac'] as const

export type AudioFormat = { output_format: string; content_type: string }

export function readFormat(value: unknown): AudioFormat {
  const name = readOptionalChoice(value, KNOWN, 'response_format') ?? 'mp3'
  if (name === 'aac' || name === 'flac') {
    refuse('response_format', `cannot be ${name}`, 'Use mp3, opus, wav or pcm.')
  }
  return AUDIO_FORMATS[name]
}
