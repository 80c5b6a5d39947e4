// Counts in a provider's report of what was used. A count that is absent is zero only beside counts that are
// there: no report at all is undefined, and the caller estimates. An explicit zero is data.

import { numberOf } from './json-values.ts'

const TOKENS_MAX = 1_000_000_000

/** A count beyond any model's reach is no count: the caller estimates, as where there is none. */
export function countOf(value: unknown): number | undefined {
  const number = numberOf(value)
  if (number === undefined || number > TOKENS_MAX) return undefined
  return Math.max(Math.ceil(number), 0)
}
