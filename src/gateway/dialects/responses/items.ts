// Reads `input`: a text, or items of all kinds in a row. Items of the model that stand together are one turn, as
// providers want the results of calls directly after the turn that made them.

import {
  type Fields,
  isAbsent,
  isObject,
  readArray,
  readChoice,
  readName,
  readObject,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'
import type { AssistantPart, UserPart } from '../chat-types.ts'
import { addInstructions, type Conversation } from '../conversation.ts'
import { readArguments } from '../openai/messages.ts'
import { readAnswer, readContent, readTexts } from './parts.ts'
import type { ReasoningSeal } from './sealed-reasoning.ts'
import { upstreamName } from './tools.ts'

const MAX_ITEMS = 10_000
const ROLES = ['user', 'assistant', 'system', 'developer'] as const

export type InputContext = {
  seal: Pick<ReasoningSeal, 'open'>
  /** The model that is asked; thoughts of others are left out. */
  sealed_for: string
}

export type Input = Conversation & {
  /** Tools that stand in the input. */
  tool_lists: { value: unknown; path: string }[]
}

type Reading = Input & {
  call_ids: Set<string>
  /** By the ids of the calls that they prove. */
  proofs: Map<string, string>
}

export function readInput(value: unknown, context: InputContext): Input {
  // An empty text asks nothing, as no input does; instructions alone may still be answered.
  if (value === '') return { system: [], messages: [], tool_lists: [] }
  if (typeof value === 'string') {
    const content: UserPart[] = [{ kind: 'text', text: value }]
    return { system: [], messages: [{ role: 'user', content }], tool_lists: [] }
  }
  const items = readArray(value, 'input', MAX_ITEMS)
  if (items.length === 0) refuse('input', 'must not be empty', 'Send a text, or at least one item.')
  const reading: Reading = {
    system: [],
    messages: [],
    tool_lists: [],
    call_ids: new Set(),
    proofs: new Map(),
  }
  for (const [index, entry] of items.entries()) {
    const path = `input[${index}]`
    addItem(reading, { item: readObject(entry, path), path }, context)
  }
  signCalls(reading)
  return reading
}

/** OpenAI takes it without its type, too. */
export function isReference(item: unknown): item is Fields & { id: string } {
  if (!isObject(item) || typeof item['id'] !== 'string') return false
  return item['type'] === 'item_reference' || (isAbsent(item['type']) && isAbsent(item['role']))
}

/** Clients that did not ask for its content send a thought back like this. */
export function isBareReasoning(item: unknown): item is Fields & { id: string } {
  if (!isObject(item) || item['type'] !== 'reasoning') return false
  return typeof item['id'] === 'string' && isAbsent(item['encrypted_content'])
}

/** The same whether it is another's, expired or invented. */
export function refuseReference(id: string, path: string): never {
  refuse(
    path,
    `refers to ${JSON.stringify(id.slice(0, 64))}, which is not kept here`,
    'Send the item itself. Clients do with `store: false`; with the AI SDK `providerOptions.openai.store = false`.',
  )
}

type Given = { item: Fields; path: string }

function addItem(reading: Reading, given: Given, context: InputContext): void {
  const { item, path } = given
  if (isReference(item)) refuseReference(item.id, path)
  switch (item['type'] ?? 'message') {
    case 'message':
      return addMessage(reading, given)
    case 'function_call':
      return addCall(reading, given, readArguments(item['arguments'], `${path}.arguments`))
    case 'custom_tool_call':
      return addCall(reading, given, { input: readText(item['input'], `${path}.input`) })
    case 'function_call_output':
    case 'custom_tool_call_output':
      return addResult(reading, given)
    case 'reasoning':
      return addReasoning(reading, given, context)
    case 'additional_tools':
      reading.tool_lists.push({ value: item['tools'], path: `${path}.tools` })
      return
    default:
      refuse(
        `${path}.type`,
        `${describeType(item['type'])} is not supported`,
        'Send messages, function and custom calls with their outputs, reasoning, and references.',
      )
  }
}

function describeType(type: unknown): string {
  return typeof type === 'string' ? JSON.stringify(type.slice(0, 64)) : 'of this kind'
}

function addMessage(reading: Reading, { item, path }: Given): void {
  const role = readChoice(item['role'], ROLES, `${path}.role`)
  const at = `${path}.content`
  if (role === 'assistant') {
    return addParts(reading, withPhase(readAnswer(item['content'], at), item['phase']))
  }
  if (role !== 'user') return addInstructions(reading, readTexts(item['content'], at))
  const content: UserPart[] = readContent(item['content'], at)
  // Whoever says nothing still has the word.
  const said: UserPart[] = content.length > 0 ? content : [{ kind: 'text', text: '' }]
  reading.messages.push({ role, content: said })
}

/** OpenAI's models want to hear again which of their messages were the answer. */
function withPhase(parts: readonly AssistantPart[], phase: unknown): readonly AssistantPart[] {
  if (phase !== 'commentary' && phase !== 'final_answer') return parts
  return parts.map((part) => (part.kind === 'text' ? { ...part, phase } : part))
}

function addParts({ messages }: Reading, parts: readonly AssistantPart[]): void {
  const last = messages.at(-1)
  if (parts.length === 0) return
  if (last?.role === 'assistant') for (const part of parts) last.content.push(part)
  else messages.push({ role: 'assistant', content: [...parts] })
}

function addCall(reading: Reading, { item, path }: Given, input: Fields): void {
  const id = readName(item['call_id'], `${path}.call_id`)
  const name = readName(item['name'], `${path}.name`)
  const namespace = readOptionalText(item['namespace'], `${path}.namespace`)
  reading.call_ids.add(id)
  addParts(reading, [{ kind: 'tool_call', id, name: upstreamName(name, namespace), input }])
}

function addResult({ messages, call_ids }: Reading, { item, path }: Given): void {
  const call_id = readName(item['call_id'], `${path}.call_id`)
  if (!call_ids.has(call_id)) {
    refuse(
      `${path}.call_id`,
      'answers no call of an earlier item',
      'Send the item with the call before its output.',
    )
  }
  const content = readContent(item['output'], `${path}.output`)
  const result: UserPart = { kind: 'tool_result', call_id, content }
  const last = messages.at(-1)
  // Providers want all results of one turn together.
  if (last?.role === 'user' && last.content.at(-1)?.kind === 'tool_result') {
    last.content.push(result)
  } else messages.push({ role: 'user', content: [result] })
}

/**
 * Without its proof no provider reads a thought, and only the model that had it reads its proof. Where the client sent
 * none and the thought was kept, its proof stands here already.
 */
function addReasoning(reading: Reading, { item, path }: Given, context: InputContext): void {
  const sealed = readOptionalText(item['encrypted_content'], `${path}.encrypted_content`)
  const opened = sealed === undefined ? undefined : context.seal.open(sealed)
  if (opened?.sealed_for !== context.sealed_for) return
  const { thoughts, call_signatures, text_signature: signature } = opened
  addParts(reading, thoughts)
  if (signature !== undefined) addParts(reading, [{ kind: 'text', text: '', signature }])
  for (const [id, proof] of Object.entries(call_signatures)) reading.proofs.set(id, proof)
}

function signCalls({ messages, proofs }: Reading): void {
  if (proofs.size === 0) return
  for (const { content } of messages) {
    for (const part of content) {
      const proof = part.kind === 'tool_call' ? proofs.get(part.id) : undefined
      if (part.kind === 'tool_call' && proof !== undefined) part.signature = proof
    }
  }
}
