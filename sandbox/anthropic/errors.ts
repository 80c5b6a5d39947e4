// Anthropic's error bodies. The type follows the status; the message is sometimes all that tells two
// errors of one type apart, so the known ones are kept word for word.

import { type Call, requestId } from '../call.ts'
import { type Directives, directiveNumber } from '../directives.ts'
import type { Fault } from '../faults.ts'
import { type Frame, type HeaderList, jsonReply, type Reply } from '../reply.ts'

const DEFAULT_RETRY_S = 2
const MAX_RETRY_S = 86_400
const LIMITS: Readonly<Record<string, number>> = {
  requests: 4_000,
  'input-tokens': 2_000_000,
  'output-tokens': 400_000,
  tokens: 2_400_000,
}

export type AnthropicError = {
  status: number
  type: string
  message: string
  /** What a program can tell errors of one type apart by, where there is anything. */
  details?: object
  headers?: HeaderList
}

export function errorReply(call: Call, error: AnthropicError): Reply {
  const headers = anthropicHeaders(call)
  const body = {
    type: 'error',
    error: {
      type: error.type,
      message: error.message,
      ...(error.details !== undefined && { details: error.details }),
    },
    request_id: headers['request-id'],
  }
  return jsonReply(error.status, body, { ...headers, ...error.headers })
}

export function anthropicHeaders(call: Call): HeaderList {
  const reset = new Date(Date.now() + 1_000).toISOString().replace(/\.\d+Z$/, 'Z')
  const limits = Object.entries(LIMITS).flatMap(([name, limit]) => [
    [`anthropic-ratelimit-${name}-limit`, String(limit)],
    [`anthropic-ratelimit-${name}-remaining`, String(limit - 1)],
    [`anthropic-ratelimit-${name}-reset`, reset],
  ])
  return {
    'request-id': `req_01${requestId(call, 22)}`,
    'anthropic-organization-id': '00000000-0000-4000-8000-000000000001',
    ...Object.fromEntries(limits),
  }
}

export function invalid(message: string): AnthropicError {
  return { status: 400, type: 'invalid_request_error', message }
}

export function missing(field: string): AnthropicError {
  return invalid(`${field}: Field required`)
}

export function extra(field: string): AnthropicError {
  return invalid(`${field}: Extra inputs are not permitted`)
}

export function unauthorized(message: string): AnthropicError {
  return { status: 401, type: 'authentication_error', message }
}

export function unknownModel(model: string): AnthropicError {
  return { status: 404, type: 'not_found_error', message: `model: ${model}` }
}

export function promptTooLong(used_tokens: number, limit_tokens: number): AnthropicError {
  return invalid(`prompt is too long: ${used_tokens} tokens > ${limit_tokens} maximum`)
}

/** The prompt alone would fit, but not beside the answer that was asked for. */
export function answerTooLong(
  prompt_tokens: number,
  answer_tokens: number,
  limit_tokens: number,
): AnthropicError {
  return invalid(
    `input length and \`max_tokens\` exceed context limit: ${prompt_tokens} + ${answer_tokens} > ${limit_tokens}, decrease input length or \`max_tokens\` and try again`,
  )
}

export const OVERLOADED: AnthropicError = {
  status: 529,
  type: 'overloaded_error',
  message: 'Overloaded',
}

/** A stream that fails after it began reports it as one more event. */
export function streamErrorFrame(): Frame {
  const { type, message } = OVERLOADED
  const data = JSON.stringify({ type: 'error', error: { details: null, type, message } })
  return { kind: 'error', event: 'error', data }
}

export function anthropicFault(
  fault: Fault,
  model: string,
  directives: Directives,
): AnthropicError {
  switch (fault) {
    case '401':
      return unauthorized('invalid x-api-key')
    case '404':
      return unknownModel(model)
    case '429':
      return rateLimited(directives)
    case '500':
      return { status: 500, type: 'api_error', message: 'Internal server error' }
    case 'overloaded':
      return OVERLOADED
    case 'quota':
      return invalid(
        'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      )
    case 'blocked':
      return invalid('Output blocked by content filtering policy')
    case 'too_long':
      return promptTooLong(250_000, 200_000)
    case 'unverified':
      return {
        status: 403,
        type: 'permission_error',
        message: 'Your organization does not have access to this model.',
      }
  }
}

function rateLimited(directives: Directives): AnthropicError {
  const retry_s = directiveNumber(directives['429'], MAX_RETRY_S) ?? DEFAULT_RETRY_S
  const reset = new Date(Date.now() + retry_s * 1000).toISOString()
  return {
    status: 429,
    type: 'rate_limit_error',
    message: "This request would exceed your account's rate limit. Please try again later.",
    headers: {
      'retry-after': String(Math.ceil(retry_s)),
      'anthropic-ratelimit-input-tokens-remaining': '0',
      'anthropic-ratelimit-input-tokens-reset': reset,
    },
  }
}
