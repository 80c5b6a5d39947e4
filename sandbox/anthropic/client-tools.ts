// Tools that Anthropic defines and the caller runs: a dated type, a fixed name, fields of their own,
// and an input that the model knows without being given a schema.

import { isAbsent, type JsonObject, textOf, wordList } from '../json.ts'
import type { Betas } from './betas.ts'
import { type AnthropicError, extra, invalid, missing } from './errors.ts'

export type ClientTool = {
  type: string
  name: string
  /** The beta that the type belongs to; absent for those that everybody has. */
  beta?: string
  required: readonly string[]
  optional: readonly string[]
  schema: object
  /** What the hidden definition adds to the prompt, where it is documented. */
  tokens: number
}

const COMMON = wordList(`
  type name allowed_callers cache_control defer_loading input_examples strict
`)
const COMPUTER_FIELDS = ['display_width_px', 'display_height_px']
const BASH = {
  name: 'bash',
  required: [],
  optional: [],
  tokens: 245,
  schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
}
const EDITOR = {
  required: [],
  optional: [],
  tokens: 700,
  schema: {
    type: 'object',
    properties: { command: { const: 'view' }, path: { type: 'string' } },
    required: ['command', 'path'],
  },
}
const COMPUTER = {
  name: 'computer',
  required: COMPUTER_FIELDS,
  optional: ['display_number'],
  tokens: 735,
  schema: {
    type: 'object',
    properties: { action: { const: 'screenshot' } },
    required: ['action'],
  },
}

export const CLIENT_TOOLS: readonly ClientTool[] = [
  { ...BASH, type: 'bash_20241022', beta: 'computer-use-2024-10-22' },
  { ...BASH, type: 'bash_20250124' },
  {
    ...EDITOR,
    type: 'text_editor_20241022',
    name: 'str_replace_editor',
    beta: 'computer-use-2024-10-22',
  },
  { ...EDITOR, type: 'text_editor_20250124', name: 'str_replace_editor' },
  { ...EDITOR, type: 'text_editor_20250429', name: 'str_replace_based_edit_tool' },
  {
    ...EDITOR,
    type: 'text_editor_20250728',
    name: 'str_replace_based_edit_tool',
    optional: ['max_characters'],
  },
  { ...COMPUTER, type: 'computer_20241022', beta: 'computer-use-2024-10-22' },
  { ...COMPUTER, type: 'computer_20250124', beta: 'computer-use-2025-01-24' },
  {
    ...COMPUTER,
    type: 'computer_20251124',
    beta: 'computer-use-2025-11-24',
    optional: ['display_number', 'enable_zoom'],
  },
  {
    // It began under a beta header; the API's types of 2026 have it among the general ones.
    type: 'memory_20250818',
    name: 'memory',
    required: [],
    optional: [],
    // Not documented.
    tokens: 0,
    schema: {
      type: 'object',
      properties: { command: { const: 'view' }, path: { const: '/memories' } },
      required: ['command', 'path'],
    },
  },
]
// These run at Anthropic. They are taken as they come; nothing here makes them run.
const SERVER_TOOL =
  /^(web_search|web_fetch|code_execution|tool_search_tool_(bm25|regex)|browser_toolset|computer_toolset|advisor|mcp_toolset)(_\d{8})?$/

export function findClientTool(tool: JsonObject): ClientTool | undefined {
  return CLIENT_TOOLS.find((known) => known.type === tool['type'])
}

/** Checks a tool whose type says that Anthropic defines it. Which models know it is not checked. */
export function checkDefinedTool(
  tool: JsonObject,
  at: number,
  betas: Betas,
): AnthropicError | undefined {
  const type = textOf(tool['type'])
  if (SERVER_TOOL.test(type)) return undefined
  const known = CLIENT_TOOLS.filter(({ beta }) => beta === undefined || betas.includes(beta))
  const definition = known.find((item) => item.type === type)
  if (definition === undefined) {
    const tags = [...known.map((item) => `'${item.type}'`), "'custom'"].sort()
    return invalid(
      `tools.${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags.join(', ')}`,
    )
  }
  const path = `tools.${at}.${type}`
  if (tool['name'] !== definition.name) {
    return invalid(`${path}.name: Input should be '${definition.name}'`)
  }
  const absent = definition.required.find((name) => isAbsent(tool[name]))
  if (absent !== undefined) return missing(`${path}.${absent}`)
  const fields = [...COMMON, ...definition.required, ...definition.optional]
  const unknown = Object.keys(tool).find((name) => !fields.includes(name))
  return unknown === undefined ? undefined : extra(`${path}.${unknown}`)
}
