// The input items of a Responses request as a conversation: references are looked up, what came
// before is put in front, and calls, outputs and reasoning are checked to belong together.

import { isAbsent, type JsonObject, textOf } from '../../json.ts'
import { badRequest, type OpenaiError } from '../errors.ts'
import { readItems } from './items.ts'
import { checkSealed } from './sealed-reasoning.ts'
import type { StoredResponses } from './store.ts'

const CALLS: Readonly<Record<string, string>> = {
  function_call: 'function call',
  custom_tool_call: 'custom tool call',
}
/** What a model can have written after it reasoned. */
const WRITTEN = ['reasoning', 'function_call', 'custom_tool_call']

export type Memory = { stored: StoredResponses; key: string }

/** All items of the conversation, oldest first; or what cannot be found. */
export function resolveItems(
  body: JsonObject,
  { stored, key }: Memory,
): readonly JsonObject[] | OpenaiError {
  const previous = textOf(body['previous_response_id'])
  const before = previous === '' ? [] : stored.conversations.get(`${key}/${previous}`)
  if (before === undefined) {
    const message = `Previous response with id '${previous}' not found.`
    return badRequest(message, 'previous_response_id', 'previous_response_not_found')
  }
  const items: JsonObject[] = [...before]
  for (const item of readItems(body['input'])) {
    const id = textOf(item['id'])
    const found = stored.items.get(`${key}/${id}`)
    if (!refersToStored(item)) items.push(item)
    else if (found === undefined) return itemNotFound(id, body['store'] === false)
    else items.push(found.body)
  }
  return items
}

export function isError(value: readonly JsonObject[] | OpenaiError): value is OpenaiError {
  return 'status' in value
}

export function checkTurns(
  items: readonly JsonObject[],
  model: string,
  memory: Memory,
): OpenaiError | undefined {
  return (
    checkRepeats(items) ??
    checkReasoning(items, model) ??
    checkParted(items, memory) ??
    checkCalls(items)
  )
}

/** Reasoning without its sealed content is no more than a reference. */
function refersToStored(item: JsonObject): boolean {
  const bare = item['type'] === 'reasoning' && isAbsent(item['encrypted_content'])
  return bare || item['type'] === 'item_reference'
}

function itemNotFound(id: string, unstored: boolean): OpenaiError {
  const hint = unstored
    ? ' Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.'
    : ''
  return { ...badRequest(`Item with id '${id}' not found.${hint}`, 'input', null), status: 404 }
}

function checkRepeats(items: readonly JsonObject[]): OpenaiError | undefined {
  const seen = new Set<string>()
  const repeated = items
    .map((item) => textOf(item['id']))
    .find((id) => id !== '' && (seen.has(id) || !seen.add(id)))
  if (repeated === undefined) return undefined
  const message = `Duplicate item found with id ${repeated}. Remove duplicate items from your input and try again.`
  return badRequest(message, 'input', null)
}

function checkReasoning(items: readonly JsonObject[], model: string): OpenaiError | undefined {
  for (const [index, item] of items.entries()) {
    if (item['type'] !== 'reasoning') continue
    const id = textOf(item['id'])
    const error = checkSealed(textOf(item['encrypted_content']), model, id)
    if (error !== undefined) return error
    if (!isWritten(items[index + 1])) {
      const message = `Item '${id}' of type 'reasoning' was provided without its required following item.`
      return badRequest(message, 'input', null)
    }
  }
  return undefined
}

function isWritten(item: JsonObject | undefined): boolean {
  if (item?.['type'] === 'message') return item['role'] === 'assistant'
  return WRITTEN.includes(textOf(item?.['type']))
}

/** OpenAI knows by the id of a stored item which reasoning led to it, and wants that as well. */
function checkParted(
  items: readonly JsonObject[],
  { stored, key }: Memory,
): OpenaiError | undefined {
  const ids = new Set(items.map((item) => textOf(item['id'])))
  for (const item of items) {
    const id = textOf(item['id'])
    const reasoning_id = stored.items.get(`${key}/${id}`)?.reasoning_id
    if (reasoning_id !== undefined && !ids.has(reasoning_id)) {
      const message = `Item '${id}' of type '${textOf(item['type'])}' was provided without its required 'reasoning' item: '${reasoning_id}'.`
      return badRequest(message, 'input', null)
    }
  }
  return undefined
}

/** Every call is answered somewhere after it, and every output answers one of its own kind. */
function checkCalls(items: readonly JsonObject[]): OpenaiError | undefined {
  const open = new Map<string, string>()
  const seen = new Set<string>()
  for (const item of items) {
    const type = textOf(item['type'])
    const call_id = textOf(item['call_id'])
    if (Object.hasOwn(CALLS, type)) {
      open.set(`${type}/${call_id}`, call_id)
      seen.add(`${type}/${call_id}`)
    }
    const answered = type.endsWith('_output') ? type.slice(0, -'_output'.length) : ''
    if (answered === '') continue
    if (!seen.has(`${answered}/${call_id}`)) {
      const message = `No tool call found for ${CALLS[answered] ?? answered} output with call_id ${call_id}.`
      return badRequest(message, 'input', null)
    }
    open.delete(`${answered}/${call_id}`)
  }
  const [unanswered] = open
  if (unanswered === undefined) return undefined
  const [place, call_id] = unanswered
  const name = CALLS[place.slice(0, place.indexOf('/'))] ?? 'call'
  return badRequest(`No tool output found for ${name} ${call_id}.`, 'input', null)
}
