// The prompt of a generateContent request as one text, what of it is not text, and what the user
// asked last.

import type { Conversation } from '../directives.ts'
import { isAbsent, type JsonObject, listOf, textOf } from '../json.ts'
import { mediaFiller } from '../media.ts'
import { countTokens } from '../tokens.ts'
import { readFields } from './fields.ts'
import { type Medium, type Modality, measureMedium } from './media-tokens.ts'
import type { GoogleModel } from './models.ts'

export type GooglePrompt = {
  text: string
  tokens: number
  details: readonly { modality: Modality; tokenCount: number }[]
}

type Measure = (part: unknown) => Medium | undefined

export function renderPrompt(request: JsonObject, model: GoogleModel): GooglePrompt {
  const config = readFields(request['generationConfig'])
  const measure: Measure = (part) => measureMedium(part, model, config)
  const system = readFields(request['systemInstruction'])
  const tools = isAbsent(request['tools']) ? '' : `tools\n${JSON.stringify(request['tools'])}\n\n`
  const contents = listOf(request['contents']).map(readFields)
  const turns = [
    ...(listOf(system['parts']).length > 0 ? [{ ...system, role: 'system' }] : []),
    ...contents,
  ]
  const text = tools + turns.map((turn) => renderTurn(turn, measure)).join('')
  const media = contents.flatMap((turn) => listOf(turn['parts'])).map(measure)
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

function renderTurn(turn: JsonObject, measure: Measure): string {
  const parts = listOf(turn['parts']).map((part) => renderPart(part, measure))
  return `${textOf(turn['role'] ?? 'user')}\n${parts.join('\n')}\n\n`
}

function renderPart(value: unknown, measure: Measure): string {
  const part = readFields(value)
  // What was thought is read again from the signature that came back, and costs its length.
  const signature = textOf(part['thoughtSignature'])
  if (part['thought'] === true) return signature
  if (typeof part['text'] === 'string') return part['text'] + signature
  const medium = measure(value)
  if (medium !== undefined) return mediaFiller(JSON.stringify(value), medium.tokens)
  const { mimeType, data } = readFields(part['inlineData'])
  if (textOf(mimeType).startsWith('text/')) {
    return Buffer.from(textOf(data), 'base64').toString('utf8')
  }
  return JSON.stringify(part['functionCall'] ?? part['functionResponse'] ?? {}) + signature
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
