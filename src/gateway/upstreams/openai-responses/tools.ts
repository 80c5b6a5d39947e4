// Tools in the words of the Responses API: flat, and free text has a kind of its own.

import type { ChatRequest, ToolDefinition } from '../../dialects/chat-types.ts'
import { given, type JsonRecord } from '../json-values.ts'
import type { ToolNames } from '../tool-names.ts'

/** `free_text`: the names of tools that are told as such; elsewhere they are functions of one text. */
export type ToolTerms = { names: ToolNames; free_text: ReadonlySet<string> }

export function responsesTools(request: ChatRequest, terms: ToolTerms): JsonRecord {
  if (request.tools.length === 0) return {}
  const { tool_choice, parallel_tool_calls } = request
  return given({
    tools: request.tools.map((tool) => toolOf(tool, terms)),
    tool_choice: choiceOf(tool_choice, terms),
    parallel_tool_calls,
  })
}

function toolOf(tool: ToolDefinition, { names, free_text }: ToolTerms): JsonRecord {
  const name = names.toProvider(tool.name)
  if (free_text.has(tool.name)) {
    const { description = tool.description, format } = tool.custom ?? {}
    return given({ type: 'custom', name, description, format })
  }
  const { description, parameters, strict = false } = tool
  // Left out, it would be true here, which not every schema can be.
  return given({ type: 'function', name, description, parameters, strict })
}

function choiceOf(choice: ChatRequest['tool_choice'], { names, free_text }: ToolTerms): unknown {
  if (choice?.kind !== 'tool') return choice?.kind
  const type = free_text.has(choice.name) ? 'custom' : 'function'
  return { type, name: names.toProvider(choice.name) }
}
