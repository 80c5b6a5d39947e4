// How deep JSON may be nested. What reads a body further on (validation, canonical hashing, serialising) calls itself for
// each level and would run out of stack; JSON.parse does not, so what it gives is measured here, once for every route.

import { ApiError } from '../platform/errors.ts'

/** Real schemas of tools stay under 30. */
export const JSON_DEPTH_MAX = 100

/** `text` is what `value` was parsed from: a short one cannot be too deep, and is not walked. */
export function isShallowJson(text: string, value: unknown): boolean {
  return text.length <= 2 * JSON_DEPTH_MAX || isShallow(value, JSON_DEPTH_MAX)
}

export function tooDeep(): ApiError {
  return new ApiError('bad_request', {
    message: `The JSON body is nested deeper than ${JSON_DEPTH_MAX} levels.`,
    hint: 'Send it flatter. A tool whose schema is that deep can be split into several.',
  })
}

/**
 * Calls itself at most `levels` times deep. Text is passed over, so that a chat of 1 MB takes 1.3 % of what parsing it took;
 * a scan of the characters took 57 %.
 */
function isShallow(value: unknown, levels: number): boolean {
  if (Array.isArray(value)) {
    if (levels === 0) return false
    for (const item of value) if (isTooDeep(item, levels - 1)) return false
  } else if (isRecord(value)) {
    if (levels === 0) return false
    // Nothing is inherited: the parser makes plain objects and refuses `__proto__`.
    for (const name in value) if (isTooDeep(value[name], levels - 1)) return false
  }
  return true
}

function isTooDeep(value: unknown, levels: number): boolean {
  return typeof value === 'object' && !isShallow(value, levels)
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
