// Every interface that chat models are asked through. A provider has one, by its name in the catalog; OpenAI has two, and
// the catalog says of each model which. A new one is a folder beside these, and a line here.

import type { ChatModel } from '../../catalog/models.ts'
import { anthropicProfile } from './anthropic/profile.ts'
import type { ProviderProfile } from './contract.ts'
import { googleProfile } from './google/profile.ts'
import { openaiProfile } from './openai/profile.ts'
import { openaiResponsesProfile } from './openai-responses/profile.ts'

export type UpstreamName = ChatModel['provider'] | 'openai-responses'

export const PROFILES: Readonly<Record<UpstreamName, ProviderProfile>> = {
  openai: openaiProfile,
  'openai-responses': openaiResponsesProfile,
  anthropic: anthropicProfile,
  google: googleProfile,
}

export function upstreamOf({ provider, api }: ChatModel): UpstreamName {
  return provider === 'openai' && api === 'responses' ? 'openai-responses' : provider
}
