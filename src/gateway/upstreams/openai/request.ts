// The body of a chat completion: the client's own where it speaks OpenAI's dialect already, a new one
// otherwise. What would change the price, or belongs to the operator's account, never gets through.

import type { ChatModel } from '../../../catalog/models.ts'
import type { AssistantPart, MediaSource, TextPart, UserPart } from '../../dialects/chat-types.ts'
import { refuse, refuseField } from '../capabilities.ts'
import type { Asked, CallTerms, Draft } from '../contract.ts'
import { instructionsOf } from '../instructions.ts'
import { given, isRecord, type JsonRecord, listOf, recordOf } from '../json-values.ts'
import { familyOf } from '../model-family.ts'
import { fitToolId, type ToolNames } from '../tool-names.ts'
import { cacheFields } from './cache-fields.ts'
import { decideEffort } from './effort.ts'
import { createOpenaiReader } from './frames.ts'

const MAX_STOPS = 4
const MAX_TOOL_ID = 40
const MAX_END_USER = 64

export function draftOpenai(asked: Asked, names: ToolNames): Draft {
  const { request } = asked
  const is_own = request.original.dialect === 'openai'
  const rewrites = is_own && (request.style?.function_call === true || tellsFreeText(asked))
  const effort = decideEffort(asked)
  const body = {
    ...(is_own ? ownBody(asked, names) : translateBody(asked, names)),
    ...given({ reasoning_effort: effort.sent }),
  }
  return {
    ignored: [
      ...effort.ignored,
      ...(is_own ? [] : lostStops(asked)),
      ...(rewrites && request.original.body['logprobs'] === true ? ['logprobs'] : []),
    ],
    relays: is_own && !rewrites,
    body: (terms) => ({ ...body, ...forcedFields(asked, terms) }),
    createReader: () => createOpenaiReader(names),
  }
}

function reasons(model: ChatModel): boolean {
  return familyOf(model) !== 'gpt'
}

/** Whether tools that take free text have to be told as functions. */
function tellsFreeText({ request, model }: Asked): boolean {
  return !reasons(model) && request.tools.some((tool) => tool.free_text)
}

/** What the client sent, as far as it may be relayed. */
function ownBody(asked: Asked, names: ToolNames): JsonRecord {
  const { request, model, relayed } = asked
  const { prompt_cache_options: _options, ...rest } = relayed
  const messages = listOf(relayed['messages'])
  for (const message of messages) checkReferences(recordOf(message))
  return {
    ...rest,
    ...cacheFields(relayed),
    ...(!reasons(model) && { messages: messages.map(tellCalls) }),
    ...(tellsFreeText(asked) && toolFields(asked, names)),
    ...(request.style?.function_call && { parallel_tool_calls: false }),
  }
}

/** Calls of tools that take free text, as calls of functions. */
function tellCalls(message: unknown): unknown {
  const record = recordOf(message)
  const calls = listOf(record['tool_calls'])
  if (!calls.some((call) => isRecord(recordOf(call)['custom']))) return message
  const tool_calls = calls.map((call) => {
    const { custom, ...rest } = recordOf(call)
    if (!isRecord(custom)) return call
    const { name, input } = custom
    return { ...rest, type: 'function', function: { name, arguments: JSON.stringify({ input }) } }
  })
  return { ...record, tool_calls }
}

function forcedFields(
  { model, end_user }: Asked,
  { max_output_tokens, sends_limit, stream }: CallTerms,
): JsonRecord {
  return {
    model: model.upstream_id,
    ...(sends_limit && { max_completion_tokens: max_output_tokens }),
    // Any other tier has another price, and leaving it out means the account's own default.
    service_tier: 'default',
    stream,
    ...(stream && { stream_options: { include_usage: true, include_obfuscation: false } }),
    ...(end_user !== undefined && { safety_identifier: end_user.slice(0, MAX_END_USER) }),
  }
}

/** Ids of stored files and sounds would reach into an account that all users share. */
function checkReferences(message: JsonRecord): void {
  if ((message['audio'] ?? null) !== null) throw refuseField('messages[].audio')
  for (const part of listOf(message['content'])) {
    if ((recordOf(recordOf(part)['file'])['file_id'] ?? null) !== null) {
      throw refuseField('file_id', 'Send the file itself as `file_data`.')
    }
  }
}

function translateBody(asked: Asked, names: ToolNames): JsonRecord {
  const { request, model } = asked
  const { seed, verbosity } = request
  return {
    messages: translateMessages(asked, names),
    // The same words in OpenAI's other format.
    ...cacheFields(asked.relayed),
    ...(request.n > 1 && { n: request.n }),
    ...(reasons(model) ? given({ verbosity, seed }) : samplingFields(asked)),
    ...toolFields(asked, names),
    ...formatFields(asked),
  }
}

function translateMessages({ request, model }: Asked, names: ToolNames): JsonRecord[] {
  const system = request.system.filter((part) => part.text !== '')
  const role = reasons(model) ? 'developer' : 'system'
  return [
    ...(system.length > 0 ? [{ role, content: system.map(textPart) }] : []),
    ...request.messages.flatMap((message) => {
      if (message.role === 'assistant') return assistantMessages(message.content, names)
      const instructions = instructionsOf(message.content)
      return instructions
        ? [{ role, content: instructions.map(textPart) }]
        : userMessages(message.content)
    }),
  ]
}

/** Models that reason take no sampling fields at all. */
function samplingFields({ request }: Asked): JsonRecord {
  const stop = request.stop.slice(0, MAX_STOPS)
  return given({
    temperature: request.temperature,
    top_p: request.top_p,
    frequency_penalty: request.frequency_penalty,
    presence_penalty: request.presence_penalty,
    seed: request.seed,
    stop: stop.length > 0 ? stop : undefined,
  })
}

function lostStops({ request, model }: Asked): string[] {
  return !reasons(model) && request.stop.length > MAX_STOPS ? ['stop_sequences'] : []
}

function toolFields({ request }: Asked, names: ToolNames): JsonRecord {
  if (request.tools.length === 0) return {}
  const tools = request.tools.map(({ name, description, parameters, strict }) => ({
    type: 'function',
    function: given({ name: names.toProvider(name), description, parameters, strict }),
  }))
  const { tool_choice, parallel_tool_calls } = request
  return given({ tools, tool_choice: choiceOf(tool_choice, names), parallel_tool_calls })
}

function choiceOf(choice: Asked['request']['tool_choice'], names: ToolNames): unknown {
  if (choice?.kind !== 'tool') return choice?.kind
  return { type: 'function', function: { name: names.toProvider(choice.name) } }
}

function formatFields({ request }: Asked): JsonRecord {
  const format = request.response_format
  if (format === undefined || format.kind === 'text') return {}
  if (format.kind === 'json_object') return { response_format: { type: 'json_object' } }
  const { name, description, schema, strict } = format
  const json_schema = given({ name, description, schema, strict })
  return { response_format: { type: 'json_schema', json_schema } }
}

/** Results of tools come first, each as a message of its own; their images follow as the user's. */
function userMessages(parts: readonly UserPart[]): JsonRecord[] {
  const results = parts.filter((part) => part.kind === 'tool_result')
  const others = parts.filter((part) => part.kind !== 'tool_result')
  const media = results.flatMap(({ content }) => content.filter((part) => part.kind !== 'text'))
  const content = [...media, ...others].map(userPart).filter((part) => part !== undefined)
  return [
    ...results.map((result) => ({
      role: 'tool',
      tool_call_id: fitToolId(result.call_id, MAX_TOOL_ID),
      content: joinTexts(result.content.filter((part) => part.kind === 'text')),
    })),
    ...(content.length > 0 ? [{ role: 'user', content }] : []),
  ]
}

function userPart(part: Exclude<UserPart, { kind: 'tool_result' }>): JsonRecord | undefined {
  switch (part.kind) {
    case 'text':
      return part.text === '' ? undefined : textPart(part)
    case 'image': {
      const image_url = given({ url: urlOf(part.source), detail: part.detail })
      return { type: 'image_url', image_url }
    }
    case 'file': {
      if (part.source.kind === 'url') {
        throw refuse('This model takes files only as data.', 'Send the file in base64.')
      }
      const filename = part.name ?? 'document.pdf'
      return { type: 'file', file: { file_data: urlOf(part.source), filename } }
    }
    case 'audio':
      throw refuse('This model does not take audio.')
  }
}

/** Thoughts of another provider's model mean nothing here. */
function assistantMessages(parts: readonly AssistantPart[], names: ToolNames): JsonRecord[] {
  const text = joinTexts(parts.filter((part) => part.kind === 'text'))
  const refusal = joinTexts(parts.filter((part) => part.kind === 'refusal'))
  const calls = parts.filter((part) => part.kind === 'tool_call')
  if (text === '' && refusal === '' && calls.length === 0) return []
  const tool_calls = calls.map(({ id, name, input }) => ({
    id: fitToolId(id, MAX_TOOL_ID),
    type: 'function',
    function: { name: names.toProvider(name), arguments: JSON.stringify(input ?? {}) },
  }))
  return [
    {
      role: 'assistant',
      content: text === '' ? null : text,
      ...(refusal !== '' && { refusal }),
      ...(tool_calls.length > 0 && { tool_calls }),
    },
  ]
}

function textPart({ text }: TextPart): JsonRecord {
  return { type: 'text', text }
}

function joinTexts(parts: readonly { text: string }[]): string {
  return parts.map((part) => part.text).join('')
}

function urlOf(source: MediaSource): string {
  return source.kind === 'url' ? source.url : `data:${source.media_type};base64,${source.data}`
}
