// The body of a messages call: the client's own where it speaks Anthropic's dialect already, a new one
// otherwise. What would change the price, or belongs to the operator's account, never gets through.

import type { ChatRequest } from '../../dialects/chat-types.ts'
import { refuse, refuseField, thinks } from '../capabilities.ts'
import type { Asked, CallTerms, Draft } from '../contract.ts'
import {
  given,
  isRecord,
  type JsonRecord,
  listOf,
  numberOf,
  recordOf,
  textOf,
} from '../json-values.ts'
import { claudeVersion } from '../model-family.ts'
import type { ToolNames } from '../tool-names.ts'
import { createAnthropicReader } from './frames.ts'
import { anthropicMessages, cacheControl, systemBlocks } from './messages.ts'

/** Tools with a type of their own that run at the client and cost nothing but their tokens. */
const CLIENT_TOOLS = /^(custom|bash_\d+|text_editor_\d+)$/
const HISTORY_OF_SERVER_TOOLS = /^(server_tool_use|container_upload|.+_tool_result)$/
const LEAST_BUDGET = 1024
const BUDGETS = { minimal: 1024, low: 1024, medium: 2048, high: 4096 } as const
const LEAST_TOP_P_WITH_THINKING = 0.95
const DEFAULT_JSON_TOOL = 'json_response'
const JSON_ONLY =
  'Answer with one valid JSON object and nothing else: no other text, no code fence.'

export function draftAnthropic(asked: Asked, names: ToolNames): Draft {
  const { request } = asked
  const is_relayed = request.original.dialect === 'anthropic'
  if (is_relayed) checkRelayed(asked.relayed)
  // The tool whose input is the answer itself: structured output on models that have none.
  const json_tool = is_relayed ? undefined : jsonTool(asked, names)
  const body = is_relayed ? asked.relayed : translateBody(asked, names, json_tool)
  return {
    ignored: [],
    relays: is_relayed,
    body: (terms) => ({
      ...body,
      ...(is_relayed ? fitThinking(asked, terms) : thinkingFields(asked, terms, json_tool)),
      ...forcedFields(asked, terms),
    }),
    createReader: () => createAnthropicReader({ names, json_tool }),
  }
}

function forcedFields(
  { model, end_user }: Asked,
  { max_output_tokens, stream }: CallTerms,
): JsonRecord {
  return {
    model: model.upstream_id,
    max_tokens: max_output_tokens,
    stream,
    ...(end_user !== undefined && { metadata: { user_id: end_user } }),
  }
}

function checkRelayed(body: JsonRecord): void {
  for (const tool of listOf(body['tools'])) checkTool(recordOf(tool))
  for (const message of listOf(body['messages'])) checkBlocks(recordOf(message)['content'])
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

/** Where the hold allows less output than was asked for, thinking has to fit into it. */
function fitThinking({ request, relayed }: Asked, { max_output_tokens }: CallTerms): JsonRecord {
  const { thinking } = relayed
  const budget = isRecord(thinking) ? numberOf(thinking['budget_tokens']) : undefined
  const lowered = (request.max_output_tokens ?? 0) > max_output_tokens
  if (!lowered || budget === undefined || budget < max_output_tokens) return {}
  if (max_output_tokens <= LEAST_BUDGET) return { thinking: { type: 'disabled' } }
  return { thinking: { ...recordOf(thinking), budget_tokens: max_output_tokens - 1 } }
}

function translateBody(call: Asked, names: ToolNames, json_tool: string | undefined): JsonRecord {
  const { request } = call
  const format = request.response_format
  const system = systemBlocks(request.system)
  if (format?.kind === 'json_object') system.push({ type: 'text', text: JSON_ONLY })
  const stops = request.stop.filter((stop) => stop.trim() !== '')
  const native = format?.kind === 'json_schema' && json_tool === undefined
  return given({
    system: system.length > 0 ? system : undefined,
    messages: anthropicMessages(request.messages, names),
    stop_sequences: stops.length > 0 ? stops : undefined,
    ...toolFields(request, names, json_tool),
    output_config: native ? { format: { type: 'json_schema', schema: format.schema } } : undefined,
  })
}

function jsonTool({ request, model }: Asked, names: ToolNames): string | undefined {
  const format = request.response_format
  if (format?.kind !== 'json_schema' || claudeVersion(model.upstream_id) >= 4.5) return undefined
  if ((format.schema['type'] ?? 'object') !== 'object') {
    throw refuse('The schema of `response_format` has to be of type object.')
  }
  const name = names.toProvider(format.name === '' ? DEFAULT_JSON_TOOL : format.name)
  const taken = request.tools.some((tool) => names.toProvider(tool.name) === name)
  return taken ? `${name.slice(0, 100)}_${DEFAULT_JSON_TOOL}` : name
}

/** Sampling and thinking go together, and how long the answer may be decides whether there is room for thought. */
function thinkingFields(asked: Asked, terms: CallTerms, json_tool: string | undefined): JsonRecord {
  const thinking = thinkingOf(asked, terms, json_tool)
  return given({ thinking, ...samplingFields(asked, thinking !== undefined) })
}

/** A forced tool, a prefilled answer and a tool loop without its thoughts all rule thinking out. */
function thinkingOf(
  { request, model }: Asked,
  { max_output_tokens }: CallTerms,
  json_tool: string | undefined,
): JsonRecord | undefined {
  const choice = request.tool_choice?.kind
  const forced = json_tool !== undefined || choice === 'required' || choice === 'tool'
  if (!thinks(request) || forced || lacksThoughts(request)) return undefined
  if (claudeVersion(model.upstream_id) > 4.6) return { type: 'adaptive' }
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
function samplingFields({ request, model }: Asked, thinking: boolean): JsonRecord {
  const version = claudeVersion(model.upstream_id)
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
