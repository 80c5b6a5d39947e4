// Reads `tools` and `tool_choice` of a message request.

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
import type { ChatRequest, ToolDefinition } from '../chat-types.ts'
import { readCacheHint } from './blocks.ts'

const MAX_TOOLS = 512
/** Tools with a type of their own that run at the client and cost nothing but their tokens. */
export const CLIENT_TOOL = /^(bash|text_editor|computer|memory)_\d{8}$/
/** What Anthropic tells Claude about each of them; an upper bound. */
const CLIENT_TOOL_TOKENS: Readonly<Record<string, number>> = {
  bash: 300,
  text_editor: 800,
  computer: 1_300,
  memory: 1_000,
}
const NAME = /^[A-Za-z0-9_-]{1,128}$/

export function parseTools(value: unknown): ToolDefinition[] {
  if (isAbsent(value)) return []
  return readArray(value, 'tools', MAX_TOOLS).map((entry, index) =>
    readTool(entry, `tools[${index}]`),
  )
}

function readTool(entry: unknown, path: string): ToolDefinition {
  const tool = readObject(entry, path)
  const name = readToolName(tool, path)
  if (!isAbsent(tool['type']) && tool['type'] !== 'custom') {
    return readClientTool(tool, { name, path })
  }
  const parameters = readObject(tool['input_schema'], `${path}.input_schema`)
  if (parameters['type'] !== 'object') refuse(`${path}.input_schema.type`, 'must be "object"')
  const strict = readOptionalBoolean(tool['strict'], `${path}.strict`)
  const cache = readCacheHint(tool['cache_control'], `${path}.cache_control`)
  return {
    name,
    description: readOptionalText(tool['description'], `${path}.description`),
    parameters,
    ...(strict !== undefined && { strict }),
    ...(cache && { cache }),
  }
}

function readToolName(tool: Fields, path: string): string {
  const name = readName(tool['name'], `${path}.name`)
  if (!NAME.test(name)) refuse(`${path}.name`, 'must be 1 to 128 letters, digits, _ or -')
  return name
}

/** Its schema is Anthropic's secret; Claude gets the client's own words. */
function readClientTool(
  tool: Fields,
  { name, path }: { name: string; path: string },
): ToolDefinition {
  const client_tool = readText(tool['type'], `${path}.type`)
  const kind = CLIENT_TOOL.exec(client_tool)?.[1]
  if (kind === undefined) {
    // Searches and containers of the provider cost extra, and other providers have none of them.
    refuse(
      `${path}.type`,
      'must be "custom", or a tool that you run yourself: bash, text_editor, computer or memory',
      'Tools that run at the provider are not available here.',
    )
  }
  const cache = readCacheHint(tool['cache_control'], `${path}.cache_control`)
  return {
    name,
    description: undefined,
    parameters: { type: 'object' },
    ...(cache && { cache }),
    client_tool,
    prompt_tokens: CLIENT_TOOL_TOKENS[kind] ?? 0,
  }
}

export function parseToolChoice(
  value: unknown,
  tools: readonly ToolDefinition[],
): Pick<ChatRequest, 'tool_choice' | 'parallel_tool_calls'> {
  if (isAbsent(value)) return { tool_choice: undefined, parallel_tool_calls: undefined }
  const choice = readObject(value, 'tool_choice')
  const type = readChoice(choice['type'], ['auto', 'any', 'tool', 'none'], 'tool_choice.type')
  const path = 'tool_choice.disable_parallel_tool_use'
  const disabled = readOptionalBoolean(choice['disable_parallel_tool_use'], path)
  const parallel_tool_calls = disabled === undefined ? undefined : !disabled
  if (type === 'none') return { tool_choice: { kind: 'none' }, parallel_tool_calls: undefined }
  if (type === 'auto') return { tool_choice: { kind: 'auto' }, parallel_tool_calls }
  if (tools.length === 0) {
    refuse('tool_choice', 'needs `tools`', 'Send the tools the model may call.')
  }
  if (type === 'any') return { tool_choice: { kind: 'required' }, parallel_tool_calls }
  const name = readName(choice['name'], 'tool_choice.name')
  if (!tools.some((tool) => tool.name === name)) {
    refuse('tool_choice.name', 'names no tool of `tools`')
  }
  return { tool_choice: { kind: 'tool', name }, parallel_tool_calls }
}
