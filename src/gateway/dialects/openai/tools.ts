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
  readText,
  refuse,
} from '../body-fields.ts'
import type { ResponseFormat, ToolChoice, ToolDefinition } from '../chat-types.ts'
import { cacheOf } from './parts.ts'

export const MAX_TOOLS = 512

const NAME = /^[A-Za-z0-9_-]{1,64}$/
const NAME_RULE = 'must be 1 to 64 letters, digits, _ or -'
const KINDS = ['function', 'custom'] as const
/** A tool that takes free text, for whoever knows only tools with arguments. */
const FREE_TEXT = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

export function parseTools(value: unknown): ToolDefinition[] {
  if (isAbsent(value)) return []
  return readArray(value, 'tools', MAX_TOOLS).map((entry, index) => {
    const path = `tools[${index}]`
    const tool = readObject(entry, path)
    const kind = readChoice(tool['type'], KINDS, `${path}.type`)
    const at = `${path}.${kind}`
    const definition = readObject(tool[kind], at)
    return {
      name: readToolName(definition['name'], `${at}.name`),
      ...(kind === 'custom'
        ? readFreeText(definition, at, 'grammar')
        : readFunction(definition, at)),
      ...cacheOf(definition, at),
      ...cacheOf(tool, path),
    }
  })
}

type DescribedTool = Omit<ToolDefinition, 'name' | 'cache'>

export function readFunction(definition: Fields, path: string): DescribedTool {
  const strict = readOptionalBoolean(definition['strict'], `${path}.strict`)
  return {
    description: readOptionalText(definition['description'], `${path}.description`),
    parameters: readParameters(definition['parameters'], `${path}.parameters`),
    ...(strict !== undefined && { strict }),
  }
}

/** A grammar is told to models that cannot be held to it. `member`: of the format, where the grammar stands in one. */
export function readFreeText(definition: Fields, path: string, member?: string): DescribedTool {
  const description = readOptionalText(definition['description'], `${path}.description`)
  const grammar = readGrammar(definition['format'], `${path}.format`, member)
  return {
    description: grammar ? tellGrammar(description, grammar) : description,
    parameters: FREE_TEXT,
    free_text: true,
    // For models that know such tools.
    custom: {
      ...(description !== undefined && { description }),
      ...(grammar && { format: { type: 'grammar', ...grammar } }),
    },
  }
}

type Grammar = { syntax: string; definition: string }

function readGrammar(value: unknown, path: string, member?: string): Grammar | undefined {
  if (isAbsent(value)) return undefined
  const format = readObject(value, path)
  if (readChoice(format['type'], ['text', 'grammar'], `${path}.type`) === 'text') return undefined
  const at = member === undefined ? path : `${path}.${member}`
  const grammar = member === undefined ? format : readObject(format[member], at)
  return {
    syntax: readChoice(grammar['syntax'], ['lark', 'regex'], `${at}.syntax`),
    definition: readText(grammar['definition'], `${at}.definition`),
  }
}

function tellGrammar(description: string | undefined, { syntax, definition }: Grammar): string {
  const told = `The input has to match this grammar (${syntax}):\n${definition}`
  return description === undefined ? told : `${description}\n${told}`
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
  const type = readChoice(choice['type'], [...KINDS, 'allowed_tools'], 'tool_choice.type')
  if (tools.length === 0) refuseMissingTools()
  if (type === 'allowed_tools') return readAllowedTools(choice['allowed_tools'], tools)
  const name = readTarget(choice, 'tool_choice', tools)
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
    names.add(readTarget(readObject(entry, at), at, tools))
  }
  if (names.size === 0) refuse(`${path}.tools`, 'must not be empty')
  return { tool_choice: { kind }, tools: tools.filter((tool) => names.has(tool.name)) }
}

function readTarget(choice: Fields, path: string, tools: ToolDefinition[]): string {
  const kind = choice['type'] === 'custom' ? 'custom' : 'function'
  const at = `${path}.${kind}`
  const target = readObject(choice[kind], at)
  const name = readName(target['name'], `${at}.name`)
  if (!tools.some((tool) => tool.name === name)) refuse(`${at}.name`, 'names no tool of `tools`')
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
