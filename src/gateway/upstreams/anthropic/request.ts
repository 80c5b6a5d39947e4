// The body of a messages call: the client's own where it speaks Anthropic's dialect already, a new one
// otherwise. What would change the price, or belongs to the operator's account, never gets through.

import type { ChatRequest } from '../../dialects/chat-types.ts'
import { refuse, refuseField, thinks } from '../capabilities.ts'
import type { UpstreamCall } from '../contract.ts'
import {
  given,
  isRecord,
  type JsonRecord,
  listOf,
  numberOf,
  recordOf,
  textOf,
} from '../json-values.ts'
import type { ToolNames } from '../tool-names.ts'
import { anthropicMessages, cacheControl, systemBlocks } from './messages.ts'

const KEPT = new Set([
  'messages',
  'system',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'thinking',
  'tools',
  'tool_choice',
  'output_config',
  'cache_control',
])
/** Replaced by ours, of another price, or bound to the operator's account. */
const DROPPED = new Set([
  'model',
  'max_tokens',
  'stream',
  'metadata',
  'service_tier',
  'speed',
  'inference_geo',
  'container',
  'diagnostics',
  'context_management',
])
/** Tools with a type of their own that run at the client and cost nothing but their tokens. */
const CLIENT_TOOLS = /^(custom|bash_\d+|text_editor_\d+)$/
const HISTORY_OF_SERVER_TOOLS = /^(server_tool_use|container_upload|.+_tool_result)$/
const LEAST_BUDGET = 1024
const BUDGETS = { minimal: 1024, low: 1024, medium: 2048, high: 4096 } as const
const LEAST_TOP_P_WITH_THINKING = 0.95
const DEFAULT_JSON_TOOL = 'json_response'
const JSON_ONLY =
  'Answer with one valid JSON object and nothing else: no other text, no code fence.'

export type AnthropicRequest = {
  body: JsonRecord
  /** The tool whose input is the answer itself: structured output on models that have none. */
  json_tool: string | undefined
}

export function anthropicRequest(call: UpstreamCall, names: ToolNames): AnthropicRequest {
  const { request, model, max_output_tokens, end_user } = call
  const forced = {
    model: model.upstream_id,
    max_tokens: max_output_tokens,
    stream: request.stream,
    ...(end_user !== undefined && { metadata: { user_id: end_user } }),
  }
  if (request.original.dialect === 'anthropic') {
    const kept = keepBody(request.original.body, max_output_tokens)
    return { body: { ...kept, ...forced }, json_tool: undefined }
  }
  const json_tool = jsonTool(call, names)
  return { body: { ...translateBody(call, names, json_tool), ...forced }, json_tool }
}

function keepBody(body: JsonRecord, max_output_tokens: number): JsonRecord {
  const kept: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(body)) {
    if (value === null || value === undefined || DROPPED.has(field)) continue
    if (!KEPT.has(field)) throw refuse(`Unknown field: \`${field}\`.`)
    kept[field] = value
  }
  for (const tool of listOf(body['tools'])) checkTool(recordOf(tool))
  for (const message of listOf(body['messages'])) checkBlocks(recordOf(message)['content'])
  const lowered = (numberOf(body['max_tokens']) ?? 0) > max_output_tokens
  return lowered ? { ...kept, ...fitThinking(body['thinking'], max_output_tokens) } : kept
}

function checkTool(tool: JsonRecord): void {
  const type = textOf(tool['type'] ?? 'custom')
  if (CLIENT_TOOLS.test(type)) return
  throw refuseField(`tools[].type: ${type}`, 'Only tools that you run yourself are offered.')
}

/** Ids of stored files would reach into an account that all users share. */
function checkBlocks(content: unknown): void {
  for (const item of listOf(content)) {
    const block = recordOf(item)
    const type = textOf(block['type'])
    if (HISTORY_OF_SERVER_TOOLS.test(type)) throw refuseField(`content[].type: ${type}`)
    if (recordOf(block['source'])['type'] === 'file') {
      throw refuseField('source.file_id', 'Send the file itself in base64.')
    }
    if (type === 'tool_result') checkBlocks(block['content'])
  }
}

/** The hold allows less output than was asked for, and thinking has to fit into it. */
function fitThinking(thinking: unknown, max_output_tokens: number): JsonRecord {
  const budget = isRecord(thinking) ? numberOf(thinking['budget_tokens']) : undefined
  if (budget === undefined || budget < max_output_tokens) return {}
  if (max_output_tokens <= LEAST_BUDGET) return { thinking: { type: 'disabled' } }
  return { thinking: { ...recordOf(thinking), budget_tokens: max_output_tokens - 1 } }
}

function translateBody(
  call: UpstreamCall,
  names: ToolNames,
  json_tool: string | undefined,
): JsonRecord {
  const { request } = call
  const format = request.response_format
  const system = systemBlocks(request.system)
  if (format?.kind === 'json_object') system.push({ type: 'text', text: JSON_ONLY })
  const stops = request.stop.filter((stop) => stop.trim() !== '')
  const thinking = thinkingOf(call, json_tool)
  const native = format?.kind === 'json_schema' && json_tool === undefined
  return given({
    system: system.length > 0 ? system : undefined,
    messages: anthropicMessages(request.messages, names),
    stop_sequences: stops.length > 0 ? stops : undefined,
    thinking,
    ...samplingFields(call, thinking !== undefined),
    ...toolFields(request, names, json_tool),
    output_config: native ? { format: { type: 'json_schema', schema: format.schema } } : undefined,
  })
}

function jsonTool({ request, model }: UpstreamCall, names: ToolNames): string | undefined {
  const format = request.response_format
  if (format?.kind !== 'json_schema' || versionOf(model.upstream_id) >= 4.5) return undefined
  if ((format.schema['type'] ?? 'object') !== 'object') {
    throw refuse('The schema of `response_format` has to be of type object.')
  }
  const name = names.toProvider(format.name === '' ? DEFAULT_JSON_TOOL : format.name)
  const taken = request.tools.some((tool) => names.toProvider(tool.name) === name)
  return taken ? `${name.slice(0, 100)}_${DEFAULT_JSON_TOOL}` : name
}

/** A forced tool, a prefilled answer and a tool loop without its thoughts all rule thinking out. */
function thinkingOf(call: UpstreamCall, json_tool: string | undefined): JsonRecord | undefined {
  const { request, model, max_output_tokens } = call
  const choice = request.tool_choice?.kind
  const forced = json_tool !== undefined || choice === 'required' || choice === 'tool'
  if (!thinks(request) || forced || lacksThoughts(request)) return undefined
  if (versionOf(model.upstream_id) > 4.6) return { type: 'adaptive' }
  const most = max_output_tokens - 1
  const budget_tokens = Math.min(Math.max(budgetOf(request), LEAST_BUDGET), most)
  return budget_tokens < LEAST_BUDGET ? undefined : { type: 'enabled', budget_tokens }
}

function budgetOf({ reasoning }: ChatRequest): number {
  if (reasoning?.kind === 'budget') return reasoning.tokens
  const effort = reasoning?.effort ?? 'none'
  return effort === 'none' ? 0 : BUDGETS[effort]
}

function lacksThoughts({ messages }: ChatRequest): boolean {
  const last = messages.at(-1)
  if (last === undefined || last.role === 'assistant') return true
  if (!last.content.some((part) => part.kind === 'tool_result')) return false
  const turn = messages.findLast((message) => message.role === 'assistant')
  const first = turn?.content[0]?.kind
  return first !== 'thinking' && first !== 'redacted_thinking'
}

/** Anthropic's temperature ends at 1; later models take one of these fields, or none. */
function samplingFields({ request, model }: UpstreamCall, thinking: boolean): JsonRecord {
  const version = versionOf(model.upstream_id)
  if (version > 4.6) return {}
  const { temperature, top_p, top_k } = request
  if (thinking) {
    return { top_p: (top_p ?? 0) >= LEAST_TOP_P_WITH_THINKING ? top_p : undefined }
  }
  const only_one = version >= 4.1 && temperature !== undefined
  return {
    temperature: temperature === undefined ? undefined : Math.min(temperature, 1),
    top_p: only_one ? undefined : top_p,
    top_k,
  }
}

function toolFields(
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
  const format = request.response_format
  if (json_tool !== undefined && format?.kind === 'json_schema') {
    const description = format.description ?? 'Gives the answer to the user.'
    tools.push({ name: json_tool, description, input_schema: objectSchema(format.schema) })
  }
  return tools.length === 0 ? {} : { tools, tool_choice: choiceOf(request, names, json_tool) }
}

function objectSchema(schema: JsonRecord): JsonRecord {
  return { ...schema, type: 'object', properties: recordOf(schema['properties']) }
}

/** With tools of the client's own beside it, the answer is one of the tools that may be called. */
function choiceOf(
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

/** `claude-opus-4-8` is 4.8; names with a date right after the number are .0, older ones 3. */
function versionOf(upstream_id: string): number {
  const match = /^claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)/.exec(upstream_id)
  return match === null ? 3 : Number(`${match[1]}.${match[2] ?? 0}`)
}
