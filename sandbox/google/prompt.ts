// The prompt of a generateContent request as one text, what of it is not text, and what the user
// asked last.

import type { Conversation } from '../directives.ts'
import { isAbsent, type JsonObject, listOf, textOf } from '../json.ts'
import { base64Bytes, countPages, guessSeconds, mediaFiller } from '../media.ts'
import { countTokens } from '../tokens.ts'
import { readFields } from './fields.ts'

const IMAGE_TOKENS = 258
const PAGE_TOKENS = 258
const AUDIO_TOKENS_PER_SECOND = 32
const VIDEO_TOKENS_PER_SECOND = 263
const VIDEO_BYTES_PER_SECOND = 250_000

export type Modality = 'TEXT' | 'IMAGE' | 'AUDIO' | 'VIDEO' | 'DOCUMENT'
export type GooglePrompt = {
  text: string
  tokens: number
  details: readonly { modality: Modality; tokenCount: number }[]
}

type Medium = { modality: Modality; tokens: number }

export function renderPrompt(request: JsonObject): GooglePrompt {
  const system = readFields(request['systemInstruction'])
  const tools = isAbsent(request['tools']) ? '' : `tools\n${JSON.stringify(request['tools'])}\n\n`
  const contents = listOf(request['contents']).map(readFields)
  const turns = [
    ...(listOf(system['parts']).length > 0 ? [{ ...system, role: 'system' }] : []),
    ...contents,
  ]
  const text = tools + turns.map(renderTurn).join('')
  const media = contents.flatMap((turn) => listOf(turn['parts'])).map(measureMedium)
  return measurePrompt(
    text,
    media.filter((medium) => medium !== undefined),
  )
}

export function readConversation(request: JsonObject): Conversation {
  const turns = listOf(request['contents']).map(readFields)
  const asked_at = turns.findLastIndex((turn) => isUser(turn) && turnText(turn) !== '')
  const asked = turns[asked_at]
  const last = turns.at(-1)
  const parts = last === undefined ? [] : listOf(last['parts']).map(readFields)
  const responses = parts.filter((part) => !isAbsent(part['functionResponse']))
  return {
    asked: asked === undefined ? '' : turnText(asked),
    results: responses.map((part) => {
      return JSON.stringify(readFields(part['functionResponse'])['response'] ?? {})
    }),
    results_follow: asked_at !== turns.length - 1,
  }
}

function measurePrompt(text: string, media: readonly Medium[]): GooglePrompt {
  const tokens = countTokens(text)
  const sums = new Map<Modality, number>()
  for (const { modality, tokens: count } of media) {
    sums.set(modality, (sums.get(modality) ?? 0) + count)
  }
  const other = [...sums].map(([modality, tokenCount]) => ({ modality, tokenCount }))
  const counted = other.reduce((sum, detail) => sum + detail.tokenCount, 0)
  const details = [{ modality: 'TEXT' as const, tokenCount: tokens - counted }, ...other]
  return { text, tokens, details: details.filter((detail) => detail.tokenCount > 0) }
}

function renderTurn(turn: JsonObject): string {
  const parts = listOf(turn['parts']).map((part) => renderPart(part))
  return `${textOf(turn['role'] ?? 'user')}\n${parts.join('\n')}\n\n`
}

function renderPart(value: unknown): string {
  const part = readFields(value)
  if (part['thought'] === true) return ''
  if (typeof part['text'] === 'string') return part['text']
  const medium = measureMedium(value)
  if (medium !== undefined) return mediaFiller(JSON.stringify(value), medium.tokens)
  const { mimeType, data } = readFields(part['inlineData'])
  if (textOf(mimeType).startsWith('text/')) {
    return Buffer.from(textOf(data), 'base64').toString('utf8')
  }
  return JSON.stringify(part['functionCall'] ?? part['functionResponse'] ?? {})
}

function measureMedium(value: unknown): Medium | undefined {
  const part = readFields(value)
  const { mimeType, data } = readFields(part['inlineData'] ?? part['fileData'])
  const type = textOf(mimeType)
  const base64 = textOf(data)
  const bytes = base64Bytes(base64)
  if (type.startsWith('image/')) return { modality: 'IMAGE', tokens: IMAGE_TOKENS }
  if (type === 'application/pdf') {
    return { modality: 'DOCUMENT', tokens: countPages(base64) * PAGE_TOKENS }
  }
  if (type.startsWith('audio/')) {
    const seconds = Math.max(Math.ceil(guessSeconds(bytes)), 1)
    return { modality: 'AUDIO', tokens: seconds * AUDIO_TOKENS_PER_SECOND }
  }
  if (type.startsWith('video/')) {
    const seconds = Math.max(Math.ceil(bytes / VIDEO_BYTES_PER_SECOND), 1)
    return { modality: 'VIDEO', tokens: seconds * VIDEO_TOKENS_PER_SECOND }
  }
  return undefined
}

function isUser(turn: JsonObject): boolean {
  return isAbsent(turn['role']) || turn['role'] === 'user'
}

function turnText(turn: JsonObject): string {
  const parts = listOf(turn['parts']).map(readFields)
  return parts
    .map((part) => textOf(part['text']))
    .filter(Boolean)
    .join('\n')
}
