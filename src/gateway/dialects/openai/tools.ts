// Reads `tools`, `tool_choice` and `response_format` of a chat completion.

import {
  type Fields,
  isAbsent,
  readArray,
  readChoice,
  readName,
  readObject,
  readOptionalBoolean,
  readOptionalText,
  refuse,
} from '../body-fields.ts'
import type { ResponseFormat, ToolChoice, ToolDefinition } from '../chat-types.ts'

export const MAX_TOOLS = 512

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const NAME_RULE = 'must be 1 to 64 letters, digits, _ or -'

export function parseTools(value: unknown): ToolDefinition[] {
  if (isAbsent(value)) return []
  return readArray(value, 'tools', MAX_TOOLS).map((entry, index) => {
    const path = `tools[${index}]`
    const tool = readObject(entry, path)
    readChoice(tool['type'], ['function'], `${path}.type`)
    return readFunction(readObject(tool['function'], `${path}.function`), `${path}.function`)
  })
}

function readFunction(definition: Fields, path: string): ToolDefinition {
  const strict = readOptionalBoolean(definition['strict'], `${path}.strict`)
  return {
    name: readToolName(definition['name'], `${path}.name`),
    description: readOptionalText(definition['description'], `${path}.description`),
    parameters: readParameters(definition['parameters'], `${path}.parameters`),
    ...(strict !== undefined && { strict }),
  }
}

function readToolName(value: unknown, path: string): string {
  const name = readName(value, path)
  if (!NAME.test(name)) refuse(path, NAME_RULE)
  return name
}

export function readParameters(value: unknown, path: string): Fields {
  if (isAbsent(value)) return { type: 'object', properties: {} }
  const schema = readObject(value, path)
  if (schema['type'] === 'object') return schema
  if (!isAbsent(schema['type'])) refuse(`${path}.type`, 'must be "object"')
  return { ...schema, type: 'object' }
}

export type ChosenTools = { tool_choice: ToolChoice | undefined; tools: ToolDefinition[] }

export function parseToolChoice(value: unknown, tools: ToolDefinition[]): ChosenTools {
  if (isAbsent(value)) return { tool_choice: undefined, tools }
  if (typeof value === 'string') {
    const kind = readChoice(value, ['none', 'auto', 'required'], 'tool_choice')
    if (kind === 'required' && tools.length === 0) refuseMissingTools()
    return { tool_choice: tools.length === 0 ? undefined : { kind }, tools }
  }
  const choice = readObject(value, 'tool_choice')
  const type = readChoice(choice['type'], ['function', 'allowed_tools'], 'tool_choice.type')
  if (tools.length === 0) refuseMissingTools()
  if (type === 'allowed_tools') return readAllowedTools(choice['allowed_tools'], tools)
  const name = readFunctionName(choice, 'tool_choice', tools)
  return { tool_choice: { kind: 'tool', name }, tools }
}

/** Only OpenAI knows it: for the others, the tools that are not allowed are not offered. */
function readAllowedTools(value: unknown, tools: ToolDefinition[]): ChosenTools {
  const path = 'tool_choice.allowed_tools'
  const allowed = readObject(value, path)
  const kind = readChoice(allowed['mode'], ['auto', 'required'], `${path}.mode`)
  const names = new Set<string>()
  for (const [index, entry] of readArray(allowed['tools'], `${path}.tools`, MAX_TOOLS).entries()) {
    const at = `${path}.tools[${index}]`
    names.add(readFunctionName(readObject(entry, at), at, tools))
  }
  if (names.size === 0) refuse(`${path}.tools`, 'must not be empty')
  return { tool_choice: { kind }, tools: tools.filter((tool) => names.has(tool.name)) }
}

function readFunctionName(choice: Fields, path: string, tools: ToolDefinition[]): string {
  const target = readObject(choice['function'], `${path}.function`)
  const name = readName(target['name'], `${path}.function.name`)
  if (!tools.some((tool) => tool.name === name)) {
    refuse(`${path}.function.name`, 'names no tool of `tools`')
  }
  return name
}

function refuseMissingTools(): never {
  refuse('tool_choice', 'needs `tools`', 'Send the tools the model may call.')
}

export function parseResponseFormat(value: unknown): ResponseFormat | undefined {
  if (isAbsent(value)) return undefined
  const format = readObject(value, 'response_format')
  const kinds = ['text', 'json_object', 'json_schema'] as const
  const kind = readChoice(format['type'], kinds, 'response_format.type')
  if (kind !== 'json_schema') return { kind }
  const path = 'response_format.json_schema'
  const wanted = readObject(format['json_schema'], path)
  const description = readOptionalText(wanted['description'], `${path}.description`)
  const strict = readOptionalBoolean(wanted['strict'], `${path}.strict`)
  return {
    kind,
    name: readToolName(wanted['name'], `${path}.name`),
    schema: isAbsent(wanted['schema']) ? {} : readObject(wanted['schema'], `${path}.schema`),
    ...(description !== undefined && { description }),
    ...(strict !== undefined && { strict }),
  }
}
