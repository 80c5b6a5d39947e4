// A provider's failure in our own codes. Each provider has its own table, first match wins, then comes
// the one of statuses that mean the same everywhere. A provider's own words go to the caller only where the
// caller's request is at fault: what it says about our account is for the log.

import { ApiError, type ErrorCode } from '../../platform/errors.ts'
import { HttpFailure } from '../../platform/http-call.ts'
import { EventTooLarge } from '../../platform/sse.ts'
import { type JsonRecord, listOf, numberOf, parseJson, recordOf, textOf } from './json-values.ts'
import { retryAfterSeconds } from './retry-after.ts'

const MAX_RETRY_AFTER_S = 3600
/** Where a provider limits a call and does not say for how long. */
const USUAL_RETRY_AFTER_S = 2
const MAX_PROVIDER_TEXT = 500
/** What a code or the path of a field looks like: no words, which could say anything. */
const NAME = /^[\w.[\]-]{1,100}$/
const SHORTEN = 'Shorten the prompt or choose a model with a larger context window.'

export type ProviderName = 'openai' | 'anthropic' | 'google' | 'elevenlabs'

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

/** How one provider says what went wrong. */
export type ProviderErrors = {
  provider: ProviderName
  /** First match wins; then come the rules that all providers share. */
  rules: readonly Rule[]
  typeOf(error: JsonRecord): string
  codeOf(error: JsonRecord): string
  /** Where the error stands in the body, if not in `error`. */
  errorOf?(body: JsonRecord): JsonRecord
}

export type Told = { param?: string; provider_code?: string }

type Verdict = { code: ErrorCode; hint?: string; quotes_provider?: boolean }
export type Rule = Verdict & { when(failure: Failure): boolean }

export const MISCONFIGURED: Verdict = { code: 'provider_misconfigured' }
export const FILTERED: Verdict = { code: 'content_filtered' }
export const TOO_LONG: Verdict = { code: 'bad_request', hint: SHORTEN, quotes_provider: true }

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

/** An answer whose status is not 200. */
export function errorFromAnswer(errors: ProviderErrors, answer: ErrorAnswer): ApiError {
  const failure = readFailure(errors, parseJson(answer.body), answer.status)
  return toApiError(errors, failure, answer)
}

/** An error inside a stream that began well: the status it would have had follows from its type. */
export function errorFromEvent(errors: ProviderErrors, event: unknown, now: Date): ApiError {
  const failure = readFailure(errors, event, 0)
  const status = numberOf(recordOf(errorOf(event))['code']) ?? statusOf(failure)
  return toApiError(errors, { ...failure, status }, { status, headers: {}, body: '', now })
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

/** `provider_code`: the provider's own word for why. */
export function filtered(provider: ProviderName, reason: string, provider_code?: string): ApiError {
  const detail = `${provider}: ${reason}`
  return new ApiError('content_filtered', { detail, ...namesOf({ provider_code }) })
}

function toApiError(errors: ProviderErrors, failure: Failure, answer: ErrorAnswer): ApiError {
  const verdict: Verdict = [errors.rules, SHARED_RULES]
    .flatMap((rules) => rules.find((rule) => rule.when(failure)) ?? [])
    .at(0) ?? { code: 'upstream_error' }
  const { headers, now } = answer
  const wait_s = retryAfterSeconds({ headers, details: failure.details, now })
  const detail = describe(errors.provider, failure)
  const limited = verdict.code === 'provider_rate_limited'
  const long = wait_s !== undefined && wait_s > MAX_RETRY_AFTER_S
  // Nobody waits for an hour: that is a plan which is used up.
  if (limited && long) return new ApiError(MISCONFIGURED.code, { detail })
  const wait = limited || (verdict.code === 'provider_unavailable' && !long)
  const told_s = wait_s ?? (limited ? USUAL_RETRY_AFTER_S : undefined)
  return new ApiError(verdict.code, {
    ...wordsOf(verdict, failure),
    ...toldOf(verdict, failure),
    detail,
    ...(wait && told_s !== undefined && { headers: { 'retry-after': String(told_s) } }),
  })
}

function wordsOf(verdict: Verdict, failure: Failure): { message?: string; hint?: string } {
  const text = verdict.quotes_provider === true ? trimText(failure.message) : ''
  return {
    ...(text !== '' && { message: text }),
    ...(verdict.hint !== undefined && { hint: verdict.hint }),
  }
}

/** What clients match on. What is wrong with our account has no name. */
function toldOf({ code }: Verdict, failure: Failure): Told {
  if (code === MISCONFIGURED.code) return {}
  const provider_code = [failure.code, failure.type].find((name) => name !== '')
  return namesOf({ provider_code, param: failure.param })
}

function namesOf(names: Partial<Record<keyof Told, string | undefined>>): Told {
  return Object.fromEntries(
    Object.entries(names).filter(([, name]) => name !== undefined && NAME.test(name)),
  )
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

function readFailure(errors: ProviderErrors, body: unknown, status: number): Failure {
  const error = errors.errorOf?.(recordOf(body)) ?? recordOf(errorOf(body))
  const details = error['details']
  return {
    status,
    type: errors.typeOf(error),
    code: errors.codeOf(error),
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
  invalid_prompt: 400,
  context_length_exceeded: 400,
  bio_policy: 400,
  cyber_policy: 400,
  misalignment_policy_violation: 400,
  image_content_policy_violation: 400,
  invalid_image: 400,
  invalid_image_format: 400,
  invalid_base64_image: 400,
  invalid_image_url: 400,
  image_too_large: 400,
  image_too_small: 400,
  image_parse_error: 400,
  image_file_too_large: 400,
  unsupported_image_media_type: 400,
  empty_image_file: 400,
  failed_to_download_image: 400,
}

function statusOf({ type, code }: Failure): number {
  return STATUS_BY_TYPE[code] ?? STATUS_BY_TYPE[type] ?? 500
}

export function hasReason(details: unknown, reason: string): boolean {
  return listOf(details).some((detail) => recordOf(detail)['reason'] === reason)
}
