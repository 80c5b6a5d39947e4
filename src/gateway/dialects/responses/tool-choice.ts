// Reads `tool_choice` of a response: whether the model calls a tool, and which of those that it is offered.

import {
  type Fields,
  isAbsent,
  readArray,
  readChoice,
  readName,
  readObject,
  readOptionalText,
  readText,
  refuse,
} from '../body-fields.ts'
import type { ToolChoice, ToolDefinition } from '../chat-types.ts'
import { MAX_TOOLS } from '../openai/tools.ts'
import { type ToolList, upstreamName } from './tools.ts'

const OWN_TYPES = ['function', 'custom', 'namespace']
const RUN_IT_YOURSELF =
  'Choose a function or custom tool of `tools`: tools that run at the provider are not available here.'

export type Chosen = { tool_choice: ToolChoice | undefined; tools: ToolDefinition[] }

export function readToolChoice(value: unknown, list: ToolList): Chosen {
  const { definitions: tools } = list
  if (isAbsent(value)) return { tool_choice: undefined, tools }
  if (typeof value === 'string') {
    const kind = readChoice(value, ['none', 'auto', 'required'], 'tool_choice')
    if (kind === 'required' && tools.length === 0) refuseMissingTools()
    return { tool_choice: tools.length === 0 ? undefined : { kind }, tools }
  }
  const choice = readObject(value, 'tool_choice')
  const type = readText(choice['type'], 'tool_choice.type')
  if (type === 'allowed_tools') return readAllowed(choice, list)
  if (type !== 'function' && type !== 'custom') {
    refuse('tool_choice.type', 'asks for a tool that does not run here', RUN_IT_YOURSELF)
  }
  if (tools.length === 0) refuseMissingTools()
  const [name] = namesOf(choice, 'tool_choice', list)
  return { tool_choice: name === undefined ? undefined : { kind: 'tool', name }, tools }
}

/** Providers know no such list: the tools that are not allowed are not offered. */
function readAllowed(choice: Fields, list: ToolList): Chosen {
  const kind = readChoice(choice['mode'], ['auto', 'required'], 'tool_choice.mode')
  const names = new Set<string>()
  const path = 'tool_choice.tools'
  for (const [index, entry] of readArray(choice['tools'], path, MAX_TOOLS).entries()) {
    const at = `${path}[${index}]`
    const target = readObject(entry, at)
    const type = readText(target['type'], `${at}.type`)
    if (OWN_TYPES.includes(type)) for (const name of namesOf(target, at, list)) names.add(name)
  }
  if (names.size === 0) refuse(path, 'must name a tool of `tools`', RUN_IT_YOURSELF)
  return { tool_choice: { kind }, tools: list.definitions.filter(({ name }) => names.has(name)) }
}

/** One tool, or all of a namespace. A tool of a namespace may be named without it where no other has its name. */
function namesOf(target: Fields, path: string, { offered }: ToolList): string[] {
  const name = readName(target['name'], `${path}.name`)
  const namespace = readOptionalText(target['namespace'], `${path}.namespace`)
  const all = [...offered]
  if (target['type'] === 'namespace') {
    const found = all.filter(([, tool]) => tool.namespace === name)
    if (found.length === 0) refuse(`${path}.name`, 'names no namespace of `tools`')
    return found.map(([upstream]) => upstream)
  }
  const upstream = upstreamName(name, namespace)
  if (offered.has(upstream)) return [upstream]
  const [same, another] = all.filter(([, tool]) => tool.name === name)
  if (namespace !== undefined || same === undefined || another !== undefined) {
    refuse(`${path}.name`, 'names no tool of `tools`')
  }
  return [same[0]]
}

function refuseMissingTools(): never {
  refuse('tool_choice', 'needs `tools`', 'Send the tools the model may call.')
}
