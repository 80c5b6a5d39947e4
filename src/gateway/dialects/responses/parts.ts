// Reads the content of items: text, pictures and files.

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
import type { AssistantPart, TextPart, UserPart } from '../chat-types.ts'
import { readAddress, readFileData, readImageUrl } from '../media-source.ts'

const MAX_PARTS = 2_000
const TEXT_TYPES = ['input_text', 'output_text', 'text'] as const
const DETAILS = ['auto', 'low', 'high', 'original'] as const
const SEND_BYTES = 'Files are kept by no one here: send the bytes, or a public address.'

export type ContentPart = TextPart | Extract<UserPart, { kind: 'image' | 'file' }>

/** What a user says, or a tool answers. Empty texts are left out. */
export function readContent(content: unknown, path: string): ContentPart[] {
  if (typeof content === 'string') return textOf(content)
  const types = [...TEXT_TYPES, 'input_image', 'input_file'] as const
  return readParts(content, path).flatMap(({ part, at }): ContentPart[] => {
    const type = readChoice(part['type'], types, `${at}.type`)
    if (type === 'input_image') return [readImage(part, at)]
    if (type === 'input_file') return [readFile(part, at)]
    return textOf(readText(part['text'], `${at}.text`))
  })
}

/** Instructions. */
export function readTexts(content: unknown, path: string): TextPart[] {
  if (typeof content === 'string') return textOf(content)
  return readParts(content, path).flatMap(({ part, at }) => {
    readChoice(part['type'], TEXT_TYPES, `${at}.type`)
    return textOf(readText(part['text'], `${at}.text`))
  })
}

/** What a model said. */
export function readAnswer(content: unknown, path: string): AssistantPart[] {
  if (isAbsent(content)) return []
  if (typeof content === 'string') return textOf(content)
  return readParts(content, path).flatMap(({ part, at }): AssistantPart[] => {
    const type = readChoice(part['type'], [...TEXT_TYPES, 'refusal'], `${at}.type`)
    if (type !== 'refusal') return textOf(readText(part['text'], `${at}.text`))
    const text = readText(part['refusal'], `${at}.refusal`)
    return text === '' ? [] : [{ kind: 'refusal', text }]
  })
}

function readParts(content: unknown, path: string): { part: Fields; at: string }[] {
  if (isAbsent(content)) refuse(path, 'is missing')
  if (!Array.isArray(content)) refuse(path, 'must be a string or an array of parts')
  return readArray(content, path, MAX_PARTS).map((entry, index) => {
    const at = `${path}[${index}]`
    return { part: readObject(entry, at), at }
  })
}

function textOf(text: string): TextPart[] {
  return text === '' ? [] : [{ kind: 'text', text }]
}

function readImage(part: Fields, path: string): Extract<UserPart, { kind: 'image' }> {
  refuseStored(part, path)
  const url = readText(part['image_url'], `${path}.image_url`)
  const source = readImageUrl(url, `${path}.image_url`)
  const asked = readOptionalChoice(part['detail'], DETAILS, `${path}.detail`)
  const detail = asked === 'original' ? 'high' : asked
  return { kind: 'image', source, ...(detail && { detail }) }
}

function readFile(part: Fields, path: string): Extract<UserPart, { kind: 'file' }> {
  refuseStored(part, path)
  const name = readOptionalText(part['filename'], `${path}.filename`)
  const address = readOptionalText(part['file_url'], `${path}.file_url`)
  const source =
    address === undefined
      ? readFileData(readText(part['file_data'], `${path}.file_data`), `${path}.file_data`)
      : readAddress(address, `${path}.file_url`)
  return { kind: 'file', source, ...(name !== undefined && { name }) }
}

function refuseStored(part: Fields, path: string): void {
  if (!isAbsent(part['file_id'])) refuse(`${path}.file_id`, 'is not supported', SEND_BYTES)
}
