// Pictures, sounds and documents inside prompts. Nothing is decoded: each has a stated price in
// tokens, and stands in the prompt as a filler of exactly that many tokens, so that the tokenizer
// counts it and prompt caching recognises it.

import { digest } from './random.ts'

const AUDIO_BYTES_PER_SECOND = 16_000
const MAX_PAGES = 1_000
const MAX_MEDIA_TOKENS = 1_000_000

export function mediaFiller(data: string, tokens: number): string {
  const mark = digest(data)
  const length = Math.min(tokens, MAX_MEDIA_TOKENS) * 4
  return mark.repeat(Math.ceil(length / mark.length)).slice(0, length)
}

/** Pages of a base64 PDF, by its page objects; one when none can be seen. */
export function countPages(base64: string): number {
  const pages = Buffer.from(base64, 'base64')
    .toString('latin1')
    .match(/\/Type\s*\/Page\b/g)
  return Math.min(Math.max(pages?.length ?? 1, 1), MAX_PAGES)
}

/** Seconds of compressed sound, at the 128 kbit/s that most of it has. */
export function guessSeconds(bytes: number): number {
  return bytes / AUDIO_BYTES_PER_SECOND
}

export function base64Bytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : Number(base64.endsWith('='))
  return Math.floor((base64.length * 3) / 4) - padding
}

/** Reads `data:<type>;base64,<data>`; undefined for every other address. */
export function readDataUrl(url: string): { type: string; data: string } | undefined {
  const comma = url.indexOf(',')
  const head = /^data:([^;,]+);base64$/.exec(url.slice(0, Math.max(comma, 0)))
  if (head === null) return undefined
  return { type: head[1] ?? '', data: url.slice(comma + 1) }
}
