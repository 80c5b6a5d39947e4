// The body of a response: always a new one, from a list of fields, whatever the client speaks. What would change the
// price, or belongs to the operator's account, has no place in it.

import type { ChatRequest, ToolDefinition } from '../../dialects/chat-types.ts'
import { refuseField, thinks } from '../capabilities.ts'
import type { Asked, CallTerms, Draft } from '../contract.ts'
import { given, type JsonRecord, recordOf } from '../json-values.ts'
import { cacheFields } from '../openai/cache-fields.ts'
import { type Effort, effortFor } from '../openai/effort.ts'
import type { ToolNames } from '../tool-names.ts'
import { createResponsesReader } from './frames.ts'
import { inputItems } from './items.ts'
import { responsesTools, type ToolTerms } from './tools.ts'

const MAX_END_USER = 64
const SUMMARIES = ['auto', 'concise', 'detailed']
const ENCRYPTED = 'reasoning.encrypted_content'

export function draftResponses(asked: Asked, names: ToolNames): Draft {
  const { request, model } = asked
  if (request.n > 1) throw refuseField('n')
  const effort = effortFor(request, model)
  const tools = { names, free_text: freeTextTools(asked) }
  const body = {
    model: model.upstream_id,
    input: inputItems(asked, tools),
    ...samplingFields(asked),
    ...reasoningFields(asked, effort),
    ...textFields(request),
    ...responsesTools(request, tools),
    ...(model.capabilities.reasoning && { include: [ENCRYPTED] }),
    ...cacheFields(asked.relayed),
    // Nothing is kept there: the next call sends what it needs.
    store: false,
    // Any other tier has another price, and leaving it out means the account's own default.
    service_tier: 'default',
  }
  return {
    ignored: effort.ignored,
    relays: request.original.dialect === 'responses' && keepsForm(asked, tools),
    body: (terms) => ({ ...body, ...termFields(asked, terms) }),
    createReader: () => createResponsesReader(names, model.upstream_id),
  }
}

/** Only models that reason know tools of free text. */
function freeTextTools({ request, model }: Asked): ToolTerms['free_text'] {
  const tools = model.capabilities.reasoning ? request.tools.filter((tool) => tool.free_text) : []
  return new Set(tools.map((tool) => tool.name))
}

/**
 * A reply is relayed with the names and kinds of tools that stand in it, so they have to be those that were asked for. An
 * answer that may end where the credits do is written by us, who can end it.
 */
function keepsForm({ request, model }: Asked, { names, free_text }: ToolTerms): boolean {
  const keeps = ({ name, free_text: is_text }: ToolDefinition) =>
    names.toProvider(name) === name && (is_text !== true || free_text.has(name))
  return model.on_disconnect === 'drain' && request.tools.every(keeps)
}

/** Models that reason take no sampling fields at all. */
function samplingFields({ request, model }: Asked): JsonRecord {
  if (model.capabilities.reasoning) return {}
  const { temperature, top_p } = request
  return given({ temperature, top_p })
}

function reasoningFields(asked: Asked, { sent }: Effort): JsonRecord {
  if (!asked.model.capabilities.reasoning) return {}
  const summary = sent === 'none' ? undefined : summaryOf(asked.request)
  if (sent === undefined && summary === undefined) return {}
  return { reasoning: given({ effort: sent, summary }) }
}

/** Thoughts are shown to who asked for them, in the only form that there is. */
function summaryOf(request: ChatRequest): string | undefined {
  const { style, original } = request
  if (style?.responses === undefined) {
    return thinks(request) && style?.hides_thinking !== true ? 'auto' : undefined
  }
  if (!style.responses.shows_summary) return undefined
  const { summary, generate_summary } = recordOf(original.body['reasoning'])
  return SUMMARIES.find((word) => word === (summary ?? generate_summary)) ?? 'auto'
}

function textFields({ response_format: format, verbosity }: ChatRequest): JsonRecord {
  const text = given({ format: formatOf(format), verbosity })
  return Object.keys(text).length === 0 ? {} : { text }
}

function formatOf(format: ChatRequest['response_format']): JsonRecord | undefined {
  if (format === undefined || format.kind === 'text') return undefined
  if (format.kind === 'json_object') return { type: 'json_object' }
  const { name, description, schema, strict } = format
  return given({ type: 'json_schema', name, description, schema, strict })
}

function termFields(
  { end_user }: Asked,
  { max_output_tokens, sends_limit, stream }: CallTerms,
): JsonRecord {
  return {
    ...(sends_limit && { max_output_tokens }),
    stream,
    ...(stream && { stream_options: { include_obfuscation: false } }),
    ...(end_user !== undefined && { safety_identifier: end_user.slice(0, MAX_END_USER) }),
  }
}
