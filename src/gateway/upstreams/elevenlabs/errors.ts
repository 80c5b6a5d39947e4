// What ElevenLabs' failures mean. Its errors stand in `detail`: one, or a list of fields that did not fit.

import {
  FILTERED,
  MISCONFIGURED,
  type ProviderErrors,
  type Rule,
  TOO_LONG,
} from '../error-mapping.ts'
import { isRecord, listOf, recordOf, textOf } from '../json-values.ts'

const UNKNOWN_VOICE = 'GET /v1/audio/voices lists the voices.'

const RULES: readonly Rule[] = [
  // Once a 401: what is used up is our plan, not the caller's credits.
  { ...MISCONFIGURED, when: ({ code }) => code === 'quota_exceeded' },
  { ...FILTERED, when: ({ code }) => code === 'content_against_policy' },
  {
    code: 'bad_request',
    hint: UNKNOWN_VOICE,
    quotes_provider: true,
    when: ({ code }) =>
      ['voice_not_found', 'invalid_voice_id', 'voice_access_denied'].includes(code),
  },
  {
    ...TOO_LONG,
    hint: 'Split the text over several requests.',
    when: ({ code }) => ['text_too_long', 'max_character_limit_exceeded'].includes(code),
  },
]

export const ELEVENLABS_ERRORS: ProviderErrors = {
  provider: 'elevenlabs',
  rules: RULES,
  typeOf: (error) => textOf(error['type']),
  codeOf: (error) => textOf(error['code'] ?? error['status']),
  errorOf({ detail }) {
    if (isRecord(detail)) return detail
    const fault = recordOf(listOf(detail)[0])
    const field = listOf(fault['loc']).at(-1)
    return { message: `${textOf(field)}: ${textOf(fault['msg'])}`, type: 'validation_error' }
  },
}
