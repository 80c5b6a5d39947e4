// A conversation in Google's contents: turns that alternate, and responses of functions by the name of
// the call, in the order of the calls, because these models have no ids to match them by.

import type {
  AssistantPart,
  ChatMessage,
  MediaSource,
  TextPart,
  UserPart,
} from '../../dialects/chat-types.ts'
import { refuse } from '../capabilities.ts'
import { spokenText } from '../instructions.ts'
import { given, isRecord, type JsonRecord } from '../json-values.ts'
import type { ToolNames } from '../tool-names.ts'

/** Documented by Google for calls whose signature was lost on the way. */
const NO_SIGNATURE = 'skip_thought_signature_validator'
const OWN_STORAGE = 'googleapis.com'
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  heic: 'image/heic',
  pdf: 'application/pdf',
  txt: 'text/plain',
}

export type ContentOptions = { names: ToolNames; signs_calls: boolean }
type Call = { name: string; order: number }
/** Clients may use an id again in a later turn: the latest call counts. */
type Calls = { by_id: Map<string, Call>; count: number }
type Turn = { role: string; parts: JsonRecord[] }

export function googleContents(
  messages: readonly ChatMessage[],
  options: ContentOptions,
): JsonRecord[] {
  const calls: Calls = { by_id: new Map(), count: 0 }
  const turns: Turn[] = []
  for (const message of mergeTurns(messages)) {
    const role = message.role === 'user' ? 'user' : 'model'
    const parts =
      message.role === 'user'
        ? userParts(message.content, calls)
        : modelParts(message.content, options, calls)
    const before = turns.at(-1)
    if (parts.length === 0) continue
    if (before?.role !== role) turns.push({ role, parts })
    else for (const part of parts) before.parts.push(part)
  }
  return turns
}

/** Neighbours of one role become one turn before their parts are put in order. */
function mergeTurns(messages: readonly ChatMessage[]): ChatMessage[] {
  const merged: ChatMessage[] = []
  for (const message of messages) {
    const before = merged.at(-1)
    if (before?.role === 'user' && message.role === 'user') {
      for (const part of message.content) before.content.push(part)
    } else if (before?.role === 'assistant' && message.role === 'assistant') {
      for (const part of message.content) before.content.push(part)
    } else if (message.role === 'user') {
      merged.push({ role: 'user', content: [...message.content] })
    } else {
      merged.push({ role: 'assistant', content: [...message.content] })
    }
  }
  return merged
}

type ToolResult = Extract<UserPart, { kind: 'tool_result' }>

function userParts(parts: readonly UserPart[], calls: Calls): JsonRecord[] {
  const results = parts
    .filter((part) => part.kind === 'tool_result')
    .map((result) => ({ result, call: callOf(result, calls) }))
    .sort((a, b) => a.call.order - b.call.order)
  const media = results.flatMap(({ result }) => {
    return result.content.filter((part) => part.kind !== 'text')
  })
  const others = parts.filter((part) => part.kind !== 'tool_result')
  return [
    ...results.map(({ result, call }) => functionResponse(result, call.name)),
    ...[...media, ...others].flatMap(contentPart),
  ]
}

function callOf({ call_id }: ToolResult, calls: Calls): Call {
  const call = calls.by_id.get(call_id)
  if (call !== undefined) return call
  throw refuse(
    `There is no tool call with the id ${JSON.stringify(call_id)}.`,
    'Send the message with the call before its result.',
  )
}

function functionResponse({ content, is_error }: ToolResult, name: string): JsonRecord {
  const texts = content.filter((part) => part.kind === 'text')
  const text = texts.map((part) => part.text).join('')
  return {
    functionResponse: { name, response: { [is_error === true ? 'error' : 'output']: text } },
  }
}

function contentPart(part: Exclude<UserPart, { kind: 'tool_result' }>): JsonRecord[] {
  if (part.kind === 'text') return textPart({ text: spokenText(part) })
  return [mediaPart(part.source, part.kind === 'image' ? 'image/jpeg' : 'application/pdf')]
}

function textPart({ text }: Pick<TextPart, 'text'>): JsonRecord[] {
  return text === '' ? [] : [{ text }]
}

function mediaPart(source: MediaSource, usual_type: string): JsonRecord {
  if (source.kind === 'data') {
    return { inlineData: { mimeType: source.media_type, data: source.data } }
  }
  const url = URL.canParse(source.url) ? new URL(source.url) : undefined
  // Addresses of Google's own file storage would reach into an account that all users share.
  const host = url?.hostname ?? OWN_STORAGE
  if (host.endsWith(OWN_STORAGE) || url?.protocol !== 'https:') {
    throw refuse('This address cannot be used.', 'Use a public https address or send the data.')
  }
  const extension = /\.([a-z]+)$/i.exec(url.pathname)?.[1]?.toLowerCase() ?? ''
  return { fileData: { mimeType: MEDIA_TYPES[extension] ?? usual_type, fileUri: source.url } }
}

/** Thoughts of another provider's model mean nothing here. */
function modelParts(
  parts: readonly AssistantPart[],
  { names, signs_calls }: ContentOptions,
  calls: Calls,
): JsonRecord[] {
  let unsigned = signs_calls
  return signTexts(parts).flatMap((part) => {
    if (part.kind === 'text') return signedText(part)
    if (part.kind === 'refusal') return textPart(part)
    if (part.kind !== 'tool_call') return []
    const name = names.toProvider(part.name)
    calls.by_id.set(part.id, { name, order: calls.count })
    calls.count += 1
    const args = isRecord(part.input) ? part.input : {}
    // Only the first call of a turn carries a signature.
    const thoughtSignature = part.signature ?? (unsigned ? NO_SIGNATURE : undefined)
    unsigned = false
    return [given({ functionCall: { name, args }, thoughtSignature })]
  })
}

type SignedText = Extract<AssistantPart, { kind: 'text' }>

function signedText({ text, signature }: SignedText): JsonRecord[] {
  return signature === undefined ? textPart({ text }) : [{ text, thoughtSignature: signature }]
}

/** A proof without text signs the text before it or, if there is none, the one after it. */
function signTexts(parts: readonly AssistantPart[]): AssistantPart[] {
  const signed: AssistantPart[] = []
  for (const part of parts) {
    const before = signed.at(-1)
    if (part.kind !== 'text' || before?.kind !== 'text') signed.push(part)
    else if (isProof(part) && before.signature === undefined) {
      signed[signed.length - 1] = { ...before, signature: part.signature }
    } else if (isProof(before) && part.signature === undefined) {
      signed[signed.length - 1] = { ...part, signature: before.signature }
    } else signed.push(part)
  }
  return signed
}

function isProof(part: SignedText): part is SignedText & { signature: string } {
  return part.text === '' && part.signature !== undefined
}
