// What a client asked for and generateContent has no word for, by the names of the client's own format. The
// request is served without it, and the reply names it.

import type { AssistantPart, ChatRequest, UserPart } from '../../dialects/chat-types.ts'

export const MAX_STOPS = 5
/** Google's seed is a number of 32 bits. */
const SEED_LIMIT = 2 ** 31

type Wish = 'stop' | 'reasoning' | 'parallel' | 'strict' | 'file_name'

const NAMES: Readonly<Record<ChatRequest['original']['dialect'], Record<Wish, string>>> = {
  openai: {
    stop: 'stop',
    reasoning: 'reasoning_effort',
    parallel: 'parallel_tool_calls',
    strict: 'tools[].function.strict',
    file_name: 'file.filename',
  },
  anthropic: {
    stop: 'stop_sequences',
    reasoning: 'thinking',
    parallel: 'tool_choice.disable_parallel_tool_use',
    strict: 'tools[].strict',
    file_name: 'document.title',
  },
}

export type GoogleLimits = { takes_penalties: boolean; must_think: boolean }

export function ignoredByGoogle(request: ChatRequest, limits: GoogleLimits): string[] {
  const { frequency_penalty, presence_penalty, seed, reasoning, tools } = request
  const names = NAMES[request.original.dialect]
  const penalised = (penalty: number | undefined) => !limits.takes_penalties && isSet(penalty)
  const no_thought = reasoning?.kind === 'effort' && reasoning.effort === 'none'
  const found = lookThrough(request)
  const ignored: Readonly<Record<string, boolean>> = {
    frequency_penalty: penalised(frequency_penalty),
    presence_penalty: penalised(presence_penalty),
    seed: seed !== undefined && seedOf(seed) === undefined,
    [names.reasoning]: no_thought && limits.must_think,
    [names.stop]: stopsOf(request).length > MAX_STOPS,
    [names.parallel]: request.parallel_tool_calls === false && tools.length > 0,
    [names.strict]: tools.some((tool) => tool.strict === true),
    'image_url.detail': found.detail,
    [names.file_name]: found.file_name,
    cache_control: found.cache,
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

function isDetail(detail: string | undefined): boolean {
  return detail !== undefined && detail !== 'auto'
}

type Found = { detail: boolean; file_name: boolean; cache: boolean }

function lookThrough({ messages, system, tools }: ChatRequest): Found {
  const cache = [...tools, ...system].some((one) => one.cache !== undefined)
  const found: Found = { detail: false, file_name: false, cache }
  for (const message of messages) for (const part of message.content) note(found, part)
  return found
}

function note(found: Found, part: UserPart | AssistantPart): void {
  if ('cache' in part) found.cache = true
  if (part.kind === 'image' && isDetail(part.detail)) found.detail = true
  else if (part.kind === 'file' && part.name !== undefined) found.file_name = true
  else if (part.kind === 'tool_result') for (const inner of part.content) note(found, inner)
}
