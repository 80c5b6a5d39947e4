// A provider's failure in our own codes. One table for each provider, first match wins, then the table
// of statuses that mean the same everywhere. A provider's own words go to the caller only where the
// caller's request is at fault: what it says about our account is for the log.

import { ApiError, type ErrorCode } from '../../platform/errors.ts'
import { HttpFailure } from '../../platform/http-call.ts'
import { EventTooLarge } from '../../platform/sse.ts'
import { isRecord, listOf, numberOf, parseJson, recordOf, textOf } from './json-values.ts'
import { retryAfterSeconds } from './retry-after.ts'

const MAX_RETRY_AFTER_S = 3600
const MAX_PROVIDER_TEXT = 500
const SHORTEN = 'Shorten the prompt or choose a model with a larger context window.'

export type ProviderName = 'openai' | 'anthropic' | 'google'

export type ErrorAnswer = {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  body: string
  now: Date
}

/** What the tables look at. */
type Failure = {
  status: number
  type: string
  code: string
  param: string
  message: string
  details: unknown
}

type Verdict = { code: ErrorCode; hint?: string; quotes_provider?: boolean }
type Rule = Verdict & { when(failure: Failure): boolean }

const MISCONFIGURED: Verdict = { code: 'provider_misconfigured' }
const FILTERED: Verdict = { code: 'content_filtered' }
const TOO_LONG: Verdict = { code: 'bad_request', hint: SHORTEN, quotes_provider: true }

const OPENAI_ACCOUNT_CODES = [
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
]

const OPENAI_RULES: readonly Rule[] = [
  {
    ...MISCONFIGURED,
    when: ({ type, code }) => type === 'insufficient_quota' || OPENAI_ACCOUNT_CODES.includes(code),
  },
  // An organisation that is not verified may not stream the newer models.
  {
    ...MISCONFIGURED,
    when: ({ status, code, param, message }) =>
      status === 400 &&
      ((code === 'unsupported_value' && param === 'stream') ||
        message.includes('must be verified')),
  },
  {
    ...FILTERED,
    when: ({ status, code, message }) =>
      status === 400 &&
      (['invalid_prompt', 'content_policy_violation', 'moderation_blocked'].includes(code) ||
        message.includes('rejected as a result of')),
  },
  {
    ...TOO_LONG,
    when: ({ status, code }) =>
      status === 400 && ['context_length_exceeded', 'string_above_max_length'].includes(code),
  },
  {
    ...TOO_LONG,
    quotes_provider: false,
    when: ({ status, message }) => status === 429 && /request too large/i.test(message),
  },
]

const ANTHROPIC_RULES: readonly Rule[] = [
  {
    ...MISCONFIGURED,
    when: ({ code, message }) =>
      ['enforced_spend_limit_reached', 'organization_on_hold'].includes(code) ||
      /credit balance is too low|usage limits?\b|spend(ing)? limit/i.test(message),
  },
  {
    ...FILTERED,
    when: ({ status, message }) => status === 400 && message.includes('content filtering policy'),
  },
  {
    ...TOO_LONG,
    when: ({ status, message }) => status === 400 && message.includes('prompt is too long'),
  },
]

const GOOGLE_RULES: readonly Rule[] = [
  {
    ...MISCONFIGURED,
    when: ({ status, type, details }) =>
      status === 400 && (type === 'FAILED_PRECONDITION' || hasReason(details, 'API_KEY_INVALID')),
  },
  {
    ...MISCONFIGURED,
    when: ({ status, message, details }) => status === 429 && isPlanQuota(message, details),
  },
  {
    ...TOO_LONG,
    when: ({ status, message }) =>
      status === 400 && message.includes('exceeds the maximum number of tokens'),
  },
]

const SHARED_RULES: readonly Rule[] = [
  // A 404 is about a model of our catalogue: retired, or not open to our account.
  { ...MISCONFIGURED, when: ({ status }) => [401, 402, 403, 404].includes(status) },
  { ...TOO_LONG, quotes_provider: false, when: ({ status }) => status === 413 },
  { code: 'provider_rate_limited', when: ({ status }) => status === 429 },
  {
    code: 'bad_request',
    quotes_provider: true,
    when: ({ status }) => [400, 409, 422].includes(status),
  },
  {
    code: 'provider_unavailable',
    when: ({ status }) => [500, 502, 503, 529].includes(status),
  },
  { code: 'provider_timeout', when: ({ status }) => [408, 504].includes(status) },
]

const RULES: Readonly<Record<ProviderName, readonly Rule[]>> = {
  openai: [...OPENAI_RULES, ...SHARED_RULES],
  anthropic: [...ANTHROPIC_RULES, ...SHARED_RULES],
  google: [...GOOGLE_RULES, ...SHARED_RULES],
}

/** An answer whose status is not 200. */
export function errorFromAnswer(provider: ProviderName, answer: ErrorAnswer): ApiError {
  const failure = readFailure(provider, parseJson(answer.body), answer.status)
  return toApiError(provider, failure, answer)
}

/** An error inside a stream that began well: the status it would have had follows from its type. */
export function errorFromEvent(provider: ProviderName, event: unknown, now: Date): ApiError {
  const failure = readFailure(provider, event, 0)
  const status = numberOf(recordOf(errorOf(event))['code']) ?? statusOf(failure)
  return toApiError(provider, { ...failure, status }, { status, headers: {}, body: '', now })
}

/** A connection that failed, or bytes that make no sense. */
export function errorFromTransport(provider: ProviderName, error: unknown): ApiError {
  if (error instanceof ApiError) return error
  const detail = `${provider}: ${error instanceof Error ? error.message : 'unknown failure'}`
  if (error instanceof EventTooLarge)
    return new ApiError('upstream_error', { detail, cause: error })
  if (!(error instanceof HttpFailure)) throw error
  switch (error.kind) {
    case 'timeout':
      return new ApiError('provider_timeout', { detail, cause: error })
    case 'too_large':
      return new ApiError('upstream_error', { detail, cause: error })
    case 'busy':
      return new ApiError('service_unavailable', {
        detail,
        cause: error,
        headers: { 'retry-after': '1' },
      })
    case 'aborted':
    case 'cut':
    case 'unreachable':
      return new ApiError('provider_unavailable', { detail, cause: error })
  }
}

/** An answer with status 200 that is not what the protocol says. */
export function senseless(provider: ProviderName, what: string): ApiError {
  return new ApiError('upstream_error', { detail: `${provider}: ${what}` })
}

/** A stream that ended in good order, but before the answer did. */
export function endedEarly(provider: ProviderName): ApiError {
  return new ApiError('provider_unavailable', { detail: `${provider}: the stream ended too early` })
}

export function filtered(provider: ProviderName, reason: string): ApiError {
  return new ApiError('content_filtered', { detail: `${provider}: ${reason}` })
}

function toApiError(provider: ProviderName, failure: Failure, answer: ErrorAnswer): ApiError {
  const verdict: Verdict = RULES[provider].find((rule) => rule.when(failure)) ?? {
    code: 'upstream_error',
  }
  const { headers, now } = answer
  const wait_s = retryAfterSeconds({ headers, details: failure.details, now })
  const detail = describe(provider, failure)
  const limited = verdict.code === 'provider_rate_limited'
  const long = wait_s !== undefined && wait_s > MAX_RETRY_AFTER_S
  // Nobody waits for an hour: that is a plan which is used up.
  if (limited && long) return new ApiError(MISCONFIGURED.code, { detail })
  const waits = (limited || verdict.code === 'provider_unavailable') && !long
  return new ApiError(verdict.code, {
    ...wordsOf(verdict, failure),
    detail,
    ...(waits && wait_s !== undefined && { headers: { 'retry-after': String(wait_s) } }),
  })
}

function wordsOf(verdict: Verdict, failure: Failure): { message?: string; hint?: string } {
  const text = verdict.quotes_provider === true ? trimText(failure.message) : ''
  return {
    ...(text !== '' && { message: text }),
    ...(verdict.hint !== undefined && { hint: verdict.hint }),
  }
}

/** For the log. Messages about a wrong key quote the key, so they stay out. */
function describe(provider: ProviderName, failure: Failure): string {
  const { status, type, code, message, details } = failure
  const about_key = status === 401 || hasReason(details, 'API_KEY_INVALID')
  const parts = [provider, String(status), type, code, about_key ? '' : trimText(message)]
  return parts.filter((part) => part !== '').join(' ')
}

function trimText(text: string): string {
  const clean = text.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return clean.length > MAX_PROVIDER_TEXT ? `${clean.slice(0, MAX_PROVIDER_TEXT - 1)}…` : clean
}

function readFailure(provider: ProviderName, body: unknown, status: number): Failure {
  const error = recordOf(errorOf(body))
  const details = error['details']
  return {
    status,
    type: textOf(provider === 'google' ? error['status'] : error['type']),
    code: textOf(provider === 'anthropic' ? recordOf(details)['error_code'] : error['code']),
    param: textOf(error['param']),
    message: textOf(error['message']),
    details,
  }
}

/** Google wraps errors of some streams in a list. */
function errorOf(body: unknown): unknown {
  return recordOf(Array.isArray(body) ? body[0] : body)['error']
}

const STATUS_BY_TYPE: Readonly<Record<string, number>> = {
  // Anthropic
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
  // OpenAI
  server_error: 500,
  service_unavailable_error: 503,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
}

function statusOf({ type, code }: Failure): number {
  return STATUS_BY_TYPE[code] ?? STATUS_BY_TYPE[type] ?? 500
}

function hasReason(details: unknown, reason: string): boolean {
  return listOf(details).some((detail) => recordOf(detail)['reason'] === reason)
}

/** A quota per day, or of zero, belongs to a plan: waiting a minute does not help. */
function isPlanQuota(message: string, details: unknown): boolean {
  if (/limit: 0\b/.test(message)) return true
  const violations = listOf(details).flatMap((detail) => listOf(recordOf(detail)['violations']))
  return violations
    .filter(isRecord)
    .some(({ quotaId, quotaValue }) => textOf(quotaId).includes('PerDay') || quotaValue === '0')
}
