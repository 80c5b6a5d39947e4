// Reads the tools of a response: functions, tools that take text, and namespaces of both. A tool of a namespace goes
// upstream as `<namespace>__<name>`, and comes back under both names. Tools that run at OpenAI are left out.

import {
  type Fields,
  isAbsent,
  readArray,
  readChoice,
  readName,
  readObject,
  readText,
  refuse,
} from '../body-fields.ts'
import type { ToolDefinition } from '../chat-types.ts'
import { MAX_TOOLS, readFreeText, readFunction } from '../openai/tools.ts'
import type { ResponsesTerms } from './terms.ts'

const NAME = /^[A-Za-z0-9_-]{1,128}$/
const NAME_RULE = 'must be 1 to 128 letters, digits, _ or -'
const BETWEEN = '__'
const HOSTED_TYPE = /^[a-z0-9_]{1,40}$/
const RUN_IT_YOURSELF =
  'Offer a function of your own: tools that run at the provider are not available here.'

export type OfferedTool = { kind: 'function' | 'custom'; name: string; namespace?: string }

export type ToolList = {
  /** Under their names upstream. */
  definitions: ToolDefinition[]
  offered: Map<string, OfferedTool>
  /** As the client sent them, without those that were left out. */
  kept: Fields[]
  /** The types of those. */
  hosted: Set<string>
}

/** `tools`, and the `additional_tools` of the input. */
export function readTools(lists: readonly { value: unknown; path: string }[]): ToolList {
  const list: ToolList = { definitions: [], offered: new Map(), kept: [], hosted: new Set() }
  for (const { value, path } of lists) {
    if (isAbsent(value)) continue
    for (const [index, entry] of readArray(value, path, MAX_TOOLS).entries()) {
      addTool(list, { tool: readObject(entry, `${path}[${index}]`), path: `${path}[${index}]` })
    }
  }
  if (list.definitions.length === 0 && list.hosted.size > 0) {
    const types = [...list.hosted].join(', ')
    refuse('tools', `has only tools that run at OpenAI (${types})`, RUN_IT_YOURSELF)
  }
  return list
}

/** For the reply: only the tools whose calls look otherwise to the client than to the model. */
export function renamedTools({ offered }: ToolList): ResponsesTerms['tools'] {
  return new Map(
    [...offered].filter(([, { kind, namespace }]) => kind === 'custom' || namespace !== undefined),
  )
}

export function upstreamName(name: string, namespace: string | undefined): string {
  return namespace === undefined ? name : `${namespace}${BETWEEN}${name}`
}

type Given = { tool: Fields; path: string; namespace?: string }

function addTool(list: ToolList, { tool, path }: Given): void {
  const type = readText(tool['type'], `${path}.type`)
  if (type === 'function' || type === 'custom') {
    addOwn(list, { kind: type, tool, path })
    list.kept.push(tool)
  } else if (type === 'namespace') {
    addNamespace(list, { tool, path })
    list.kept.push(tool)
  } else if (HOSTED_TYPE.test(type)) list.hosted.add(type)
  else refuse(`${path}.type`, 'is not the type of a tool')
}

function addNamespace(list: ToolList, { tool, path }: Given): void {
  const namespace = readToolName(tool['name'], `${path}.name`)
  const inner = readArray(tool['tools'], `${path}.tools`, MAX_TOOLS)
  for (const [index, entry] of inner.entries()) {
    const at = `${path}.tools[${index}]`
    const one = readObject(entry, at)
    const kind = readChoice(one['type'], ['function', 'custom'], `${at}.type`)
    addOwn(list, { kind, tool: one, path: at, namespace })
  }
}

function addOwn(list: ToolList, given: Given & { kind: OfferedTool['kind'] }): void {
  const { kind, tool, path, namespace } = given
  const name = readToolName(tool['name'], `${path}.name`)
  const upstream = upstreamName(name, namespace)
  if (list.offered.has(upstream)) refuse(`${path}.name`, 'is the name of another tool')
  if (list.definitions.length >= MAX_TOOLS) refuse('tools', `must be at most ${MAX_TOOLS}`)
  list.offered.set(upstream, { kind, name, ...(namespace !== undefined && { namespace }) })
  const read = kind === 'custom' ? readFreeText : readFunction
  list.definitions.push({ name: upstream, ...read(tool, path) })
}

function readToolName(value: unknown, path: string): string {
  const name = readName(value, path)
  if (!NAME.test(name)) refuse(path, NAME_RULE)
  return name
}
