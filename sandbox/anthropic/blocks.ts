// The content blocks that Anthropic takes: which fields each has, and who may send it.

import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf, wordList } from '../json.ts'
import { digest } from '../random.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'

type Shape = { required: readonly string[]; optional: readonly string[]; role?: string }

const SHAPES: Readonly<Record<string, Shape>> = {
  text: { required: ['text'], optional: ['citations', 'cache_control'] },
  image: { required: ['source'], optional: ['cache_control'] },
  document: { required: ['source'], optional: ['title', 'context', 'citations', 'cache_control'] },
  search_result: {
    required: ['content', 'source', 'title'],
    optional: ['citations', 'cache_control'],
  },
  tool_use: {
    required: ['id', 'name', 'input'],
    optional: ['cache_control', 'caller'],
    role: 'assistant',
  },
  tool_result: {
    required: ['tool_use_id'],
    optional: ['content', 'is_error', 'cache_control'],
    role: 'user',
  },
  thinking: { required: ['thinking', 'signature'], optional: [], role: 'assistant' },
  redacted_thinking: { required: ['data'], optional: [], role: 'assistant' },
}
// Blocks of tools that run at Anthropic. They are taken as they come; nothing here makes them.
const SERVER_BLOCKS = wordList(`
  server_tool_use web_search_tool_result web_fetch_tool_result container_upload
  code_execution_tool_result bash_code_execution_tool_result tool_search_tool_result
  text_editor_code_execution_tool_result
`)
const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']
const IN_RESULTS = ['text', 'image', 'document', 'search_result']
const ID = /^[a-zA-Z0-9_-]+$/

export function checkBlock(block: unknown, path: string, role: string): AnthropicError | undefined {
  if (!isObject(block)) return invalid(`${path}: Input should be an object`)
  const type = textOf(block['type'])
  const shape = SHAPES[type]
  if (SERVER_BLOCKS.includes(type)) return undefined
  if (shape === undefined) {
    const tags = Object.keys(SHAPES).map((name) => `'${name}'`)
    return invalid(
      `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags.join(', ')}`,
    )
  }
  const place = `${path}.${type}`
  const absent = shape.required.find((name) => isAbsent(block[name]))
  if (absent !== undefined) return missing(`${place}.${absent}`)
  const known = ['type', ...shape.required, ...shape.optional]
  const unknown = Object.keys(block).find((name) => !known.includes(name))
  if (unknown !== undefined) return extra(`${place}.${unknown}`)
  if (shape.role !== undefined && shape.role !== role) {
    const turn = path.split('.').slice(0, 2).join('.')
    return invalid(`${turn}: \`${type}\` blocks can only be in \`${shape.role}\` messages`)
  }
  return checkContent(block, type, place)
}

/** Thinking comes back signed, and has to: a changed or invented block is refused. */
export function signThinking(thinking: string): string {
  return Buffer.from(`sandbox-signature:${digest(thinking)}${digest(`2${thinking}`)}`).toString(
    'base64',
  )
}

function checkContent(block: JsonObject, type: string, place: string): AnthropicError | undefined {
  switch (type) {
    case 'text':
      return checkText(block['text'], place)
    case 'image':
      return checkSource(objectOf(block['source']), place, IMAGE_TYPES)
    case 'document':
      return checkSource(objectOf(block['source']), place, ['application/pdf'])
    case 'tool_use':
      return checkToolUse(block, place)
    case 'tool_result':
      return checkToolResult(block, place)
    case 'thinking':
      return checkSignature(block, place)
    default:
      return undefined
  }
}

function checkText(text: unknown, place: string): AnthropicError | undefined {
  if (typeof text !== 'string') return invalid(`${place}.text: Input should be a valid string`)
  if (text === '') return invalid('messages: text content blocks must be non-empty')
  if (text.trim() !== '') return undefined
  return invalid('messages: text content blocks must contain non-whitespace text')
}

function checkSource(
  source: JsonObject,
  place: string,
  media_types: readonly string[],
): AnthropicError | undefined {
  const type = textOf(source['type'])
  const fields: Readonly<Record<string, string>> = {
    base64: 'data',
    url: 'url',
    file: 'file_id',
    text: 'data',
    content: 'content',
  }
  const field = fields[type]
  if (field === undefined) {
    return invalid(
      `${place}.source: Input tag '${type}' found using 'type' does not match any of the expected tags: 'base64', 'url', 'file'`,
    )
  }
  if (isAbsent(source[field])) return missing(`${place}.source.${type}.${field}`)
  if (type !== 'base64') return undefined
  if (!media_types.includes(textOf(source['media_type']))) {
    const names = media_types.map((name) => `'${name}'`).join(', ')
    return invalid(`${place}.source.base64.media_type: Input should be ${names}`)
  }
  if (/^[A-Za-z0-9+/]+={0,2}$/.test(textOf(source['data']))) return undefined
  return invalid(`${place}.source.base64.data: Invalid base64 data`)
}

function checkToolUse(block: JsonObject, place: string): AnthropicError | undefined {
  if (!ID.test(textOf(block['id']))) {
    return invalid(`${place}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`)
  }
  if (isObject(block['input'])) return undefined
  return invalid(`${place}.input: Input should be a valid dictionary`)
}

function checkToolResult(block: JsonObject, place: string): AnthropicError | undefined {
  const content = block['content']
  if (isAbsent(content) || typeof content === 'string') return undefined
  const errors = listOf(content).map((part, index) => {
    const type = textOf(objectOf(part)['type'])
    if (IN_RESULTS.includes(type)) return checkBlock(part, `${place}.content.${index}`, 'user')
    return invalid(`${place}.content.${index}: Input tag '${type}' is not allowed in tool results`)
  })
  return errors.find((error) => error !== undefined)
}

function checkSignature(block: JsonObject, place: string): AnthropicError | undefined {
  if (block['signature'] === signThinking(textOf(block['thinking']))) return undefined
  const path = place.slice(0, -'.thinking'.length)
  return invalid(`${path}: Invalid \`signature\` in \`thinking\` block`)
}
