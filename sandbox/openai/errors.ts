// OpenAI's error bodies. Clients decide by status, `type` and `code`; the messages are close to the
// real ones because some of them are all that tells two errors apart.

import { type Call, requestId } from '../call.ts'
import { type Directives, directiveNumber } from '../directives.ts'
import type { Fault } from '../faults.ts'
import { type Frame, type HeaderList, jsonReply, type Reply } from '../reply.ts'

const DEFAULT_RETRY_S = 2
const MAX_RETRY_S = 86_400

export type OpenaiError = {
  status: number
  type: string
  code: string | null
  param: string | null
  message: string
  headers?: HeaderList
}

export function errorReply(error: OpenaiError, headers: HeaderList): Reply {
  const { message, type, param, code } = error
  const body = { error: { message, type, param, code } }
  return jsonReply(error.status, body, { ...headers, ...error.headers })
}

export function openaiHeaders(call: Call): HeaderList {
  return {
    'x-request-id': `req_${requestId(call, 32).toLowerCase()}`,
    'openai-organization': 'org-sandbox',
    'openai-processing-ms': '42',
    'openai-version': '2020-10-01',
    'x-ratelimit-limit-requests': '10000',
    'x-ratelimit-limit-tokens': '30000000',
    'x-ratelimit-remaining-requests': '9999',
    'x-ratelimit-remaining-tokens': '29999990',
    'x-ratelimit-reset-requests': '6ms',
    'x-ratelimit-reset-tokens': '0s',
  }
}

export function badRequest(
  message: string,
  param: string | null,
  code: string | null,
): OpenaiError {
  return { status: 400, type: 'invalid_request_error', code, param, message }
}

export const MISSING_KEY: OpenaiError = {
  status: 401,
  type: 'invalid_request_error',
  code: null,
  param: null,
  message:
    "You didn't provide an API key. You need to provide your API key in an Authorization header " +
    'using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).',
}

export function wrongKey(key: string): OpenaiError {
  const shown = `${key.slice(0, 8)}${'*'.repeat(Math.max(key.length - 12, 0))}${key.slice(-4)}`
  const message = `Incorrect API key provided: ${shown}. You can find your API key at https://platform.openai.com/account/api-keys.`
  return {
    status: 401,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    param: null,
    message,
  }
}

export function unknownModel(model: string): OpenaiError {
  return {
    status: 404,
    type: 'invalid_request_error',
    code: 'model_not_found',
    param: null,
    message: `The model \`${model}\` does not exist or you do not have access to it.`,
  }
}

export const ONLY_IN_RESPONSES: OpenaiError = {
  status: 404,
  type: 'invalid_request_error',
  code: null,
  param: 'model',
  message: 'This model is only supported in v1/responses and not in v1/chat/completions.',
}

export const NOT_A_CHAT_MODEL: OpenaiError = {
  ...ONLY_IN_RESPONSES,
  message:
    'This is not a chat model and thus not supported in the v1/chat/completions endpoint. Did you mean to use v1/completions?',
}

export const SERVER_ERROR: OpenaiError = {
  status: 500,
  type: 'server_error',
  code: null,
  param: null,
  message: 'The server had an error while processing your request. Sorry about that!',
}

/** The same failure inside a stream that already began with status 200. */
export function streamErrorFrame(): Frame {
  const { message, type, param, code } = SERVER_ERROR
  return { kind: 'error', data: JSON.stringify({ error: { message, type, param, code } }) }
}

export function openaiFault(fault: Fault, model: string, directives: Directives): OpenaiError {
  switch (fault) {
    case '401':
      return wrongKey('sk-sandbox-invalid-key')
    case '404':
      return unknownModel(model)
    case '429':
      return rateLimited(model, directives)
    case '500':
      return SERVER_ERROR
    case 'overloaded':
      return {
        status: 503,
        type: 'service_unavailable_error',
        code: 'server_is_overloaded',
        param: null,
        message: 'The server is currently overloaded with other requests. Please try again later.',
      }
    case 'quota':
      return {
        status: 429,
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        param: null,
        message: 'You exceeded your current quota, please check your plan and billing details.',
      }
    case 'blocked':
      return badRequest(
        'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
        null,
        'invalid_prompt',
      )
    case 'too_long':
      return promptTooLong(128_000, 250_000)
    case 'unverified':
      return badRequest(
        'Your organization must be verified to stream this model.',
        'stream',
        'unsupported_value',
      )
  }
}

/** The Responses API has its own words for a prompt that does not fit. */
export function responsesFault(fault: Fault, model: string, directives: Directives): OpenaiError {
  return fault === 'too_long' ? inputOverflow() : openaiFault(fault, model, directives)
}

export function inputOverflow(): OpenaiError {
  const message =
    'Your input exceeds the context window of this model. Please adjust your input and try again.'
  return badRequest(message, 'input', 'context_length_exceeded')
}

export function promptTooLong(limit_tokens: number, used_tokens: number): OpenaiError {
  const message = `This model's maximum context length is ${limit_tokens} tokens. However, your messages resulted in ${used_tokens} tokens. Please reduce the length of the messages.`
  return badRequest(message, 'messages', 'context_length_exceeded')
}

/** The prompt alone would fit, but not beside the answer that was asked for. */
export function answerTooLong(
  limit_tokens: number,
  prompt_tokens: number,
  answer_tokens: number,
): OpenaiError {
  const message = `This model's maximum context length is ${limit_tokens} tokens. However, you requested ${prompt_tokens + answer_tokens} tokens (${prompt_tokens} in the messages, ${answer_tokens} in the completion). Please reduce the length of the messages or completion.`
  return badRequest(message, 'messages', 'context_length_exceeded')
}

/** Models with a limit of their own for the prompt say so in other words. */
export function inputTooLong(limit_tokens: number, used_tokens: number): OpenaiError {
  const message = `Input tokens exceed the configured limit of ${limit_tokens} tokens. Your messages resulted in ${used_tokens} tokens. Please reduce the length of the messages.`
  return badRequest(message, 'messages', 'context_length_exceeded')
}

function rateLimited(model: string, directives: Directives): OpenaiError {
  const retry_s = directiveNumber(directives['429'], MAX_RETRY_S) ?? DEFAULT_RETRY_S
  return {
    status: 429,
    type: 'tokens',
    code: 'rate_limit_exceeded',
    param: null,
    message: `Rate limit reached for ${model} in organization org-sandbox on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in ${retry_s}s.`,
    headers: {
      'retry-after': String(Math.ceil(retry_s)),
      'retry-after-ms': String(Math.round(retry_s * 1000)),
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': `${retry_s}s`,
    },
  }
}
