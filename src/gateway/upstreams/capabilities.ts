// What a model cannot do is refused before anybody is called, with the reason and a way out.

import type { ChatModel } from '../../catalog/models.ts'
import { ApiError } from '../../platform/errors.ts'
import type { ChatRequest, UserPart } from '../dialects/chat-types.ts'

type Capability = keyof ChatModel['capabilities']

const NAMES: Readonly<Record<Capability, string>> = {
  images: 'images',
  files: 'files',
  audio_input: 'audio',
  tools: 'tools',
  json_object: 'a `response_format` of type json_object',
  json_schema: 'structured output by JSON schema',
  reasoning: 'reasoning',
}

export function checkCapabilities(request: ChatRequest, model: ChatModel): void {
  for (const capability of neededBy(request)) {
    if (!model.capabilities[capability]) {
      throw refuse(
        `The model ${model.name} does not take ${NAMES[capability]}.`,
        'GET /v1/models shows what each model can do.',
      )
    }
  }
  if (model.provider !== 'openai') checkOpenaiOnly(request)
}

/** The one way upstreams refuse a field. */
export function refuse(message: string, hint?: string): ApiError {
  return new ApiError('bad_request', { message, ...(hint !== undefined && { hint }) })
}

export function refuseField(field: string, hint?: string): ApiError {
  return refuse(`The field \`${field}\` is not supported.`, hint)
}

function neededBy(request: ChatRequest): Set<Capability> {
  const needed = new Set<Capability>()
  for (const message of request.messages) {
    if (message.role === 'user') collectParts(message.content, needed)
  }
  if (request.tools.length > 0) needed.add('tools')
  if (thinks(request)) needed.add('reasoning')
  const format = request.response_format?.kind
  if (format === 'json_object' || format === 'json_schema') needed.add(format)
  return needed
}

function collectParts(parts: readonly UserPart[], needed: Set<Capability>): void {
  for (const part of parts) {
    if (part.kind === 'image') needed.add('images')
    else if (part.kind === 'file') needed.add('files')
    else if (part.kind === 'audio') needed.add('audio_input')
    else if (part.kind === 'tool_result') collectParts(part.content, needed)
  }
}

export function thinks({ reasoning }: ChatRequest): boolean {
  if (reasoning === undefined) return false
  return reasoning.kind === 'budget' ? reasoning.tokens > 0 : reasoning.effort !== 'none'
}

function checkOpenaiOnly(request: ChatRequest): void {
  if (request.n > 1) {
    throw refuse('This model gives one answer only.', 'Leave out `n`, or use an OpenAI model.')
  }
  const { dialect, body } = request.original
  if (dialect === 'openai' && body['logprobs'] === true) {
    throw refuse('This model gives no `logprobs`.', 'Leave it out, or use an OpenAI model.')
  }
}
