// What OpenAI's failures mean.

import {
  FILTERED,
  MISCONFIGURED,
  type ProviderErrors,
  type Rule,
  TOO_LONG,
} from '../error-mapping.ts'
import { textOf } from '../json-values.ts'

const ACCOUNT_CODES = [
  'insufficient_quota',
  'credit_balance_exhausted',
  'organization_spend_limit_exceeded',
  'project_spend_limit_exceeded',
  'organization_usage_limit_exceeded',
]

const FILTER_CODES = [
  'invalid_prompt',
  'content_policy_violation',
  'moderation_blocked',
  'bio_policy',
  'cyber_policy',
  'misalignment_policy_violation',
  'image_content_policy_violation',
]

const RULES: readonly Rule[] = [
  {
    ...MISCONFIGURED,
    when: ({ type, code }) => type === 'insufficient_quota' || ACCOUNT_CODES.includes(code),
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
      (FILTER_CODES.includes(code) || message.includes('rejected as a result of')),
  },
  {
    ...TOO_LONG,
    when: ({ status, code, message }) =>
      status === 400 &&
      (['context_length_exceeded', 'string_above_max_length'].includes(code) ||
        /maximum context length|tokens exceed the configured limit/i.test(message)),
  },
  {
    ...TOO_LONG,
    quotes_provider: false,
    when: ({ status, message }) => status === 429 && /request too large/i.test(message),
  },
]

export const OPENAI_ERRORS: ProviderErrors = {
  provider: 'openai',
  rules: RULES,
  typeOf: (error) => textOf(error['type']),
  codeOf: (error) => textOf(error['code']),
}
