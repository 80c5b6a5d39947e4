// Google's native generateContent. Its OpenAI-compatible endpoint leaves thoughts out of the usage.

import type { ProviderProfile } from '../contract.ts'
import { GOOGLE_ERRORS } from './errors.ts'
import { draftGoogle } from './request.ts'

export const googleProfile: ProviderProfile = {
  name: 'google',
  dialect: undefined,
  base_url: 'https://generativelanguage.googleapis.com',
  tool_names: { pattern: /^[A-Za-z_][A-Za-z0-9_.-]*$/, max_length: 64 },
  errors: GOOGLE_ERRORS,
  request_id_headers: ['x-goog-request-id', 'x-request-id'],
  draft: draftGoogle,
  endpoint({ base_url, api_key }, { model, stream }) {
    const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
    const path = `/v1beta/models/${encodeURIComponent(model.upstream_id)}:${method}`
    return { url: base_url + path, headers: { 'x-goog-api-key': api_key } }
  },
}
