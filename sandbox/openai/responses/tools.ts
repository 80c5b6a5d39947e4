// The tools of a Responses request: flat definitions, namespaces of them, and the choice among them.

import type { ToolOffer } from '../../answer.ts'
import {
  isAbsent,
  isObject,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
  wordList,
} from '../../json.ts'
import { badRequest, type OpenaiError } from '../errors.ts'
import { invalidValue, missingParameter, unknownParameter } from '../field-rules.ts'
import { findLooseObject, looseSchema } from '../format.ts'
import type { OpenaiModel } from '../models.ts'
import { notInSandbox, tooLong } from './request.ts'

const NAME = /^[a-zA-Z0-9_-]+$/
const MAX_NAME_LENGTH = 64
const CHOICE_WORDS = ['none', 'auto', 'required']
const SHARED = ['type', 'name', 'description', 'allowed_callers', 'async', 'defer_loading']
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  function: [...SHARED, 'parameters', 'strict', 'output_schema'],
  custom: [...SHARED, 'format'],
  namespace: ['type', 'name', 'description', 'tools'],
}
const HOSTED = wordList(`
  apply_patch code_interpreter computer computer_use_preview file_search image_generation
  local_shell mcp programmatic_tool_calling shell tool_search web_search
  web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11
`)

/** All tools of a request: those of its field, and those that its input adds. */
export function listTools(body: JsonObject, items: readonly JsonObject[]): readonly unknown[] {
  const added = items.filter((item) => item['type'] === 'additional_tools')
  return [...listOf(body['tools']), ...added.flatMap((item) => listOf(item['tools']))]
}

export function checkTools(
  body: JsonObject,
  items: readonly JsonObject[],
  model: OpenaiModel,
): OpenaiError | undefined {
  const tools = listTools(body, items)
  for (const [index, tool] of tools.entries()) {
    const error = checkTool(objectOf(tool), `tools[${index}]`, model)
    if (error !== undefined) return error
  }
  return checkNames(tools) ?? checkChoice(body['tool_choice'], tools)
}

/** The tools the model may call now, and whether it has to call one. */
export function readOffers(
  body: JsonObject,
  items: readonly JsonObject[],
): { tools: readonly ToolOffer[]; forced: boolean } {
  const all = flattenTools(listTools(body, items)).map(readOffer)
  const choice = body['tool_choice']
  if (choice === 'none') return { tools: [], forced: false }
  const { type, name, mode, tools } = objectOf(choice)
  if (type === 'function' || type === 'custom') {
    return { tools: all.filter((tool) => tool.name === name), forced: true }
  }
  if (type !== 'allowed_tools') return { tools: all, forced: choice === 'required' }
  const allowed = listOf(tools).map((tool) => textOf(objectOf(tool)['name']))
  return { tools: all.filter((tool) => allowed.includes(tool.name)), forced: mode === 'required' }
}

/** A tool as the reply repeats it: what was left out stands there with its default. */
export function echoTool(tool: unknown): JsonObject {
  const definition = objectOf(tool)
  if (definition['type'] !== 'function') return definition
  const { type, name, description, parameters, strict, ...others } = definition
  // Strict is the default here, for every schema that can be.
  const strictly = strict ?? findLooseObject(parameters, []) === undefined
  return {
    type,
    description: description ?? null,
    name,
    parameters: parameters ?? null,
    strict: strictly,
    ...others,
  }
}

function checkTool(tool: JsonObject, path: string, model: OpenaiModel): OpenaiError | undefined {
  const type = textOf(tool['type'])
  if (HOSTED.includes(type)) return notInSandbox(`the hosted tool '${type}'`, `${path}.type`)
  const fields = Object.hasOwn(FIELDS, type) ? FIELDS[type] : undefined
  if (fields === undefined) {
    if (isAbsent(tool['type'])) return missingParameter(`${path}.type`)
    return invalidValue(type, [...Object.keys(FIELDS), ...HOSTED], `${path}.type`)
  }
  if (type === 'custom' && model.efforts.length === 0) {
    const message = `Invalid value: 'custom'. This model only supports tools of type 'function'.`
    return badRequest(message, `${path}.type`, 'invalid_value')
  }
  const error = checkName(tool['name'], `${path}.name`)
  if (error !== undefined) return error
  const extra = Object.keys(tool).find((name) => !fields.includes(name))
  if (extra !== undefined) return unknownParameter(`${path}.${extra}`)
  if (type === 'custom') return checkInputFormat(tool['format'], `${path}.format`)
  if (type === 'namespace') return checkNamespace(tool, path, model)
  return checkParameters(tool, path)
}

function checkName(name: unknown, param: string): OpenaiError | undefined {
  if (isAbsent(name)) return missingParameter(param)
  if (textOf(name).length > MAX_NAME_LENGTH) return tooLong(param, textOf(name), MAX_NAME_LENGTH)
  if (NAME.test(textOf(name))) return undefined
  const message = `Invalid '${param}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
  return badRequest(message, param, 'invalid_value')
}

function checkNamespace(
  tool: JsonObject,
  path: string,
  model: OpenaiModel,
): OpenaiError | undefined {
  for (const [index, item] of listOf(tool['tools']).entries()) {
    const inner = objectOf(item)
    const place = `${path}.tools[${index}]`
    if (inner['type'] !== 'function' && inner['type'] !== 'custom') {
      return invalidValue(textOf(inner['type']), ['function', 'custom'], `${place}.type`)
    }
    const error = checkTool(inner, place, model)
    if (error !== undefined) return error
  }
  return undefined
}

/** Free text, or text of a grammar, which stands in the format itself. */
function checkInputFormat(format: unknown, param: string): OpenaiError | undefined {
  if (isAbsent(format)) return undefined
  const { type, definition, syntax } = objectOf(format)
  if (type === 'text') return undefined
  if (type !== 'grammar') return invalidValue(textOf(type), ['text', 'grammar'], `${param}.type`)
  if (typeof definition !== 'string') return missingParameter(`${param}.definition`)
  if (syntax === 'lark' || syntax === 'regex') return undefined
  return invalidValue(textOf(syntax), ['lark', 'regex'], `${param}.syntax`)
}

function checkParameters(tool: JsonObject, path: string): OpenaiError | undefined {
  const { name, parameters, strict } = tool
  if (isAbsent(parameters)) return undefined
  const param = `${path}.parameters`
  const type = isObject(parameters) ? (parameters['type'] ?? 'object') : 'None'
  if (type !== 'object') {
    const message = `Invalid schema for function '${textOf(name)}': schema must be a JSON Schema of 'type: "object"', got 'type: "${textOf(type)}"'.`
    return badRequest(message, param, 'invalid_function_parameters')
  }
  const place = strict === true ? findLooseObject(parameters, []) : undefined
  if (place === undefined) return undefined
  const message = looseSchema(`function '${textOf(name)}'`, place)
  return badRequest(message, param, 'invalid_function_parameters')
}

/** That names must differ is known; the words for it are not documented. */
function checkNames(tools: readonly unknown[]): OpenaiError | undefined {
  const names = flattenTools(tools).map(({ tool, namespace }) => {
    return JSON.stringify([namespace, tool['name']])
  })
  const twice = names.findIndex((name, at) => names.indexOf(name) !== at)
  if (twice === -1) return undefined
  const name = textOf(flattenTools(tools)[twice]?.tool['name'])
  const message = `Invalid 'tools': tool names must be unique, but '${name}' was given more than once.`
  return badRequest(message, 'tools', 'invalid_value')
}

function checkChoice(choice: unknown, tools: readonly unknown[]): OpenaiError | undefined {
  if (isAbsent(choice)) return undefined
  if (typeof choice === 'string') {
    if (!CHOICE_WORDS.includes(choice)) return invalidValue(choice, CHOICE_WORDS, 'tool_choice')
    if (choice !== 'required' || tools.length > 0) return undefined
    const message = "Tool choice 'required' must be specified with 'tools' parameter."
    return badRequest(message, 'tool_choice', null)
  }
  const { type, name, tools: allowed } = objectOf(choice)
  if (HOSTED.includes(textOf(type))) {
    return notInSandbox(`the hosted tool '${textOf(type)}'`, 'tool_choice')
  }
  if (type !== 'function' && type !== 'custom' && type !== 'allowed_tools') {
    return invalidValue(textOf(type), ['function', 'custom', 'allowed_tools'], 'tool_choice.type')
  }
  if (type !== 'allowed_tools' && isAbsent(name)) return missingParameter('tool_choice.name')
  const wanted = type === 'allowed_tools' ? listOf(allowed).map(objectOf) : [{ type, name }]
  const known = flattenTools(tools).map(
    ({ tool }) => `${textOf(tool['type'])}/${textOf(tool['name'])}`,
  )
  const missing = wanted.find((tool) => {
    return !known.includes(`${textOf(tool['type'])}/${textOf(tool['name'])}`)
  })
  if (missing === undefined) return undefined
  const message = `Tool choice '${textOf(missing['name'])}' not found in 'tools' parameter.`
  return badRequest(message, 'tool_choice', null)
}

type PlacedTool = { tool: JsonObject; namespace: string | undefined }

function flattenTools(tools: readonly unknown[]): readonly PlacedTool[] {
  return tools.map(objectOf).flatMap((tool): PlacedTool[] => {
    if (tool['type'] !== 'namespace') return [{ tool, namespace: undefined }]
    const namespace = textOf(tool['name'])
    return listOf(tool['tools']).map((inner) => ({ tool: objectOf(inner), namespace }))
  })
}

function readOffer({ tool, namespace }: PlacedTool): ToolOffer {
  const schema = tool['parameters'] ?? { type: 'object', properties: {} }
  return { name: textOf(tool['name']), schema, free_text: tool['type'] === 'custom', namespace }
}
