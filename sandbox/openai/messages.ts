// The messages of a chat request: checked as OpenAI checks them, rendered into the text whose tokens
// are counted, and read for what the user asked last.

import type { Conversation } from '../directives.ts'
import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { base64Bytes, countPages, guessSeconds, mediaFiller, readDataUrl } from '../media.ts'
import { badRequest, type OpenaiError } from './errors.ts'
import type { OpenaiModel } from './models.ts'

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']
const PARTS: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
  function: ['text'],
}
const AUDIO_TOKENS_PER_SECOND = 10
const PAGE_TOKENS = 765

export function checkMessages(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  const messages = listOf(body['messages'])
  if (messages.length === 0) {
    const message =
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return badRequest(message, 'messages', 'empty_array')
  }
  const errors = messages.map((message, index) =>
    checkMessage(message, `messages[${index}]`, model),
  )
  return errors.find((error) => error !== undefined) ?? checkToolTurns(messages.map(objectOf))
}

export function renderPrompt(body: JsonObject, model: OpenaiModel): string {
  const format = objectOf(body['response_format'])
  const offered = body['tools'] ?? body['functions']
  const tools = isAbsent(offered) ? '' : `tools\n${JSON.stringify(offered)}\n\n`
  const schema = format['type'] === 'json_schema' ? `format\n${JSON.stringify(format)}\n\n` : ''
  const messages = listOf(body['messages']).map(objectOf)
  return tools + schema + messages.map((message) => renderMessage(message, model)).join('')
}

export function readConversation(body: JsonObject): Conversation {
  const messages = listOf(body['messages']).map(objectOf)
  const asked = messages.findLast((message) => message['role'] === 'user')
  const last_other = messages.findLastIndex((message) => !isResult(message))
  const results = messages.slice(last_other + 1).map((message) => readText(message['content']))
  return { asked: readText(asked?.['content']), results, results_follow: true }
}

function isResult({ role }: JsonObject): boolean {
  return role === 'tool' || role === 'function'
}

function checkMessage(message: unknown, path: string, model: OpenaiModel): OpenaiError | undefined {
  const role = textOf(objectOf(message)['role'])
  if (!isObject(message) || !ROLES.includes(role)) {
    const text = `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`
    return badRequest(text, `${path}.role`, 'invalid_value')
  }
  const content = message['content']
  const optional = role === 'assistant' && !isAbsent(message['tool_calls'] ?? message['refusal'])
  if (isAbsent(content)) {
    if (optional || !isAbsent(message['function_call'])) return undefined
    const text = `Invalid value for 'content': expected a string, got null.`
    return badRequest(text, `messages.${path.slice(8)}.content`, null)
  }
  if (role === 'tool' && textOf(message['tool_call_id']) === '') {
    const param = `${path}.tool_call_id`
    return badRequest(
      `Missing required parameter: '${param}'.`,
      param,
      'missing_required_parameter',
    )
  }
  if (role === 'function' && textOf(message['name']) === '') {
    const param = `${path}.name`
    return badRequest(
      `Missing required parameter: '${param}'.`,
      param,
      'missing_required_parameter',
    )
  }
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) {
    const text = `Invalid type for '${path}.content': expected one of a string or array of objects.`
    return badRequest(text, `${path}.content`, 'invalid_type')
  }
  const errors = content.map((part: unknown, index) => {
    return checkPart(objectOf(part), { path: `${path}.content[${index}]`, role, model })
  })
  return errors.find((error) => error !== undefined)
}

type Place = { path: string; role: string; model: OpenaiModel }

function checkPart(part: JsonObject, { path, role, model }: Place): OpenaiError | undefined {
  const type = textOf(part['type'])
  if (PARTS[role]?.includes(type) !== true) {
    const allowed = (PARTS[role] ?? []).map((name) => `'${name}'`).join(', ')
    const text = `Invalid value: '${type}'. Supported values are: ${allowed}.`
    return badRequest(text, `${path}.type`, 'invalid_value')
  }
  if (isAbsent(part[type])) {
    const param = `${path}.${type}`
    return badRequest(
      `Missing required parameter: '${param}'.`,
      param,
      'missing_required_parameter',
    )
  }
  if (type !== 'image_url') return undefined
  if (!model.sees_images) {
    const text = 'Invalid content type. image_url is only supported by certain models.'
    return badRequest(text, path, null)
  }
  const url = textOf(objectOf(part['image_url'])['url'])
  if (/^https?:\/\//.test(url) || readDataUrl(url)?.type.startsWith('image/') === true) {
    return undefined
  }
  const text = `Invalid '${path}.image_url.url'. Expected a base64-encoded data URL with an image MIME type, or a web address.`
  return badRequest(text, `${path}.image_url.url`, 'invalid_value')
}

/** Every tool call is answered directly after it, and every tool message answers one. */
function checkToolTurns(messages: readonly JsonObject[]): OpenaiError | undefined {
  let open: string[] = []
  for (const [index, message] of messages.entries()) {
    const param = `messages.[${index}].role`
    if (message['role'] === 'tool') {
      const id = textOf(message['tool_call_id'])
      if (!open.includes(id)) {
        const text =
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
        return badRequest(text, param, null)
      }
      open = open.filter((other) => other !== id)
    } else if (open.length > 0) {
      return badRequest(unanswered(open), param, null)
    } else {
      open = listOf(message['tool_calls']).map((call) => textOf(objectOf(call)['id']))
    }
  }
  return open.length > 0 ? badRequest(unanswered(open), 'messages', null) : undefined
}

function unanswered(ids: readonly string[]): string {
  return `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`
}

function renderMessage(message: JsonObject, model: OpenaiModel): string {
  const content = message['content']
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content)
  const rendered = parts.map((part) => renderPart(objectOf(part), model)).join('\n')
  const called = message['tool_calls'] ?? message['function_call']
  const calls = isAbsent(called) ? '' : JSON.stringify(called)
  return `${textOf(message['role'])}\n${rendered}${calls}\n\n`
}

function renderPart(part: JsonObject, model: OpenaiModel): string {
  if (part['type'] === 'image_url') {
    const image = objectOf(part['image_url'])
    const [low, high] = model.image_tokens
    return mediaFiller(textOf(image['url']), image['detail'] === 'low' ? low : high)
  }
  if (part['type'] === 'input_audio') {
    const data = textOf(objectOf(part['input_audio'])['data'])
    const seconds = Math.ceil(guessSeconds(base64Bytes(data)))
    return mediaFiller(data, seconds * AUDIO_TOKENS_PER_SECOND)
  }
  if (part['type'] === 'file') {
    const file = objectOf(part['file'])
    const data = readDataUrl(textOf(file['file_data']))?.data ?? ''
    return mediaFiller(data + textOf(file['file_id']), countPages(data) * PAGE_TOKENS)
  }
  return textOf(part['text'] ?? part['refusal'])
}

function readText(content: unknown): string {
  if (typeof content === 'string') return content
  return listOf(content)
    .map((part) => textOf(objectOf(part)['text']))
    .join('\n')
}
