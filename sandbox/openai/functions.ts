// `functions` and `function_call`, the forms that tools had before they were called tools. OpenAI
// marks them deprecated and still takes them, one call at a time, and answers in the same form.

import type { ToolOffer } from '../answer.ts'
import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { badRequest, type OpenaiError } from './errors.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const MAX_FUNCTIONS = 128

export function usesFunctions(body: JsonObject): boolean {
  return !isAbsent(body['functions'])
}

export function checkFunctions(body: JsonObject): OpenaiError | undefined {
  const choice = body['function_call']
  if (!usesFunctions(body)) {
    if (isAbsent(choice)) return undefined
    const message = "'function_call' is only allowed when 'functions' are specified."
    return badRequest(message, 'function_call', null)
  }
  const functions = listOf(body['functions'])
  if (functions.length === 0 || functions.length > MAX_FUNCTIONS) {
    const message = `Invalid 'functions': expected an array with 1 to ${MAX_FUNCTIONS} items, but got ${functions.length}.`
    return badRequest(message, 'functions', functions.length === 0 ? 'empty_array' : null)
  }
  const wrong = functions.findIndex((item) => !NAME.test(textOf(objectOf(item)['name'])))
  if (wrong !== -1) {
    const param = `functions[${wrong}].name`
    const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    return badRequest(message, param, 'invalid_value')
  }
  return checkChoice(choice, functions)
}

/** The functions that may be called now, and whether one must be. */
export function readFunctionOffers(body: JsonObject): {
  tools: readonly ToolOffer[]
  forced: boolean
} {
  const all = listOf(body['functions']).map(objectOf)
  const offers = all.map((item) => ({
    name: textOf(item['name']),
    schema: item['parameters'] ?? { type: 'object', properties: {} },
    free_text: false,
  }))
  const choice = body['function_call']
  if (choice === 'none') return { tools: [], forced: false }
  if (!isObject(choice)) return { tools: offers, forced: false }
  return { tools: offers.filter((offer) => offer.name === choice['name']), forced: true }
}

function checkChoice(choice: unknown, functions: readonly unknown[]): OpenaiError | undefined {
  if (isAbsent(choice) || choice === 'auto' || choice === 'none') return undefined
  const name = textOf(objectOf(choice)['name'])
  if (functions.some((item) => objectOf(item)['name'] === name)) return undefined
  const message = `Invalid value for 'function_call': no function named ${name} was specified in the 'functions' parameter`
  return badRequest(message, 'function_call', null)
}
