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
import type { AssistantPart, UserPart } from '../chat-types.ts'
import { addInstructions, type Conversation } from '../conversation.ts'
import { cacheOf, markLast, readAssistantContent, readTexts, readUserContent } from './parts.ts'
import { readThoughts } from './thoughts.ts'

const MAX_MESSAGES = 10_000
const MAX_CALLS = 256

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const

type Reading = Conversation & { call_ids: Set<string>; last_role: string }

export function parseMessages(value: unknown): Conversation {
  const list = readArray(value, 'messages', MAX_MESSAGES)
  if (list.length === 0) refuse('messages', 'must not be empty', 'Send at least one message.')
  const reading: Reading = {
    system: [],
    messages: [],
    call_ids: new Set(),
    last_role: '',
  }
  for (const [index, entry] of list.entries()) {
    const path = `messages[${index}]`
    const message = readObject(entry, path)
    const role = readChoice(message['role'], ROLES, `${path}.role`)
    addMessage(reading, { role, message, path })
    reading.last_role = role
  }
  return withSomebodySpeaking(reading)
}

type RoleMessage = { role: (typeof ROLES)[number]; message: Fields; path: string }

function addMessage(reading: Reading, { role, message, path }: RoleMessage): void {
  const { cache } = cacheOf(message, path)
  switch (role) {
    case 'system':
    case 'developer': {
      const texts = readTexts(message['content'], `${path}.content`)
      if (cache) markLast(texts, cache)
      addInstructions(reading, texts)
      return
    }
    case 'user': {
      const content = readUserContent(message['content'], path)
      if (cache) markLast(content, cache)
      reading.messages.push({ role: 'user', content })
      return
    }
    case 'assistant': {
      const content = readAssistant(message, path)
      if (cache) markLast(content, cache)
      for (const part of content) if (part.kind === 'tool_call') reading.call_ids.add(part.id)
      if (content.length > 0) reading.messages.push({ role: 'assistant', content })
      return
    }
    case 'tool':
      addToolResult(reading, message, path)
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
  const texts = readTexts(message['content'], `${path}.content`)
  // A cache can end after a result, not within it.
  const cache = cacheOf(message, path).cache ?? texts.findLast((text) => text.cache)?.cache
  const content = texts.map(({ kind, text }) => ({ kind, text }))
  const result: UserPart = { kind: 'tool_result', call_id, content, ...(cache && { cache }) }
  const last = reading.messages.at(-1)
  // Providers want all results of one turn together.
  if (reading.last_role === 'tool' && last?.role === 'user') last.content.push(result)
  else reading.messages.push({ role: 'user', content: [result] })
}

/** OpenAI answers a conversation of instructions alone; the others need somebody who speaks. */
function withSomebodySpeaking({ system, messages }: Conversation): Conversation {
  if (messages.length > 0) return { system, messages }
  if (system.length > 0) {
    return { system: [], messages: [{ role: 'user', content: system }] }
  }
  return refuse('messages', 'must hold some content', 'Send at least one message with text.')
}

function readAssistant(message: Fields, path: string): AssistantPart[] {
  if (!isAbsent(message['audio'])) refuse(`${path}.audio`, 'is not supported')
  const content = readAssistantContent(message['content'], `${path}.content`)
  const parts: AssistantPart[] = [...readThoughts(message['reasoning_details']), ...content]
  const signature = readThoughtSignature(message)
  if (signature !== undefined) parts.push({ kind: 'text', text: '', signature })
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

function readToolCall(call: Fields, path: string): AssistantPart {
  const type = readOptionalChoice(call['type'], ['function', 'custom'], `${path}.type`)
  const id = readName(call['id'], `${path}.id`)
  if (type === 'custom') {
    const at = `${path}.custom`
    const target = readObject(call['custom'], at)
    const input = { input: readText(target['input'], `${at}.input`) }
    return { kind: 'tool_call', id, name: readName(target['name'], `${at}.name`), input }
  }
  const target = readObject(call['function'], `${path}.function`)
  const signature = readThoughtSignature(call)
  return {
    kind: 'tool_call',
    id,
    name: readName(target['name'], `${path}.function.name`),
    input: readArguments(target['arguments'], `${path}.function.arguments`),
    ...(signature !== undefined && { signature }),
  }
}

/** Of a call that a model made, as JSON text. */
export function readArguments(value: unknown, path: string): Fields {
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
function readThoughtSignature(signed: Fields): string | undefined {
  const extra = signed['extra_content']
  const google = isObject(extra) ? extra['google'] : undefined
  const signature = isObject(google) ? google['thought_signature'] : undefined
  return typeof signature === 'string' && signature !== '' ? signature : undefined
}
