// Reads the content of messages: text, pictures, sounds and files, and the marks where a cache may end.

import { readCacheHint } from '../anthropic/blocks.ts'
import {
  type Fields,
  isAbsent,
  readArray,
  readChoice,
  readObject,
  readOptionalChoice,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'
import type { AssistantPart, CacheHint, TextPart, UserPart } from '../chat-types.ts'
import { readBase64, readFileData, readImageUrl } from '../media-source.ts'

const MAX_PARTS = 2_000
const AUDIO_TYPES = { wav: 'audio/wav', mp3: 'audio/mpeg' } as const

/** Text or text parts; empty ones are left out. */
export function readTexts(content: unknown, path: string): TextPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }]
  const texts: TextPart[] = []
  for (const [index, entry] of readParts(content, path).entries()) {
    const at = `${path}[${index}]`
    const part = readObject(entry, at)
    readChoice(part['type'], ['text'], `${at}.type`)
    const text = readText(part['text'], `${at}.text`)
    if (text !== '') texts.push({ kind: 'text', text, ...cacheOf(part, at) })
  }
  return texts
}

/** Text and refusals. */
export function readAssistantContent(content: unknown, path: string): AssistantPart[] {
  if (isAbsent(content) || content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  const parts: AssistantPart[] = []
  for (const [index, entry] of readParts(content, path).entries()) {
    const at = `${path}[${index}]`
    const part = readObject(entry, at)
    const kind = readChoice(part['type'], ['text', 'refusal'], `${at}.type`)
    const text = readText(part[kind], `${at}.${kind}`)
    if (text === '') continue
    parts.push(kind === 'text' ? { kind, text, ...cacheOf(part, at) } : { kind, text })
  }
  return parts
}

/** `cache_control` of something larger is that of its last part. */
export function markLast(parts: readonly (UserPart | AssistantPart)[], cache: CacheHint): void {
  const last = parts.at(-1)
  if (last === undefined) return
  if (last.kind === 'text' || last.kind === 'tool_call') last.cache ??= cache
  if (last.kind === 'image' || last.kind === 'file' || last.kind === 'tool_result') {
    last.cache ??= cache
  }
}

export function cacheOf(holder: Fields, path: string): { cache?: CacheHint } {
  const cache = readCacheHint(holder['cache_control'], `${path}.cache_control`)
  return cache === undefined ? {} : { cache }
}

function readParts(content: unknown, path: string): readonly unknown[] {
  if (isAbsent(content)) refuse(path, 'is missing')
  if (!Array.isArray(content)) refuse(path, 'must be a string or an array of parts')
  return readArray(content, path, MAX_PARTS)
}

export function readUserContent(content: unknown, message_path: string): UserPart[] {
  const path = `${message_path}.content`
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  const parts = readParts(content, path).map((entry, index) => {
    const at = `${path}[${index}]`
    return readUserPart(readObject(entry, at), at)
  })
  const spoken = parts.filter((part) => part.kind !== 'text' || part.text !== '')
  const [first] = parts
  if (first === undefined) refuse(path, 'must not be empty')
  return spoken.length > 0 ? spoken : [first]
}

function readUserPart(part: Fields, path: string): UserPart {
  const types = ['text', 'image_url', 'input_audio', 'file'] as const
  const type = readChoice(part['type'], types, `${path}.type`)
  switch (type) {
    case 'text':
      return { kind: 'text', text: readText(part['text'], `${path}.text`), ...cacheOf(part, path) }
    case 'image_url':
      return { ...readImage(part['image_url'], `${path}.image_url`), ...cacheOf(part, path) }
    case 'input_audio':
      return readAudio(part['input_audio'], `${path}.input_audio`)
    case 'file':
      return { ...readFile(part['file'], `${path}.file`), ...cacheOf(part, path) }
  }
}

function readImage(value: unknown, path: string): Extract<UserPart, { kind: 'image' }> {
  const image = readObject(value, path)
  const source = readImageUrl(readText(image['url'], `${path}.url`), `${path}.url`)
  const detail = readOptionalChoice(image['detail'], ['auto', 'low', 'high'], `${path}.detail`)
  return { kind: 'image', source, ...(detail && { detail }) }
}

function readAudio(value: unknown, path: string): UserPart {
  const audio = readObject(value, path)
  const format = readChoice(audio['format'], ['wav', 'mp3'], `${path}.format`)
  const data = readBase64(readText(audio['data'], `${path}.data`), `${path}.data`)
  return { kind: 'audio', source: { kind: 'data', media_type: AUDIO_TYPES[format], data } }
}

function readFile(value: unknown, path: string): Extract<UserPart, { kind: 'file' }> {
  const file = readObject(value, path)
  if (!isAbsent(file['file_id'])) {
    refuse(`${path}.file_id`, 'is not supported', 'Send the bytes as `file_data`.')
  }
  const source = readFileData(readText(file['file_data'], `${path}.file_data`), `${path}.file_data`)
  const name = readOptionalText(file['filename'], `${path}.filename`)
  return { kind: 'file', source, ...(name !== undefined && { name }) }
}
