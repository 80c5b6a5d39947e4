// Anthropic's messages.

import type { ProviderProfile } from '../contract.ts'
import { ANTHROPIC_ERRORS } from './errors.ts'
import { draftAnthropic } from './request.ts'

const VERSION = '2023-06-01'

export const anthropicProfile: ProviderProfile = {
  name: 'anthropic',
  dialect: 'anthropic',
  base_url: 'https://api.anthropic.com',
  tool_names: { pattern: /^[A-Za-z0-9_-]+$/, max_length: 128 },
  errors: ANTHROPIC_ERRORS,
  request_id_headers: ['request-id'],
  draft: draftAnthropic,
  endpoint: ({ base_url, api_key }) => ({
    url: `${base_url}/v1/messages`,
    headers: { 'x-api-key': api_key, 'anthropic-version': VERSION },
  }),
}
