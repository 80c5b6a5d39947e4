// OpenAI's Responses API, for the models that reason: only there do they reason while they call functions, and keep what
// they thought from one call to the next.

import type { ProviderProfile } from '../contract.ts'
import { openaiProfile } from '../openai/profile.ts'
import { draftResponses } from './request.ts'

export const openaiResponsesProfile: ProviderProfile = {
  ...openaiProfile,
  dialect: 'responses',
  draft: draftResponses,
  endpoint: ({ base_url, api_key }) => ({
    url: `${base_url}/responses`,
    headers: { authorization: `Bearer ${api_key}` },
  }),
}
