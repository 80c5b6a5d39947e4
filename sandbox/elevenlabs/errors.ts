// ElevenLabs' errors come in two shapes: an object with the reason, and, when the body itself does not
// fit, a list with the place of each fault. The older `status` word is still sent beside `code`.

import { type Call, requestId } from '../call.ts'
import { type Directives, directiveNumber } from '../directives.ts'
import type { Fault } from '../faults.ts'
import { digest } from '../random.ts'
import { type HeaderList, jsonReply, type Reply } from '../reply.ts'

const DEFAULT_RETRY_S = 2
const MAX_RETRY_S = 86_400

export type ElevenlabsError = {
  status: number
  type: string
  code: string
  /** The word that clients of the older interface look for, where it differs. */
  legacy?: string
  message: string
  param?: string
  headers?: HeaderList
}

export function errorReply(call: Call, error: ElevenlabsError): Reply {
  const headers = elevenlabsHeaders(call)
  const { type, code, message, legacy, param } = error
  const detail = {
    type,
    code,
    message,
    status: legacy ?? code,
    request_id: headers['request-id'],
    ...(param !== undefined && { param }),
  }
  return jsonReply(error.status, { detail }, { ...headers, ...error.headers })
}

/** What its web framework says before any code of theirs runs, the credential check included. */
export function unprocessable(call: Call, place: readonly string[], message: string): Reply {
  const detail = [{ type: 'missing', loc: ['body', ...place], msg: message, input: null }]
  return jsonReply(422, { detail }, elevenlabsHeaders(call))
}

export function elevenlabsHeaders(call: Call): HeaderList {
  return {
    'request-id': requestId(call, 20),
    'x-trace-id': digest(`trace/${call.number}`).slice(0, 32),
    'x-region': 'us-central1',
    'current-concurrent-requests': '1',
    'maximum-concurrent-requests': '15',
  }
}

export const MISSING_KEY: ElevenlabsError = {
  status: 401,
  type: 'authentication_error',
  code: 'missing_api_key',
  legacy: 'needs_authorization',
  message: 'Neither authorization header nor xi-api-key received, please provide one.',
}

export const WRONG_KEY: ElevenlabsError = {
  status: 401,
  type: 'authentication_error',
  code: 'invalid_api_key',
  message: 'Invalid API key',
}

export function invalid(code: string, message: string, param?: string): ElevenlabsError {
  return {
    status: 400,
    type: 'validation_error',
    code,
    message,
    ...(param !== undefined && { param }),
  }
}

export function notFound(code: string, message: string): ElevenlabsError {
  return { status: 404, type: 'not_found', code, message }
}

export function textTooLong(length: number, limit: number): ElevenlabsError {
  const message = `This request's text has ${length} characters and exceeds the character limit of ${limit} characters.`
  return { ...invalid('text_too_long', message, 'text'), legacy: 'max_character_limit_exceeded' }
}

export function elevenlabsFault(
  fault: Fault,
  model: string,
  directives: Directives,
): ElevenlabsError {
  switch (fault) {
    case '401':
      return WRONG_KEY
    case '404':
      return notFound('model_not_found', `A model with model_id ${model} was not found.`)
    case '429':
      return rateLimited(directives)
    case '500':
      return {
        status: 500,
        type: 'internal_error',
        code: 'internal_error',
        legacy: 'something_went_wrong',
        message: 'We are sorry, something went wrong. You are not charged for this request.',
      }
    case 'overloaded':
      return {
        status: 503,
        type: 'service_unavailable',
        code: 'service_unavailable',
        message: 'The service is temporarily unavailable. Please try again later.',
      }
    case 'quota':
      // Not a credential problem at all, yet it comes with the status of one.
      return {
        status: 401,
        type: 'authentication_error',
        code: 'quota_exceeded',
        message: 'This request exceeds your quota of 10000. You have 0 credits remaining.',
      }
    case 'blocked':
      return {
        status: 403,
        type: 'authorization_error',
        code: 'content_against_policy',
        message:
          'The text you are trying to use may violate our Terms of Service and has been blocked.',
      }
    case 'too_long':
      return textTooLong(20_000, 10_000)
    case 'unverified':
      return {
        status: 403,
        type: 'authorization_error',
        code: 'subscription_required',
        message: 'This feature needs a higher subscription.',
      }
  }
}

function rateLimited(directives: Directives): ElevenlabsError {
  const retry_s = directiveNumber(directives['429'], MAX_RETRY_S) ?? DEFAULT_RETRY_S
  return {
    status: 429,
    type: 'rate_limit_error',
    code: 'concurrent_limit_exceeded',
    legacy: 'too_many_concurrent_requests',
    message: 'Too many concurrent requests. Your current subscription allows 15 of them.',
    headers: { 'retry-after': String(Math.ceil(retry_s)) },
  }
}
