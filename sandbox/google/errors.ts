// Google's error bodies: a code that repeats the status, a status word, and details that carry the
// machine-readable part (which quota, how long to wait, what is wrong with the key).

import { type Directives, directiveNumber } from '../directives.ts'
import type { Fault } from '../faults.ts'
import { type Frame, type HeaderList, jsonReply, type Reply } from '../reply.ts'

const DEFAULT_RETRY_S = 2
const MAX_RETRY_S = 86_400
const RPC = 'type.googleapis.com/google.rpc'

export const GOOGLE_HEADERS: HeaderList = {
  'content-type': 'application/json; charset=UTF-8',
  vary: 'Origin, X-Origin, Referer',
  server: 'scaffolding on HTTPServer2',
  'server-timing': 'gfet4t7; dur=42',
}

export type GoogleError = {
  code: number
  status: string
  message: string
  details?: readonly object[]
}

/** A stream that is not read as events is one JSON array, and so are its errors. */
export function errorReply(error: GoogleError, in_array: boolean): Reply {
  const body = errorBody(error)
  return jsonReply(error.code, in_array ? [body] : body, GOOGLE_HEADERS)
}

export function invalidArgument(message: string, details: readonly object[] = []): GoogleError {
  return { code: 400, status: 'INVALID_ARGUMENT', message, ...(details.length > 0 && { details }) }
}

/** The path is in the spelling of the protocol buffers, and empty at the top. */
export function unknownField(name: string, path: string): GoogleError {
  const place = path === '' ? '' : ` at '${path}'`
  const description = `Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`
  return badField(path, description)
}

export function badField(field: string, description: string): GoogleError {
  return invalidArgument(description, [
    { '@type': `${RPC}.BadRequest`, fieldViolations: [{ field, description }] },
  ])
}

export const MISSING_KEY: GoogleError = {
  code: 403,
  status: 'PERMISSION_DENIED',
  message:
    "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.",
}

export const WRONG_KEY: GoogleError = invalidArgument(
  'API key not valid. Please pass a valid API key.',
  [
    {
      '@type': `${RPC}.ErrorInfo`,
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
      metadata: { service: 'generativelanguage.googleapis.com' },
    },
    {
      '@type': `${RPC}.LocalizedMessage`,
      locale: 'en-US',
      message: 'API key not valid. Please pass a valid API key.',
    },
  ],
)

export function unknownModel(model: string, method: string): GoogleError {
  const message = `models/${model} is not found for API version v1beta, or is not supported for ${method}. Call ListModels to see the list of available models and their supported methods.`
  return { code: 404, status: 'NOT_FOUND', message }
}

export function retiredModel(model: string): GoogleError {
  const message = `This model models/${model} is no longer available. Please update your code to use a newer model for the latest features and improvements.`
  return { code: 404, status: 'NOT_FOUND', message }
}

export function promptTooLong(used_tokens: number, limit_tokens: number): GoogleError {
  return invalidArgument(
    `The input token count (${used_tokens}) exceeds the maximum number of tokens allowed (${limit_tokens}).`,
  )
}

const OVERLOADED: GoogleError = {
  code: 503,
  status: 'UNAVAILABLE',
  message: 'The model is overloaded. Please try again later.',
}

export function streamErrorFrame(): Frame {
  return { kind: 'error', data: JSON.stringify(errorBody(OVERLOADED)) }
}

/** `blocked` is no error at Google: the answer says so with status 200. */
export type GoogleFault = Exclude<Fault, 'blocked'>

export function googleFault(
  fault: GoogleFault,
  model: string,
  directives: Directives,
): GoogleError {
  switch (fault) {
    case '401':
      return WRONG_KEY
    case '404':
      return unknownModel(model, 'generateContent')
    case '429':
      return quotaExceeded(model, 'Minute', directiveNumber(directives['429'], MAX_RETRY_S))
    case '500':
      return {
        code: 500,
        status: 'INTERNAL',
        message:
          'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
      }
    case 'overloaded':
      return OVERLOADED
    case 'quota':
      return quotaExceeded(model, 'Day', undefined)
    case 'too_long':
      return promptTooLong(1_250_000, 1_048_576)
    case 'unverified':
      return {
        code: 400,
        status: 'FAILED_PRECONDITION',
        message: 'User location is not supported for the API use.',
      }
  }
}

function quotaExceeded(model: string, period: string, asked_s: number | undefined): GoogleError {
  const retry_s = asked_s ?? DEFAULT_RETRY_S
  const quotaMetric = 'generativelanguage.googleapis.com/generate_content_paid_tier_requests'
  return {
    code: 429,
    status: 'RESOURCE_EXHAUSTED',
    message: `You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: ${quotaMetric}, limit: 100, model: ${model}\nPlease retry in ${retry_s}s.`,
    details: [
      {
        '@type': `${RPC}.QuotaFailure`,
        violations: [
          {
            quotaMetric,
            quotaId: `GenerateRequestsPer${period}PerProjectPerModel`,
            quotaDimensions: { location: 'global', model },
            quotaValue: '100',
          },
        ],
      },
      {
        '@type': `${RPC}.Help`,
        links: [
          {
            description: 'Learn more about Gemini API quotas',
            url: 'https://ai.google.dev/gemini-api/docs/rate-limits',
          },
        ],
      },
      { '@type': `${RPC}.RetryInfo`, retryDelay: `${retry_s}s` },
    ],
  }
}

function errorBody({ code, message, status, details }: GoogleError) {
  return { error: { code, message, status, ...(details !== undefined && { details }) } }
}
