// Models of one provider differ in what they take. What a family takes stands in the tables of the dialects; which
// family a model is of follows from what it is called upstream, so that a new model needs no more than its row.

import type { ChatModel } from '../../catalog/models.ts'

export const FAMILIES = {
  gpt: 'OpenAI',
  gpt_reasoning: 'OpenAI, models that reason',
  gpt_5_6: 'OpenAI from gpt-5.6 on',
  gpt_responses: 'OpenAI through its Responses API',
  claude: 'Claude up to 4.5',
  claude_adaptive: 'Claude from 4.6 on',
  gemini: 'Gemini up to 2.5',
  gemini_3: 'Gemini from 3 on',
} as const

export type Family = keyof typeof FAMILIES

export function familyOf(model: ChatModel): Family {
  switch (model.provider) {
    case 'openai':
      if (model.api === 'responses') return 'gpt_responses'
      if (gptVersion(model.upstream_id) >= 5.6) return 'gpt_5_6'
      return model.capabilities.reasoning ? 'gpt_reasoning' : 'gpt'
    case 'anthropic':
      return claudeVersion(model.upstream_id) >= 4.6 ? 'claude_adaptive' : 'claude'
    case 'google':
      return geminiVersion(model.upstream_id) >= 3 ? 'gemini_3' : 'gemini'
  }
}

/** `gpt-5.6-sol` is 5.6, `gpt-4o` 4. */
export function gptVersion(upstream_id: string): number {
  return Number(/^gpt-(\d+(?:\.\d+)?)/.exec(upstream_id)?.[1] ?? 4)
}

/** `claude-opus-4-8` is 4.8; names with a date right after the number are .0, older ones 3. */
export function claudeVersion(upstream_id: string): number {
  const match = /^claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?:-|$)/.exec(upstream_id)
  return match === null ? 3 : Number(`${match[1]}.${match[2] ?? 0}`)
}

/** `gemini-2.5-pro` is 2.5. */
export function geminiVersion(upstream_id: string): number {
  return Number(/^gemini-(\d+(?:\.\d+)?)/.exec(upstream_id)?.[1] ?? 2)
}
