// Tools in the words of Anthropic. On models without structured output the answer itself is asked for as the input of
// a tool, which the client never sees.

import type { ChatRequest } from '../../dialects/chat-types.ts'
import { refuse } from '../capabilities.ts'
import type { Asked } from '../contract.ts'
import { given, type JsonRecord, recordOf } from '../json-values.ts'
import { claudeVersion } from '../model-family.ts'
import type { ToolNames } from '../tool-names.ts'
import { cacheControl } from './messages.ts'

const DEFAULT_JSON_TOOL = 'json_response'
const FIRST_WITH_FORMAT = 4.5

/** The name of the tool whose input is the answer; undefined where there is no need of one. */
export function jsonTool({ request, model }: Asked, names: ToolNames): string | undefined {
  const format = request.response_format
  const has_format = claudeVersion(model.upstream_id) >= FIRST_WITH_FORMAT
  if (format?.kind !== 'json_schema' || has_format) return undefined
  if ((format.schema['type'] ?? 'object') !== 'object') {
    throw refuse('The schema of the answer has to be of type object.')
  }
  const name = names.toProvider(format.name === '' ? DEFAULT_JSON_TOOL : format.name)
  const taken = request.tools.some((tool) => names.toProvider(tool.name) === name)
  return taken ? `${name.slice(0, 100)}_${DEFAULT_JSON_TOOL}` : name
}

/** Whether the answer begins with the call of a tool. */
export function forcesTool(request: ChatRequest, json_tool: string | undefined): boolean {
  const choice = request.tool_choice?.kind
  return json_tool !== undefined || choice === 'required' || choice === 'tool'
}

export function toolFields(
  request: ChatRequest,
  names: ToolNames,
  json_tool: string | undefined,
): JsonRecord {
  const tools: JsonRecord[] = request.tools.map((tool) =>
    given({
      name: names.toProvider(tool.name),
      description: tool.description,
      input_schema: objectSchema(tool.parameters),
      cache_control: cacheControl(tool.cache),
    }),
  )
  tools.push(...jsonToolOf(request, json_tool))
  return tools.length === 0 ? {} : { tools, tool_choice: choiceOf(request, names, json_tool) }
}

export function jsonToolOf(
  { response_format: format }: ChatRequest,
  json_tool: string | undefined,
): JsonRecord[] {
  if (json_tool === undefined || format?.kind !== 'json_schema') return []
  const description = format.description ?? 'Gives the answer to the user.'
  return [{ name: json_tool, description, input_schema: objectSchema(format.schema) }]
}

function objectSchema(schema: JsonRecord): JsonRecord {
  return { ...schema, type: 'object', properties: recordOf(schema['properties']) }
}

/** With tools of the client's own beside it, the answer is one of the tools that may be called. */
export function choiceOf(
  request: ChatRequest,
  names: ToolNames,
  json_tool: string | undefined,
): JsonRecord | undefined {
  const choice = request.tool_choice ?? { kind: 'auto' }
  const single = request.parallel_tool_calls === false ? { disable_parallel_tool_use: true } : {}
  if (choice.kind === 'tool') {
    return { type: 'tool', name: names.toProvider(choice.name), ...single }
  }
  if (json_tool !== undefined) {
    const alone = request.tools.length === 0 || choice.kind === 'none'
    return alone ? { type: 'tool', name: json_tool } : { type: 'any', ...single }
  }
  if (choice.kind === 'none') return { type: 'none' }
  if (choice.kind === 'required') return { type: 'any', ...single }
  const said = request.tool_choice !== undefined || request.parallel_tool_calls === false
  return said ? { type: 'auto', ...single } : undefined
}
