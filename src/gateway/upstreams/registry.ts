// Every provider of chat models, by the name that the catalog uses. A new one is a folder beside these, and a line
// here.

import type { ChatModel } from '../../catalog/models.ts'
import { anthropicProfile } from './anthropic/profile.ts'
import type { ProviderProfile } from './contract.ts'
import { googleProfile } from './google/profile.ts'
import { openaiProfile } from './openai/profile.ts'

export const PROFILES: Readonly<Record<ChatModel['provider'], ProviderProfile>> = {
  openai: openaiProfile,
  anthropic: anthropicProfile,
  google: googleProfile,
}
