// Every refusal leaves through here: one table of codes, three bodies (OpenAI's, Anthropic's, OAuth's).
// What is not an ApiError is a defect: it is logged whole and answered with nothing but the request id.

import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type ErrorCode } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import type { Dialect } from './access.ts'
import { html } from './html.ts'
import { renderNotice, sendFormPage, wantsPage } from './page.ts'
import { addressBucket, type RateLimits, setLimitHeaders } from './rate-limit.ts'

const ERROR_TYPES: Record<number, string> = {
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
}

/** What OAuth clients know by another name (RFC 6749, sections 4.1.2.1 and 5.2). */
const OAUTH_CODES: Partial<Record<ErrorCode, string>> = {
  bad_request: 'invalid_request',
  internal_error: 'server_error',
  service_unavailable: 'temporarily_unavailable',
}

/** The name of a field that is too much is the caller's own, of any length. */
const PARAM_MAX = 200

export type ErrorHandlerOptions = { public_url: string; limits: RateLimits; log: Log }

export function createErrorHandler(options: ErrorHandlerOptions) {
  return (thrown: FastifyError | Error, request: FastifyRequest, reply: FastifyReply) => {
    const error = toApiError(thrown, request.policy.invalid)
    // What fails before it is counted still shows the limits.
    if (!reply.hasHeader('x-ratelimit-limit')) {
      setLimitHeaders(reply, options.limits.peek('global', addressBucket(request.ip)))
    }
    const fields = { request_id: request.id, code: error.code, err: thrown }
    if (error.status >= 500 && error.code !== 'service_unavailable')
      options.log.error(fields, 'failed')
    else if (error.detail !== undefined || error.status >= 500) options.log.warn(fields, 'refused')
    if (request.policy.page && wantsPage(request)) {
      // As the form it stands in for: a popup that fails once must not lose its opener.
      const page = renderErrorPage(error, request.id)
      return sendFormPage(reply.headers(error.headers), page, { status: error.status })
    }
    const body = renderError(error, {
      dialect: dialectOf(request),
      request_id: request.id,
      public_url: options.public_url,
    })
    return reply.code(error.status).headers(error.headers).type('application/json').send(body)
  }
}

export function renderError(
  error: ApiError,
  context: { dialect: Dialect; request_id: string; public_url: string },
): string {
  const { code, message, hint, param, provider_code } = error
  const told = { hint, param, provider_code }
  const docs_url = `${context.public_url}/docs/errors#${code}`
  const { request_id } = context
  switch (context.dialect) {
    case 'openai':
      return JSON.stringify({
        error: {
          code,
          message,
          type: errorType(error.status),
          ...told,
          ...error.fields,
          docs_url,
          request_id,
        },
      })
    case 'anthropic':
      return JSON.stringify({
        type: 'error',
        error: { type: code, message, code, ...told, docs_url, details: error.details },
        request_id,
      })
    case 'oauth':
      return JSON.stringify({
        error: OAUTH_CODES[code] ?? code,
        error_description: toPlainText(hint === undefined ? message : `${message} ${hint}`),
        code,
        message,
        docs_url,
        request_id,
      })
  }
}

/** For people. The code is there for whoever they ask for help. */
function renderErrorPage(error: ApiError, request_id: string): string {
  return renderNotice({
    title: 'This did not work',
    text: error.message,
    hint: error.status === 429 ? describeWait(error) : error.hint,
    details: html`<p class="field-hint">Code <code>${error.code}</code>, request <code>${request_id}</code></p>`,
  })
}

/** The table's hint names headers, which a person does not see. */
function describeWait(error: ApiError): string {
  const wait_s = error.headers['retry-after']
  const wait = wait_s === undefined || wait_s === '1' ? 'a moment' : `${wait_s} seconds`
  return `Wait ${wait}, then go back and try again.`
}

/** RFC 6749, section 5.2: printable ASCII without quote and backslash. */
function toPlainText(text: string): string {
  return text
    .replaceAll('…', '...')
    .replaceAll('"', "'")
    .replace(/[^\x20-\x5b\x5d-\x7e]/g, '?')
}

/** For what never became a request: a broken request line, too many headers. */
export function renderConnectionError(
  status: number,
  context: { public_url: string; request_id: string },
): string {
  const message =
    status === 431 ? 'The headers are too large.' : 'This is not a valid HTTP request.'
  return renderError(new ApiError('bad_request', { status, message }), {
    dialect: 'openai',
    ...context,
  })
}

export function dialectOf(request: FastifyRequest): Dialect {
  const declared = request.policy.dialect
  if (declared) return declared
  // Both kinds of clients list models at one address; Anthropic's say who they are.
  if (request.headers['anthropic-version'] !== undefined) return 'anthropic'
  return request.url.startsWith('/v1/messages') ? 'anthropic' : 'openai'
}

function toApiError(thrown: unknown, invalid: ErrorCode = 'bad_request'): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (!(thrown instanceof Error)) return new ApiError('internal_error', { cause: thrown })
  const fault: Error & Partial<FastifyError> = thrown
  if (fault.validation) return fromValidation(fault, invalid)
  const status = fault.statusCode
  if (status !== undefined && status >= 400 && status < 500) return fromFramework(thrown, status)
  return new ApiError('internal_error', { cause: thrown })
}

function fromValidation(thrown: Partial<FastifyError>, code: ErrorCode): ApiError {
  const [first] = thrown.validation ?? []
  const where = `${thrown.validationContext ?? 'request'}${first?.instancePath ?? ''}`.replaceAll(
    '/',
    '.',
  )
  return new ApiError(code, {
    message: `${where} ${first?.message ?? 'is not valid'}.`,
    hint: 'GET /docs describes every field.',
    ...(first && paramOf(first)),
  })
}

type Violation = NonNullable<FastifyError['validation']>[number]

/** The field at fault, as callers write its path; none where the whole body is. */
function paramOf({ instancePath, params }: Violation): { param?: string } {
  const within = instancePath.split('/').slice(1)
  // What is missing, or too much, stands beside the path.
  const name = params['missingProperty'] ?? params['additionalProperty']
  const path = typeof name === 'string' ? [...within, name] : within
  if (path.length === 0) return {}
  const param = path
    .map((step) => (/^\d+$/.test(step) ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')
  return { param: param.slice(0, PARAM_MAX) }
}

function fromFramework(thrown: Error & { code?: string }, status: number): ApiError {
  switch (status) {
    case 413:
      return new ApiError('bad_request', { status, message: 'The body is too large.' })
    case 414:
      return new ApiError('bad_request', { status, message: 'The address is too long.' })
    case 415:
      return new ApiError('bad_request', {
        status,
        message: 'The content type is not supported.',
        hint: 'Send `Content-Type: application/json`.',
      })
    case 408:
      return new ApiError('bad_request', {
        status,
        message: 'The request took too long to arrive.',
      })
    default:
      return isBodyFault(thrown)
        ? new ApiError('bad_request', {
            message: 'The body is not valid JSON.',
            hint: 'Send one JSON value; GET /docs has an example for each endpoint.',
            cause: thrown,
          })
        : new ApiError('bad_request', { cause: thrown })
  }
}

function isBodyFault(thrown: Error & { code?: string }): boolean {
  return (thrown.code?.startsWith('FST_ERR_CTP') ?? false) || thrown instanceof SyntaxError
}

function errorType(status: number): string {
  return ERROR_TYPES[status] ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
}
