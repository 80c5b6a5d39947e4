// What Google's failures mean.

import {
  hasReason,
  MISCONFIGURED,
  type ProviderErrors,
  type Rule,
  TOO_LONG,
} from '../error-mapping.ts'
import { isRecord, listOf, recordOf, textOf } from '../json-values.ts'

const RULES: readonly Rule[] = [
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
      status === 400 &&
      /(token count|payload size).*exceeds the (limit|maximum)|exceeds the maximum number of tokens/.test(
        message,
      ),
  },
]

export const GOOGLE_ERRORS: ProviderErrors = {
  provider: 'google',
  rules: RULES,
  typeOf: (error) => textOf(error['status']),
  codeOf: (error) => textOf(error['code']),
}

/** A quota per day, or of zero, belongs to a plan: waiting a minute does not help. */
function isPlanQuota(message: string, details: unknown): boolean {
  if (/limit: 0\b/.test(message)) return true
  const violations = listOf(details).flatMap((detail) => listOf(recordOf(detail)['violations']))
  return violations
    .filter(isRecord)
    .some(({ quotaId, quotaValue }) => textOf(quotaId).includes('PerDay') || quotaValue === '0')
}
