// What a client asked for and generateContent has no word for, where that depends on the value or on the model; the
// tables of the dialects name the rest. The request is served without it, and the reply names it.

import type { ChatRequest, UserPart } from '../../dialects/chat-types.ts'
import { reasoningField } from '../capabilities.ts'

export const MAX_STOPS = 5
/** Google's seed is a number of 32 bits. */
const SEED_LIMIT = 2 ** 31

const NAMES = {
  openai: { stop: 'stop', file_name: 'messages[].content[].file.filename' },
  responses: { stop: 'stop', file_name: 'input[].content[].filename' },
  anthropic: { stop: 'stop_sequences', file_name: 'messages[].content[].title' },
} as const satisfies Record<ChatRequest['original']['dialect'], object>

export type GoogleLimits = { takes_penalties: boolean; must_think: boolean }

export function ignoredByGoogle(request: ChatRequest, limits: GoogleLimits): string[] {
  const { frequency_penalty, presence_penalty, seed, reasoning, messages } = request
  const names = NAMES[request.original.dialect]
  const penalised = (penalty: number | undefined) => !limits.takes_penalties && isSet(penalty)
  const no_thought = reasoning?.kind === 'effort' && reasoning.effort === 'none'
  const parts = messages.flatMap(({ role, content }) => (role === 'user' ? content : []))
  const ignored: Readonly<Record<string, boolean>> = {
    frequency_penalty: penalised(frequency_penalty),
    presence_penalty: penalised(presence_penalty),
    seed: seed !== undefined && seedOf(seed) === undefined,
    [reasoningField(request)]: no_thought && limits.must_think,
    [names.stop]: stopsOf(request).length > MAX_STOPS,
    [names.file_name]: parts.some(isNamed),
  }
  return Object.keys(ignored).filter((name) => ignored[name])
}

/** Blank ones ask for nothing. */
export function stopsOf({ stop }: ChatRequest): string[] {
  return stop.filter((text) => text !== '')
}

export function seedOf(seed: number | undefined): number | undefined {
  return seed !== undefined && seed >= -SEED_LIMIT && seed < SEED_LIMIT ? seed : undefined
}

function isSet(penalty: number | undefined): boolean {
  return penalty !== undefined && penalty !== 0
}

function isNamed(part: UserPart): boolean {
  if (part.kind === 'tool_result') return part.content.some(isNamed)
  return part.kind === 'file' && part.name !== undefined
}
