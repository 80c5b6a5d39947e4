// OpenAI's chat completions.

import type { ProviderProfile } from '../contract.ts'
import { OPENAI_ERRORS } from './errors.ts'
import { draftOpenai } from './request.ts'

export const openaiProfile: ProviderProfile = {
  name: 'openai',
  dialect: 'openai',
  base_url: 'https://api.openai.com/v1',
  tool_names: { pattern: /^[A-Za-z0-9_-]+$/, max_length: 64 },
  errors: OPENAI_ERRORS,
  request_id_headers: ['x-request-id'],
  draft: draftOpenai,
  endpoint: ({ base_url, api_key }) => ({
    url: `${base_url}/chat/completions`,
    headers: { authorization: `Bearer ${api_key}` },
  }),
}
