// A conversation in items of the Responses API: one for each message, call, result and thought.

import type { AssistantPart, MediaSource, UserPart } from '../../dialects/chat-types.ts'
import { readReasoning } from '../../dialects/openai-reasoning.ts'
import { refuse } from '../capabilities.ts'
import type { Asked } from '../contract.ts'
import { instructionsOf } from '../instructions.ts'
import { given, type JsonRecord, recordOf, textOf } from '../json-values.ts'
import { fitToolId } from '../tool-names.ts'
import type { ToolTerms } from './tools.ts'

const MAX_CALL_ID = 64

type Part<Kind extends AssistantPart['kind']> = Extract<AssistantPart, { kind: Kind }>
type ItemTerms = ToolTerms & {
  upstream_id: string
  /** Calls of tools that take free text: their results have a kind of their own. */
  text_calls: Set<string>
}

export function inputItems({ request, model }: Asked, tools: ToolTerms): JsonRecord[] {
  const terms = { ...tools, upstream_id: model.upstream_id, text_calls: new Set<string>() }
  const system = request.system.filter((part) => part.text !== '')
  return [
    ...(system.length > 0 ? [message('developer', system.map(textPart))] : []),
    ...request.messages.flatMap(({ role, content }) =>
      role === 'assistant' ? assistantItems(content, terms) : userItems(content, terms),
    ),
  ]
}

function message(role: string, content: readonly JsonRecord[], phase?: string): JsonRecord {
  return given({ type: 'message', role, content, phase })
}

/** Results come first: what a client says beside them follows. */
function userItems(parts: readonly UserPart[], terms: ItemTerms): JsonRecord[] {
  const instructions = instructionsOf(parts)
  if (instructions) return [message('developer', instructions.map(textPart))]
  const results = parts.filter((part) => part.kind === 'tool_result')
  const content = parts.flatMap((part) => (part.kind === 'tool_result' ? [] : userParts(part)))
  return [
    ...results.map((result) => resultItem(result, terms)),
    ...(content.length > 0 ? [message('user', content)] : []),
  ]
}

type ToolResult = Extract<UserPart, { kind: 'tool_result' }>

function resultItem({ call_id, content }: ToolResult, { text_calls }: ItemTerms): JsonRecord {
  const is_text = content.every((part) => part.kind === 'text')
  return {
    type: text_calls.has(call_id) ? 'custom_tool_call_output' : 'function_call_output',
    call_id: fitToolId(call_id, MAX_CALL_ID),
    output: is_text ? content.map((part) => part.text).join('') : content.flatMap(userParts),
  }
}

function userParts(part: Exclude<UserPart, ToolResult>): JsonRecord[] {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? [] : [textPart(part)]
    case 'image': {
      const { source, detail = 'auto' } = part
      return [{ type: 'input_image', image_url: urlOf(source), detail }]
    }
    case 'file':
      return [filePart(part)]
    case 'audio':
      throw refuse('This model does not take audio.')
  }
}

function filePart({ source, name }: Extract<UserPart, { kind: 'file' }>): JsonRecord {
  if (source.kind === 'url') return { type: 'input_file', file_url: source.url }
  return { type: 'input_file', filename: name ?? 'document.pdf', file_data: urlOf(source) }
}

function textPart({ text }: { text: string }): JsonRecord {
  return { type: 'input_text', text }
}

function urlOf(source: MediaSource): string {
  return source.kind === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`
}

/** In their order: a thought belongs to what follows it, and alone it is refused. */
function assistantItems(parts: readonly AssistantPart[], terms: ItemTerms): JsonRecord[] {
  const items = parts.flatMap((part) => assistantItem(part, terms))
  const last = items.findLastIndex((item) => item['type'] !== 'reasoning')
  return items.slice(0, last + 1)
}

function assistantItem(part: AssistantPart, terms: ItemTerms): JsonRecord[] {
  switch (part.kind) {
    case 'text': {
      const { text } = part
      return text === '' ? [] : [message('assistant', [{ type: 'output_text', text }], part.phase)]
    }
    case 'refusal':
      return [message('assistant', [{ type: 'refusal', refusal: part.text }])]
    case 'thinking':
      return reasoningItem(part, terms)
    case 'redacted_thinking':
      return []
    case 'tool_call':
      return [callItem(part, terms)]
  }
}

/** Thoughts of another model mean nothing here. */
function reasoningItem({ text, signature }: Part<'thinking'>, terms: ItemTerms): JsonRecord[] {
  const reasoning = readReasoning(signature)
  if (reasoning?.upstream_id !== terms.upstream_id) return []
  const { id, encrypted_content } = reasoning
  const summary = text === '' ? [] : [{ type: 'summary_text', text }]
  return [{ type: 'reasoning', id, summary, encrypted_content }]
}

function callItem({ id, name, input }: Part<'tool_call'>, terms: ItemTerms): JsonRecord {
  const call = { call_id: fitToolId(id, MAX_CALL_ID), name: terms.names.toProvider(name) }
  if (terms.free_text.has(name)) {
    terms.text_calls.add(id)
    return { type: 'custom_tool_call', ...call, input: textOf(recordOf(input)['input']) }
  }
  // A later result of the same id is one of this call.
  terms.text_calls.delete(id)
  return { type: 'function_call', ...call, arguments: JSON.stringify(input ?? {}) }
}
