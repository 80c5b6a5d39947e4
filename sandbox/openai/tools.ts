// The tools of a chat request: checked as OpenAI checks them, and read into offers.

import type { ToolOffer } from '../answer.ts'
import { isAbsent, isObject, type JsonObject, listOf, objectOf, textOf } from '../json.ts'
import { badRequest, type OpenaiError } from './errors.ts'
import { readFunctionOffers, usesFunctions } from './functions.ts'
import type { OpenaiModel } from './models.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/
const CHOICE_WORDS = ['none', 'auto', 'required']

export function checkTools(body: JsonObject, model: OpenaiModel): OpenaiError | undefined {
  if (isAbsent(body['tools'])) {
    const name = ['tool_choice', 'parallel_tool_calls'].find((field) => !isAbsent(body[field]))
    if (name === undefined) return undefined
    return badRequest(`'${name}' is only allowed when 'tools' are specified.`, name, null)
  }
  const tools = listOf(body['tools'])
  if (tools.length === 0) {
    const message =
      "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead."
    return badRequest(message, 'tools', 'empty_array')
  }
  const errors = tools.map((tool, index) => checkTool(tool, `tools[${index}]`, model))
  return errors.find((error) => error !== undefined) ?? checkChoice(body)
}

/** The tools the model may call now, and whether it has to call one. */
export function readOffers(body: JsonObject): { tools: readonly ToolOffer[]; forced: boolean } {
  if (usesFunctions(body)) return readFunctionOffers(body)
  const all = listOf(body['tools']).map(readOffer)
  const choice = body['tool_choice']
  if (choice === 'none') return { tools: [], forced: false }
  const named = namedTool(choice)
  if (named !== undefined) {
    return { tools: all.filter((tool) => tool.name === named), forced: true }
  }
  const allowed = objectOf(objectOf(choice)['allowed_tools'])
  const names = listOf(allowed['tools']).map(toolName)
  const tools = names.length === 0 ? all : all.filter((tool) => names.includes(tool.name))
  return { tools, forced: choice === 'required' || allowed['mode'] === 'required' }
}

function checkTool(tool: unknown, path: string, model: OpenaiModel): OpenaiError | undefined {
  const type = objectOf(tool)['type']
  if (!isObject(tool) || (type !== 'function' && type !== 'custom')) {
    const message = `Invalid value: '${textOf(type)}'. Supported values are: 'function' and 'custom'.`
    return badRequest(message, `${path}.type`, 'invalid_value')
  }
  if (type === 'custom' && model.efforts.length === 0) {
    const message = `Invalid value: 'custom'. This model only supports tools of type 'function'.`
    return badRequest(message, `${path}.type`, 'invalid_value')
  }
  const param = `${path}.${type}.name`
  const name = objectOf(tool[type])['name']
  if (isAbsent(name)) {
    return badRequest(
      `Missing required parameter: '${param}'.`,
      param,
      'missing_required_parameter',
    )
  }
  if (!NAME.test(textOf(name))) {
    const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    return badRequest(message, param, 'invalid_value')
  }
  if (type === 'custom') return checkInputFormat(objectOf(tool['custom']), path)
  return checkParameters(objectOf(tool['function']), textOf(name), path)
}

/** Free text, or text of a grammar that is given. */
function checkInputFormat(definition: JsonObject, path: string): OpenaiError | undefined {
  const format = definition['format']
  if (isAbsent(format)) return undefined
  const { type, grammar } = objectOf(format)
  if (type === 'text') return undefined
  const param = `${path}.custom.format`
  if (type !== 'grammar') {
    const message = `Invalid value: '${textOf(type)}'. Supported values are: 'text' and 'grammar'.`
    return badRequest(message, `${param}.type`, 'invalid_value')
  }
  const { definition: rules, syntax } = objectOf(grammar)
  if (typeof rules !== 'string') {
    const missing = `${param}.grammar.definition`
    const message = `Missing required parameter: '${missing}'.`
    return badRequest(message, missing, 'missing_required_parameter')
  }
  if (syntax === 'lark' || syntax === 'regex') return undefined
  const message = `Invalid value: '${textOf(syntax)}'. Supported values are: 'lark' and 'regex'.`
  return badRequest(message, `${param}.grammar.syntax`, 'invalid_value')
}

function checkParameters(
  definition: JsonObject,
  name: string,
  path: string,
): OpenaiError | undefined {
  const schema = definition['parameters']
  if (isAbsent(schema)) return undefined
  const type = isObject(schema) ? (schema['type'] ?? 'object') : 'None'
  if (type === 'object') return undefined
  const message = `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"', got 'type: "${textOf(type)}"'.`
  return badRequest(message, `${path}.function.parameters`, 'invalid_function_parameters')
}

function checkChoice(body: JsonObject): OpenaiError | undefined {
  const choice = body['tool_choice']
  if (isAbsent(choice) || isObject(choice)) {
    const name = namedTool(choice)
    const known = listOf(body['tools']).some((tool) => toolName(tool) === name)
    if (name === undefined || known) return undefined
    const message = `Tool choice '${name}' not found in 'tools' parameter.`
    return badRequest(message, 'tool_choice', null)
  }
  if (CHOICE_WORDS.includes(textOf(choice))) return undefined
  const message = `Invalid value: '${textOf(choice)}'. Supported values are: 'none', 'auto', and 'required'.`
  return badRequest(message, 'tool_choice', 'invalid_value')
}

function namedTool(choice: unknown): string | undefined {
  const type = objectOf(choice)['type']
  return type === 'function' || type === 'custom' ? toolName(choice) : undefined
}

function toolName(tool: unknown): string {
  const object = objectOf(tool)
  return textOf(objectOf(object['function'] ?? object['custom'])['name'])
}

function readOffer(tool: unknown): ToolOffer {
  const object = objectOf(tool)
  const schema = objectOf(object['function'])['parameters'] ?? { type: 'object', properties: {} }
  return { name: toolName(tool), schema, free_text: object['type'] === 'custom' }
}
