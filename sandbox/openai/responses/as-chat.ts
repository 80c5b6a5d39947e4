// A Responses request as the chat request that says the same. A model reads the same prompt whichever
// way it came, so both count the same tokens, find the same cache and give the same answer.

import { isAbsent, type JsonObject, listOf, objectOf, textOf } from '../../json.ts'
import { mediaFiller } from '../../media.ts'
import { unsealReasoning } from './sealed-reasoning.ts'
import { listTools } from './tools.ts'

export function asChat(body: JsonObject, items: readonly JsonObject[]): JsonObject {
  const tools = listTools(body, items).map((tool) => chatTool(objectOf(tool)))
  const format = chatFormat(objectOf(objectOf(body['text'])['format']))
  const instructions = textOf(body['instructions'])
  const system = instructions === '' ? [] : [{ role: 'system', content: instructions }]
  return {
    ...(tools.length > 0 && { tools }),
    ...(format !== undefined && { response_format: format }),
    messages: [...system, ...chatMessages(items)],
  }
}

function chatTool({ type, format, ...definition }: JsonObject): JsonObject {
  if (type === 'function') return { type, function: definition }
  if (type !== 'custom') return { type, ...definition }
  const { type: kind, ...grammar } = objectOf(format)
  const nested = kind === 'grammar' ? { type: kind, grammar } : format
  return { type, custom: { ...definition, ...(!isAbsent(format) && { format: nested }) } }
}

function chatFormat({ type, ...schema }: JsonObject): JsonObject | undefined {
  if (isAbsent(type) || type === 'text') return undefined
  return type === 'json_schema' ? { type, json_schema: schema } : { type }
}

type AssistantTurn = { role: 'assistant'; content: JsonObject[]; tool_calls?: JsonObject[] }

/** The model's own items up to the next item of somebody else are one message. */
function chatMessages(items: readonly JsonObject[]): JsonObject[] {
  const messages: JsonObject[] = []
  let turn: AssistantTurn | undefined
  const asked = items.findLastIndex((item) => item['role'] === 'user')
  for (const [index, item] of items.entries()) {
    if (item['type'] === 'additional_tools') continue
    const other = otherMessage(item)
    if (other !== undefined) {
      turn = undefined
      messages.push(other)
      continue
    }
    if (turn === undefined) {
      turn = { role: 'assistant', content: [] }
      messages.push(turn)
    }
    // The model has forgotten what it thought before the latest question.
    if (item['type'] !== 'reasoning' || index > asked) addToTurn(turn, item)
  }
  return messages
}

function otherMessage(item: JsonObject): JsonObject | undefined {
  const type = textOf(item['type'])
  if (type === 'message' && item['role'] !== 'assistant') {
    return { role: item['role'], content: chatContent(item['content']) }
  }
  if (!type.endsWith('_output')) return undefined
  const content = chatContent(item['output'])
  return { role: 'tool', tool_call_id: item['call_id'], content }
}

function addToTurn(turn: AssistantTurn, item: JsonObject): void {
  const { type, call_id: id, name } = item
  if (type === 'reasoning') {
    const tokens = unsealReasoning(textOf(item['encrypted_content']))?.tokens ?? 0
    // Not the sealed content: it differs from call to call, and so would the answer.
    turn.content.push({ type: 'text', text: mediaFiller('reasoning', tokens) })
  } else if (type === 'function_call') {
    const call = { id, type: 'function', function: { name, arguments: item['arguments'] } }
    turn.tool_calls = [...(turn.tool_calls ?? []), call]
  } else if (type === 'custom_tool_call') {
    const call = { id, type: 'custom', custom: { name, input: item['input'] } }
    turn.tool_calls = [...(turn.tool_calls ?? []), call]
  } else {
    const content = chatContent(item['content'])
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content
    turn.content.push(...parts)
  }
}

function chatContent(content: unknown): string | JsonObject[] {
  if (typeof content === 'string') return content
  return listOf(content).map((part) => chatPart(objectOf(part)))
}

function chatPart(part: JsonObject): JsonObject {
  switch (part['type']) {
    case 'input_image':
      return { type: 'image_url', image_url: { url: part['image_url'], detail: part['detail'] } }
    case 'input_file':
      return { type: 'file', file: { file_data: part['file_data'], filename: part['filename'] } }
    case 'refusal':
      return { type: 'refusal', refusal: part['refusal'] }
    default:
      return { type: 'text', text: part['text'] }
  }
}
