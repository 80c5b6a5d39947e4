// A response on the wire: the object with everything it repeats of its request, and its items. The
// same as a stream is events.ts.

import type { Answer, ToolCall } from '../../answer.ts'
import { isAbsent, type JsonObject, listOf, objectOf } from '../../json.ts'
import { splitTokens } from '../../tokens.ts'
import { readTier } from '../served.ts'
import { echoTool } from './tools.ts'

export type OutputItem =
  | { type: 'reasoning'; id: string; summary: readonly string[]; sealed: string; shown: boolean }
  | {
      type: 'message'
      id: string
      text: string
      refused: boolean
      phase: string | undefined
      logprobs: boolean
    }
  | { type: 'call'; id: string; call_id: string; call: ToolCall }

export type ResponseUsage = {
  input_tokens: number
  cached_tokens: number
  written_tokens: number
}

export type Generated = {
  id: string
  created_at: number
  /** The dated name that answers carry. */
  model: string
  effort: string | null
  request: JsonObject
  answer: Answer
  output: readonly OutputItem[]
  usage: ResponseUsage
  /** False when a test prompt keeps usage back. */
  reports_usage: boolean
}

export type Stage = 'in_progress' | 'final' | 'failed'

export function responseBody(generated: Generated, stage: Stage, error: JsonObject | null = null) {
  const reason = stage === 'final' ? incompleteReason(generated.answer) : undefined
  const ended = reason === undefined ? 'completed' : 'incomplete'
  const status = stage === 'final' ? ended : stage
  return {
    id: generated.id,
    object: 'response',
    created_at: generated.created_at,
    status,
    background: false,
    completed_at: status === 'completed' ? generated.created_at : null,
    error,
    incomplete_details: reason === undefined ? null : { reason },
    ...echoRequest(generated),
    output: stage === 'final' ? outputBodies(generated) : [],
    usage: stage === 'final' && generated.reports_usage ? usageBody(generated) : null,
  }
}

export function outputBodies(generated: Generated): JsonObject[] {
  const last = generated.output.length - 1
  const cut = incompleteReason(generated.answer) !== undefined
  return generated.output.map((item, index) => {
    return itemBody(item, cut && index === last ? 'incomplete' : 'completed')
  })
}

/** An item that has only begun is there without what it will contain. */
export function itemBody(
  item: OutputItem,
  status: 'in_progress' | 'completed' | 'incomplete',
): JsonObject {
  const begun = status === 'in_progress'
  switch (item.type) {
    case 'reasoning': {
      const { id, sealed, shown } = item
      const summary = begun ? [] : item.summary.map(summaryPart)
      return { id, type: 'reasoning', summary, ...(shown && { encrypted_content: sealed }) }
    }
    case 'message': {
      const { id, phase } = item
      const content = begun ? [] : [messagePart(item, item.text)]
      const told = phase === undefined ? {} : { phase }
      return { id, type: 'message', status, content, ...told, role: 'assistant' }
    }
    case 'call': {
      const { id, call_id, call } = item
      const { namespace } = call
      const written = begun ? '' : call.arguments
      const place = namespace === undefined ? {} : { namespace }
      const head = { id, status, call_id, name: call.name, ...place }
      if (call.free_text) return { ...head, type: 'custom_tool_call', input: written }
      return { ...head, type: 'function_call', arguments: written }
    }
  }
}

export function summaryPart(text: string): JsonObject {
  return { type: 'summary_text', text }
}

export function messagePart(
  { refused, logprobs }: Extract<OutputItem, { type: 'message' }>,
  text: string,
): JsonObject {
  if (refused) return { type: 'refusal', refusal: text }
  return { type: 'output_text', annotations: [], logprobs: logprobs ? logprobsOf(text) : [], text }
}

export function logprobsOf(text: string): JsonObject[] {
  return splitTokens(text).map((token) => {
    const bytes = [...Buffer.from(token)]
    return { token, logprob: -0.125, bytes, top_logprobs: [{ token, logprob: -0.125, bytes }] }
  })
}

export function incompleteReason(answer: Answer): string | undefined {
  switch (answer.end) {
    case 'length':
      return 'max_output_tokens'
    case 'content_filter':
      return 'content_filter'
    case 'odd':
      return answer.odd_reason ?? 'unheard_of'
    case 'stop':
    case 'stop_sequence':
    case 'tools':
    case 'refusal':
      return undefined
  }
}

function usageBody({ usage, answer }: Generated) {
  const { input_tokens, cached_tokens, written_tokens } = usage
  const { reasoning_tokens, visible_tokens } = answer
  const output_tokens = reasoning_tokens + visible_tokens
  return {
    input_tokens,
    input_tokens_details: { cached_tokens, cache_write_tokens: written_tokens },
    output_tokens,
    output_tokens_details: { reasoning_tokens },
    total_tokens: input_tokens + output_tokens,
  }
}

/** Every setting is repeated, with its default where the request left it out. */
function echoRequest({ request, model, effort }: Generated) {
  const reasoning = objectOf(request['reasoning'])
  const text = objectOf(request['text'])
  const summary = reasoning['summary'] ?? reasoning['generate_summary'] ?? null
  return {
    instructions: request['instructions'] ?? null,
    max_output_tokens: request['max_output_tokens'] ?? null,
    max_tool_calls: request['max_tool_calls'] ?? null,
    metadata: request['metadata'] ?? {},
    model,
    parallel_tool_calls: request['parallel_tool_calls'] ?? true,
    previous_response_id: request['previous_response_id'] ?? null,
    prompt_cache_key: request['prompt_cache_key'] ?? null,
    prompt_cache_retention: request['prompt_cache_retention'] ?? null,
    reasoning: { effort, summary },
    safety_identifier: request['safety_identifier'] ?? null,
    service_tier: readTier(request['service_tier']),
    store: request['store'] ?? true,
    temperature: request['temperature'] ?? 1,
    text: {
      format: isAbsent(text['format']) ? { type: 'text' } : text['format'],
      verbosity: text['verbosity'] ?? 'medium',
    },
    tool_choice: request['tool_choice'] ?? 'auto',
    tools: listOf(request['tools']).map(echoTool),
    top_logprobs: request['top_logprobs'] ?? 0,
    top_p: request['top_p'] ?? 1,
    truncation: request['truncation'] ?? 'disabled',
    user: request['user'] ?? null,
  }
}
