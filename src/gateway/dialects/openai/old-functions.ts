// `functions` and `function_call`, with which tools began: rewritten as tools before anything else reads the body.
// Calls had no ids then, so they are given some, and nobody had to answer them.

import { type Fields, isAbsent, isObject, readArray, readName, refuse } from '../body-fields.ts'
import { MAX_TOOLS } from './tools.ts'

export type Modernised = {
  fields: Fields
  /** Whether the answer is expected in the old form. */
  is_old: boolean
}

export function modernise(fields: Fields): Modernised {
  const { functions, function_call, ...rest } = fields
  const messages = { messages: modernMessages(fields['messages']) }
  const offered = isAbsent(functions) ? [] : readArray(functions, 'functions', MAX_TOOLS)
  if (offered.length === 0) {
    if (function_call === 'auto' || function_call === 'none' || isAbsent(function_call)) {
      return { fields: { ...rest, ...messages }, is_old: false }
    }
    refuse('function_call', 'needs `functions`', 'Send the functions the model may call.')
  }
  if (!isAbsent(rest['tools'])) refuse('functions', 'cannot be sent beside `tools`')
  const tools = offered.map((definition) => ({ type: 'function', function: definition }))
  const tool_choice = choiceOf(function_call)
  return {
    fields: { ...rest, ...messages, tools, ...(tool_choice !== undefined && { tool_choice }) },
    is_old: true,
  }
}

function choiceOf(value: unknown): unknown {
  if (isAbsent(value)) return undefined
  if (value === 'auto' || value === 'none') return value
  if (!isObject(value)) refuse('function_call', 'must be auto, none or an object with a `name`')
  return { type: 'function', function: { name: readName(value['name'], 'function_call.name') } }
}

/** The same list where there is nothing old in it. Whatever is no message is left to the reader of messages. */
function modernMessages(messages: unknown): unknown {
  if (!Array.isArray(messages) || !messages.some(isOld)) return messages
  const modern: unknown[] = []
  let open_call: string | undefined
  for (const [index, message] of messages.entries()) {
    const answers = isObject(message) && message['role'] === 'function'
    if (open_call !== undefined) {
      modern.push(resultOf(open_call, answers ? message['content'] : ''))
      open_call = undefined
    } else if (answers) {
      refuse(
        `messages[${index}]`,
        'answers no function call of the message before it',
        'Send the assistant message with its `function_call` first.',
      )
    }
    if (answers) continue
    if (isObject(message) && isOld(message)) open_call = `call_${index}`
    modern.push(modernMessage(message, open_call))
  }
  if (open_call !== undefined) modern.push(resultOf(open_call, ''))
  return modern
}

function isOld(message: unknown): boolean {
  if (!isObject(message)) return false
  if (message['role'] === 'function') return true
  return message['role'] === 'assistant' && !isAbsent(message['function_call'])
}

function modernMessage(message: unknown, call_id: string | undefined): unknown {
  if (!isObject(message) || call_id === undefined) return message
  const { function_call, ...rest } = message
  return { ...rest, tool_calls: [{ id: call_id, type: 'function', function: function_call }] }
}

function resultOf(tool_call_id: string, content: unknown): Fields {
  return { role: 'tool', tool_call_id, content: content ?? '' }
}
