// Every provider of chat models, by the name that the catalog uses. A new one is a folder beside these, and a line
// here.

import { anthropicProfile } from './anthropic/profile.ts'
import type { ProviderProfile } from './contract.ts'
import type { ProviderName } from './error-mapping.ts'
import { googleProfile } from './google/profile.ts'
import { openaiProfile } from './openai/profile.ts'

export const PROFILES: Readonly<Record<ProviderName, ProviderProfile>> = {
  openai: openaiProfile,
  anthropic: anthropicProfile,
  google: googleProfile,
}
