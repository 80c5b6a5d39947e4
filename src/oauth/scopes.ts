// What an app may be allowed. A closed list: the specification has two.

import { ApiError } from '../platform/errors.ts'

export const SCOPES = ['credits.read', 'credits.spend'] as const
export type Scope = (typeof SCOPES)[number]

const SCOPE_LENGTH_MAX = 256

/** In the order of the list and each once, so that two spellings of one wish are equal. */
export function parseScopes(text: string, allowed: readonly Scope[]): Scope[] {
  const asked = text.length > SCOPE_LENGTH_MAX ? [text] : text.split(' ').filter(Boolean)
  if (asked.length === 0 || !asked.every((scope) => allowed.some((one) => one === scope))) {
    throw new ApiError('invalid_scope', {
      message: 'A requested scope does not exist or is not allowed here.',
      hint: `Allowed: ${allowed.join(' ')}.`,
    })
  }
  return SCOPES.filter((scope) => asked.includes(scope))
}

/** What is left of a token's scopes when its app may do less by now. */
export function effectiveScopes(granted: readonly Scope[], allowed: readonly Scope[]): Scope[] {
  return granted.filter((scope) => allowed.includes(scope))
}

export function insufficientScope(scope: Scope): ApiError {
  return new ApiError('insufficient_scope', {
    message: `The token lacks the scope ${scope}.`,
    hint: `Ask the user again with scope=${scope} at /oauth/authorize; the app must be allowed it.`,
    headers: {
      'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"`,
    },
  })
}
