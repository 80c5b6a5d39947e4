// Reads the `messages` of a chat completion. Instructions before the conversation stand apart, later ones and results
// of tools become parts of a user turn, as the neutral form has them.

import {
  type Fields,
  isAbsent,
  isObject,
  limitDepth,
  readArray,
  readChoice,
  readName,
  readObject,
  readOptionalChoice,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'
import type { AssistantPart, TextPart, UserPart } from '../chat-types.ts'
import { addInstructions, type Conversation } from '../conversation.ts'
import { readBase64, readFileData, readImageUrl } from '../media-source.ts'

const MAX_MESSAGES = 10_000
const MAX_PARTS = 2_000
const MAX_CALLS = 256

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const
const AUDIO_TYPES = { wav: 'audio/wav', mp3: 'audio/mpeg' } as const

type Reading = Conversation & { call_ids: Set<string>; last_role: string }

export function parseMessages(value: unknown): Conversation {
  const list = readArray(value, 'messages', MAX_MESSAGES)
  if (list.length === 0) refuse('messages', 'must not be empty', 'Send at least one message.')
  const reading: Reading = { system: [], messages: [], call_ids: new Set(), last_role: '' }
  for (const [index, entry] of list.entries()) {
    const path = `messages[${index}]`
    const message = readObject(entry, path)
    const role = readChoice(message['role'], ROLES, `${path}.role`)
    addMessage(reading, { role, message, path })
    reading.last_role = role
  }
  return withSomebodySpeaking(reading)
}

/**
 * The body for OpenAI without what we add to answers for other providers' sake: a conversation may move from
 * one provider's model to another's. Copies only the messages that carry such fields.
 */
export function withoutGatewayFields(messages: unknown): unknown {
  if (!Array.isArray(messages)) return messages
  return messages.map((message: unknown) => {
    if (!isObject(message) || message['role'] !== 'assistant') return message
    const calls = message['tool_calls']
    const signed =
      Array.isArray(calls) && calls.some((call) => isObject(call) && 'extra_content' in call)
    if (!signed && !('reasoning_content' in message)) return message
    const { reasoning_content: _thought, ...rest } = message
    if (!Array.isArray(calls)) return rest
    return { ...rest, tool_calls: calls.map(withoutExtraContent) }
  })
}

function withoutExtraContent(call: unknown): unknown {
  if (!isObject(call)) return call
  const { extra_content: _extra, ...rest } = call
  return rest
}

type RoleMessage = { role: (typeof ROLES)[number]; message: Fields; path: string }

function addMessage(reading: Reading, { role, message, path }: RoleMessage): void {
  switch (role) {
    case 'system':
    case 'developer':
      addInstructions(reading, readTexts(message['content'], `${path}.content`))
      return
    case 'user':
      reading.messages.push({ role: 'user', content: readUserContent(message['content'], path) })
      return
    case 'assistant': {
      const content = readAssistant(message, path)
      for (const part of content) if (part.kind === 'tool_call') reading.call_ids.add(part.id)
      if (content.length > 0) reading.messages.push({ role: 'assistant', content })
      return
    }
    case 'tool':
      addToolResult(reading, message, path)
      return
    case 'function':
      refuse(`${path}.role`, 'is not supported', 'Use `tools` and messages of role `tool`.')
  }
}

function addToolResult(reading: Reading, message: Fields, path: string): void {
  const call_id = readName(message['tool_call_id'], `${path}.tool_call_id`)
  if (!reading.call_ids.has(call_id)) {
    refuse(
      `${path}.tool_call_id`,
      'answers no tool call of an earlier assistant message',
      'Send the assistant message with its `tool_calls` before the results.',
    )
  }
  const content = readTexts(message['content'], `${path}.content`)
  const result: UserPart = { kind: 'tool_result', call_id, content }
  const last = reading.messages.at(-1)
  // Providers want all results of one turn together.
  if (reading.last_role === 'tool' && last?.role === 'user') last.content.push(result)
  else reading.messages.push({ role: 'user', content: [result] })
}

/** OpenAI answers a conversation of instructions alone; the others need somebody who speaks. */
function withSomebodySpeaking({ system, messages }: Conversation): Conversation {
  if (messages.length > 0) return { system, messages }
  if (system.length > 0) return { system: [], messages: [{ role: 'user', content: system }] }
  return refuse('messages', 'must hold some content', 'Send at least one message with text.')
}

/** Text or text parts; empty ones are left out. */
function readTexts(content: unknown, path: string): TextPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }]
  const texts: TextPart[] = []
  for (const [index, entry] of readContent(content, path).entries()) {
    const at = `${path}[${index}]`
    const part = readObject(entry, at)
    readChoice(part['type'], ['text'], `${at}.type`)
    const text = readText(part['text'], `${at}.text`)
    if (text !== '') texts.push({ kind: 'text', text })
  }
  return texts
}

function readContent(content: unknown, path: string): readonly unknown[] {
  if (isAbsent(content)) refuse(path, 'is missing')
  if (!Array.isArray(content)) refuse(path, 'must be a string or an array of parts')
  return readArray(content, path, MAX_PARTS)
}

function readUserContent(content: unknown, message_path: string): UserPart[] {
  const path = `${message_path}.content`
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  const parts = readContent(content, path).map((entry, index) => {
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
      return { kind: 'text', text: readText(part['text'], `${path}.text`) }
    case 'image_url':
      return readImage(readObject(part['image_url'], `${path}.image_url`), `${path}.image_url`)
    case 'input_audio':
      return readAudio(
        readObject(part['input_audio'], `${path}.input_audio`),
        `${path}.input_audio`,
      )
    case 'file':
      return readFile(readObject(part['file'], `${path}.file`), `${path}.file`)
  }
}

function readImage(image: Fields, path: string): UserPart {
  const source = readImageUrl(readText(image['url'], `${path}.url`), `${path}.url`)
  const detail = readOptionalChoice(image['detail'], ['auto', 'low', 'high'], `${path}.detail`)
  return { kind: 'image', source, ...(detail && { detail }) }
}

function readAudio(audio: Fields, path: string): UserPart {
  const format = readChoice(audio['format'], ['wav', 'mp3'], `${path}.format`)
  const data = readBase64(readText(audio['data'], `${path}.data`), `${path}.data`)
  return { kind: 'audio', source: { kind: 'data', media_type: AUDIO_TYPES[format], data } }
}

function readFile(file: Fields, path: string): UserPart {
  if (!isAbsent(file['file_id'])) {
    refuse(`${path}.file_id`, 'is not supported', 'Send the bytes as `file_data`.')
  }
  const source = readFileData(readText(file['file_data'], `${path}.file_data`), `${path}.file_data`)
  const name = readOptionalText(file['filename'], `${path}.filename`)
  return { kind: 'file', source, ...(name !== undefined && { name }) }
}

function readAssistant(message: Fields, path: string): AssistantPart[] {
  for (const field of ['function_call', 'audio']) {
    if (!isAbsent(message[field])) refuse(`${path}.${field}`, 'is not supported')
  }
  const parts = readAssistantContent(message['content'], `${path}.content`)
  const refusal = readOptionalText(message['refusal'], `${path}.refusal`)
  if (refusal) parts.push({ kind: 'refusal', text: refusal })
  if (isAbsent(message['tool_calls'])) return parts
  const calls = readArray(message['tool_calls'], `${path}.tool_calls`, MAX_CALLS)
  for (const [index, entry] of calls.entries()) {
    const at = `${path}.tool_calls[${index}]`
    parts.push(readToolCall(readObject(entry, at), at))
  }
  return parts
}

function readAssistantContent(content: unknown, path: string): AssistantPart[] {
  if (isAbsent(content) || content === '') return []
  if (typeof content === 'string') return [{ kind: 'text', text: content }]
  const parts: AssistantPart[] = []
  for (const [index, entry] of readContent(content, path).entries()) {
    const at = `${path}[${index}]`
    const part = readObject(entry, at)
    const kind = readChoice(part['type'], ['text', 'refusal'], `${at}.type`)
    const text = readText(part[kind], `${at}.${kind}`)
    if (text !== '') parts.push({ kind, text })
  }
  return parts
}

function readToolCall(call: Fields, path: string): AssistantPart {
  readOptionalChoice(call['type'], ['function'], `${path}.type`)
  const target = readObject(call['function'], `${path}.function`)
  const signature = readThoughtSignature(call)
  return {
    kind: 'tool_call',
    id: readName(call['id'], `${path}.id`),
    name: readName(target['name'], `${path}.function.name`),
    input: readArguments(target['arguments'], `${path}.function.arguments`),
    ...(signature !== undefined && { signature }),
  }
}

function readArguments(value: unknown, path: string): Fields {
  const text = readOptionalText(value, path) ?? ''
  if (text.trim() === '') return {}
  const hint = 'Send the arguments as the model wrote them.'
  let input: unknown
  try {
    input = JSON.parse(text)
  } catch {
    refuse(path, 'is not valid JSON', hint)
  }
  if (!isObject(input)) refuse(path, 'must be a JSON object', hint)
  limitDepth(input, path)
  return input
}

/** Google's proof of its own reasoning, in the place where Google's OpenAI-compatible endpoint puts it. */
function readThoughtSignature(call: Fields): string | undefined {
  const extra = call['extra_content']
  const google = isObject(extra) ? extra['google'] : undefined
  const signature = isObject(google) ? google['thought_signature'] : undefined
  return typeof signature === 'string' && signature !== '' ? signature : undefined
}
