// What a model cannot do is refused before anybody is called, with the reason and a way out.

import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ChatRequest, UserPart } from '../dialects/chat-types.ts'
import { recordOf, textOf } from './json-values.ts'

type Capability = keyof ChatModel['capabilities']

const NAMES: Readonly<Record<Capability, string>> = {
  images: 'images',
  files: 'files',
  audio_input: 'audio',
  tools: 'tools',
  json_object: 'a format of type json_object',
  json_schema: 'structured output by JSON schema',
  reasoning: 'reasoning',
}

export function checkCapabilities(request: ChatRequest, model: ChatModel): void {
  const { conversation, format: format_field } = FIELDS[request.original.dialect]
  for (const message of request.messages) {
    if (message.role === 'user') checkParts(message.content, model, conversation)
  }
  if (request.tools.length > 0) requireCapability(model, 'tools', 'tools')
  checkClientTools(request, model)
  if (thinks(request)) requireCapability(model, 'reasoning', reasoningField(request))
  const format = request.response_format?.kind
  if (format === 'json_object' || format === 'json_schema') {
    requireCapability(model, format, format_field)
  }
}

/** The one way upstreams refuse a field. */
export function refuse(message: string, hint?: string, param?: string): ApiError {
  return new ApiError('bad_request', {
    message,
    ...(hint !== undefined && { hint }),
    ...(param !== undefined && { param }),
  })
}

export function refuseField(field: string, hint?: string): ApiError {
  return refuse(`The field \`${field}\` is not supported.`, hint, field)
}

function checkParts(parts: readonly UserPart[], model: ChatModel, param: string): void {
  for (const part of parts) {
    if (part.kind === 'image') requireCapability(model, 'images', param)
    else if (part.kind === 'file') requireCapability(model, 'files', param)
    else if (part.kind === 'audio') requireCapability(model, 'audio_input', param)
    else if (part.kind === 'tool_result') checkParts(part.content, model, param)
  }
}

/** Only Claude is taught how to call them: elsewhere nobody knows what they take. */
function checkClientTools({ tools }: ChatRequest, model: ChatModel): void {
  const index = tools.findIndex(({ client_tool }) => client_tool !== undefined)
  if (index === -1 || model.provider === 'anthropic') return
  throw refuse(
    `tools[${index}].type: ${tools[index]?.client_tool} is a tool of Claude models, which ${model.name} does not know.`,
    'Describe the tool yourself, with an `input_schema`, or use a Claude model.',
  )
}

function requireCapability(model: ChatModel, capability: Capability, param: string): void {
  if (model.capabilities[capability]) return
  throw refuse(
    `The model ${model.name} does not take ${NAMES[capability]}.`,
    'GET /v1/models shows what each model can do.',
    param,
  )
}

/** What each format calls the fields that say the same. */
const FIELDS = {
  openai: { conversation: 'messages', format: 'response_format' },
  anthropic: { conversation: 'messages', format: 'output_config.format' },
  responses: { conversation: 'input', format: 'text.format' },
} as const satisfies Record<ChatRequest['original']['dialect'], object>

/** The field in which the client said which form the answer has. */
export function formatField({ original }: ChatRequest): string {
  return FIELDS[original.dialect].format
}

/** The field in which the client said how much the model is to think. */
export function reasoningField({ original: { dialect, body } }: ChatRequest): string {
  if (dialect === 'responses') return 'reasoning.effort'
  const [usual, other, path] =
    dialect === 'openai'
      ? ['reasoning_effort', 'reasoning', 'reasoning']
      : ['thinking', 'output_config', 'output_config.effort']
  return body[usual] === undefined && body[other] !== undefined ? path : usual
}

/** The client's own word for it: the two highest have no neutral one. */
export function saidEffort({ original: { body } }: ChatRequest): string {
  const nested = [body['reasoning'], body['output_config']].map(
    (field) => recordOf(field)['effort'],
  )
  return textOf([body['reasoning_effort'], ...nested].find((effort) => (effort ?? null) !== null))
}

/** Whether the request asks the model to think. */
export function thinks({ reasoning }: ChatRequest): boolean {
  if (reasoning === undefined) return false
  return reasoning.kind === 'budget' ? reasoning.tokens > 0 : reasoning.effort !== 'none'
}

/** Also where it leaves that to the model. Thoughts are paid for, and not all of them are seen. */
export function mayThink(request: ChatRequest): boolean {
  return thinks(request) || recordOf(request.original.body['thinking'])['type'] === 'adaptive'
}
