// What Anthropic's failures mean.

import {
  FILTERED,
  MISCONFIGURED,
  type ProviderErrors,
  type Rule,
  TOO_LONG,
} from '../error-mapping.ts'
import { recordOf, textOf } from '../json-values.ts'

const RULES: readonly Rule[] = [
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
    when: ({ status, message }) =>
      status === 400 && /prompt is too long|exceed context limit/.test(message),
  },
]

export const ANTHROPIC_ERRORS: ProviderErrors = {
  provider: 'anthropic',
  rules: RULES,
  typeOf: (error) => textOf(error['type']),
  codeOf: (error) => textOf(recordOf(error['details'])['error_code']),
}
