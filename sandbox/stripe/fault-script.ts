// Faults on demand: rules that name a request, and what shall go wrong with it. Where a fault strikes
// decides what the client must do about it, so each rule says on which side of the execution it is.

import { isObject, type JsonObject, objectOf, textOf } from '../json.ts'
import { badRequest, type ErrorType, StripeError } from './errors.ts'

const MAX_RULES = 1_000
const MAX_WAIT_MS = 600_000
const DEFAULT_SLOW_MS = 1_000

export const PLACES = ['before', 'during', 'after', 'after_saved'] as const
/**
 * before: nothing is executed and nothing saved under the key.
 * during: the key is taken; an error is saved instead of executing, slowness keeps the key busy.
 * after: executed and saved as it is; only the answer on its way is spoilt.
 * after_saved: executed, and the error is what the key replays from then on.
 */
export type Place = (typeof PLACES)[number]

const FAULTS = {
  status: ['before', 'during', 'after', 'after_saved'],
  slow: ['before', 'during', 'after'],
  timeout: ['before', 'after'],
  reset: ['before', 'after'],
  garbage: ['before', 'after'],
  cut: ['after'],
} as const satisfies Readonly<Record<string, readonly Place[]>>
export type FaultKind = keyof typeof FAULTS

export type Fault = {
  fault: FaultKind
  when: Place
  status: number
  code: string | null
  message: string | null
  ms: number
}
type Rule = Fault & {
  id: number
  method: string | null
  path: string | null
  match: JsonObject
  skip: number
  times: number
  hits: number
}

export type FaultScript = {
  add(wish: unknown): Rule
  /** The fault for this request, which is used up by it. */
  take(request: { method: string; path: string; params: JsonObject }): Fault | undefined
  rules(): readonly Rule[]
  clear(): void
}

export function createFaultScript(): FaultScript {
  let rules: Rule[] = []
  let count = 0
  return {
    add(wish) {
      if (rules.length >= MAX_RULES) throw badRequest(`At most ${MAX_RULES} faults can wait.`)
      count += 1
      const rule = readRule(objectOf(wish), count)
      rules.push(rule)
      return rule
    },
    take(request) {
      const matching = rules.find((rule) => matches(rule, request) && !isSkipped(rule))
      if (matching === undefined) return undefined
      matching.hits += 1
      matching.times -= 1
      if (matching.times <= 0) rules = rules.filter((rule) => rule !== matching)
      return matching
    },
    rules: () => rules,
    clear() {
      rules = []
    },
  }
}

/** The error that a `status` fault answers with, as Stripe would word it. */
export function faultError(fault: Fault, key: string): StripeError {
  const { status } = fault
  const known = ERRORS[status]
  const type: ErrorType = known?.type ?? (status >= 500 ? 'api_error' : 'invalid_request_error')
  const code = fault.code ?? known?.code
  return new StripeError(status, type, {
    message:
      fault.message ?? known?.message.replace('{key}', key) ?? 'The sandbox was asked to fail.',
    ...(code !== undefined && { code }),
  })
}

const ERRORS: Readonly<Record<number, { type: ErrorType; code?: string; message: string }>> = {
  402: { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' },
  403: {
    type: 'invalid_request_error',
    message: 'The provided key does not have the required permissions for this endpoint.',
  },
  409: {
    type: 'idempotency_error',
    code: 'idempotency_key_in_use',
    message:
      'There is currently another in-progress request using this Idempotency Key (that probably means you submitted twice, and the other request is still going through): {key}. Please try again later.',
  },
  429: {
    type: 'invalid_request_error',
    code: 'rate_limit',
    message:
      'Request rate limit exceeded. Learn more about rate limits here https://stripe.com/docs/rate-limits.',
  },
  500: {
    type: 'api_error',
    message: 'An unknown error occurred',
  },
  503: { type: 'api_error', message: 'Service temporarily unavailable' },
}

function readRule(wish: JsonObject, id: number): Rule {
  for (const name of Object.keys(wish)) {
    if (!NAMES.includes(name)) throw badRequest(`A fault has no '${name}'.`, { param: name })
  }
  const fault = wish['fault'] ?? 'status'
  if (!isFaultKind(fault)) {
    throw badRequest(`fault: one of ${Object.keys(FAULTS).join(', ')}`, { param: 'fault' })
  }
  const allowed: readonly Place[] = FAULTS[fault]
  const when = allowed.find((place) => place === (wish['when'] ?? allowed[0]))
  if (when === undefined) {
    throw badRequest(`when: ${fault} can strike ${allowed.join(', ')}`, { param: 'when' })
  }
  return {
    id,
    fault,
    when,
    status: readNumber(wish, 'status', { fallback: fault === 'garbage' ? 502 : 500, max: 599 }),
    code: textOf(wish['code']) || null,
    message: textOf(wish['message']) || null,
    ms: readNumber(wish, 'ms', { fallback: DEFAULT_SLOW_MS, max: MAX_WAIT_MS }),
    method: textOf(wish['method']).toUpperCase() || null,
    path: textOf(wish['path']) || null,
    match: isObject(wish['match']) ? wish['match'] : {},
    skip: readNumber(wish, 'skip', { fallback: 0, max: 1_000_000 }),
    times: readNumber(wish, 'times', { fallback: 1, max: 1_000_000 }),
    hits: 0,
  }
}

const NAMES = [
  'code',
  'fault',
  'match',
  'message',
  'method',
  'ms',
  'path',
  'skip',
  'status',
  'times',
  'when',
]

function isFaultKind(value: unknown): value is FaultKind {
  return typeof value === 'string' && Object.hasOwn(FAULTS, value)
}

function readNumber(
  wish: JsonObject,
  name: string,
  { fallback, max }: { fallback: number; max: number },
): number {
  const value = wish[name] ?? fallback
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max) {
    return value
  }
  throw badRequest(`${name}: a whole number from 0 to ${max}`, { param: name })
}

function matches(
  rule: Rule,
  request: { method: string; path: string; params: JsonObject },
): boolean {
  return (
    (rule.method === null || rule.method === request.method) &&
    (rule.path === null || matchesPath(rule.path, request.path)) &&
    Object.entries(rule.match).every(([name, value]) => request.params[name] === String(value))
  )
}

/** A star stands for one part of the path. */
function matchesPath(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const parts = path.split('/')
  return (
    wanted.length === parts.length && wanted.every((part, at) => part === '*' || part === parts[at])
  )
}

function isSkipped(rule: Rule): boolean {
  if (rule.skip === 0) return false
  rule.skip -= 1
  return true
}
