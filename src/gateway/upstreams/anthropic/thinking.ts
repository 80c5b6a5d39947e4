// How Claude thinks and samples. The two go together, and each generation of models takes other words for them: a
// budget of tokens up to 4.5, its own choice with a wish for effort from 4.6 on, and no sampling after 4.6.

import type { ChatRequest } from '../../dialects/chat-types.ts'
import { reasoningField, saidEffort, thinks } from '../capabilities.ts'
import type { Asked, CallTerms } from '../contract.ts'
import { isRecord, type JsonRecord, numberOf } from '../json-values.ts'
import { claudeVersion } from '../model-family.ts'

const FIRST_ADAPTIVE = 4.6
/** From here on models think unless they are told not to; before, a request that says nothing does not think. */
const FIRST_THOUGHTFUL = 5
const LEAST_BUDGET = 1024
const BUDGETS = { minimal: 1024, low: 1024, medium: 2048, high: 4096 } as const
const LEAST_TOP_P_WITH_THINKING = 0.95
const DEFAULTS: JsonRecord = { temperature: 1, top_p: 1 }

export type Thinking = {
  /** Undefined: the field is left out. */
  thinking: JsonRecord | undefined
  effort: string | undefined
}

/** `forced`: the answer begins with a call of a tool, and so without a thought. */
export function thinkingFor(asked: Asked, terms: CallTerms, forced: boolean): Thinking {
  const { request, model } = asked
  const version = claudeVersion(model.upstream_id)
  if (version >= FIRST_ADAPTIVE) return adaptiveThinking(request, version, forced)
  if (isRuledOut(request, forced)) return { thinking: undefined, effort: undefined }
  const most = terms.max_output_tokens - 1
  const budget_tokens = Math.min(Math.max(budgetOf(request), LEAST_BUDGET), most)
  const fits = budget_tokens >= LEAST_BUDGET
  return { thinking: fits ? { type: 'enabled', budget_tokens } : undefined, effort: undefined }
}

/** The fields that asked for thoughts which there will be none of. */
export function unheardThinking({ request, model }: Asked, forced: boolean): string[] {
  const is_adaptive = claudeVersion(model.upstream_id) >= FIRST_ADAPTIVE
  if (is_adaptive || !thinks(request) || !isRuledOut(request, forced)) return []
  return [reasoningField(request)]
}

/** Without `display` the newest models keep their thoughts to themselves. */
function adaptiveThinking(request: ChatRequest, version: number, forced: boolean): Thinking {
  const { reasoning } = request
  if (reasoning === undefined) return { thinking: undefined, effort: undefined }
  const off = version >= FIRST_THOUGHTFUL ? { type: 'disabled' } : undefined
  if (!thinks(request)) return { thinking: off, effort: undefined }
  const thinking = forced ? off : { type: 'adaptive', display: 'summarized' }
  return { thinking, effort: effortOf(request, version) }
}

/** The client's own word counts, where the model takes it. */
function effortOf(request: ChatRequest, version: number): string {
  const { reasoning } = request
  if (reasoning?.kind === 'budget') return effortOfBudget(reasoning.tokens)
  const said = saidEffort(request)
  if (said === 'max' || (said === 'xhigh' && version > FIRST_ADAPTIVE)) return said
  return reasoning?.effort === 'minimal' ? 'low' : (reasoning?.effort ?? 'high')
}

function effortOfBudget(tokens: number): string {
  if (tokens >= BUDGETS.high) return 'high'
  return tokens >= BUDGETS.medium ? 'medium' : 'low'
}

/** A forced tool, a prefilled answer, a tool loop without its thoughts and a short answer all rule a budget out. */
function isRuledOut(request: ChatRequest, forced: boolean): boolean {
  const is_short = (request.max_output_tokens ?? Number.POSITIVE_INFINITY) <= LEAST_BUDGET
  return !thinks(request) || forced || is_short || lacksThoughts(request)
}

function budgetOf({ reasoning }: ChatRequest): number {
  if (reasoning?.kind === 'budget') return reasoning.tokens
  const effort = reasoning?.effort ?? 'none'
  return effort === 'none' ? 0 : BUDGETS[effort]
}

function lacksThoughts({ messages }: ChatRequest): boolean {
  const spoke = messages.findLastIndex((message) => message.role === 'assistant')
  if (spoke === messages.length - 1) return true
  const answered = messages
    .slice(spoke + 1)
    .flatMap(({ content }) => content.map(({ kind }) => kind))
  if (!answered.includes('tool_result')) return false
  const first = messages[spoke]?.content[0]?.kind
  return first !== 'thinking' && first !== 'redacted_thinking'
}

export type Sampling = { fields: JsonRecord; ignored: string[] }

/** Anthropic's temperature ends at 1; later models take one of these fields, or none. */
export function samplingFor(
  { temperature, top_p, top_k }: Pick<ChatRequest, 'temperature' | 'top_p' | 'top_k'>,
  { upstream_id, is_thinking }: { upstream_id: string; is_thinking: boolean },
): Sampling {
  const version = claudeVersion(upstream_id)
  const cooled = temperature === undefined ? undefined : Math.min(temperature, 1)
  const taken = new Set(['temperature', 'top_p', 'top_k'])
  if (version > FIRST_ADAPTIVE) taken.clear()
  else if (is_thinking) {
    taken.clear()
    if ((top_p ?? 0) >= LEAST_TOP_P_WITH_THINKING) taken.add('top_p')
  } else if (version >= 4.1 && temperature !== undefined) taken.delete('top_p')
  const wanted = Object.entries({ temperature: cooled, top_p, top_k })
  const given = wanted.filter(([, value]) => value !== undefined)
  return {
    fields: Object.fromEntries(given.filter(([field]) => taken.has(field))),
    ignored: given
      .filter(([field, value]) => !taken.has(field) && value !== DEFAULTS[field])
      .map(([field]) => field),
  }
}

/** The client's own `thinking`, in the words of the model that its request has come to. */
export function relayedThinking(asked: Asked): Thinking & { ignored: string[] } {
  const version = claudeVersion(asked.model.upstream_id)
  const thinking = isRecord(asked.relayed['thinking']) ? asked.relayed['thinking'] : undefined
  const effort = undefined
  if (version <= FIRST_ADAPTIVE) return { thinking, effort, ignored: [] }
  if (thinking?.['type'] === 'disabled' && version < FIRST_THOUGHTFUL) {
    return { thinking: undefined, effort, ignored: [] }
  }
  if (thinking?.['type'] !== 'enabled') return { thinking, effort, ignored: [] }
  const display = thinking['display'] ?? 'summarized'
  return {
    thinking: { type: 'adaptive', display },
    effort: effortOfBudget(numberOf(thinking['budget_tokens']) ?? BUDGETS.high),
    ignored: ['thinking.budget_tokens'],
  }
}

/** Where the hold allows less output than was asked for, thinking has to fit into it. */
export function fitThinking(
  thinking: JsonRecord | undefined,
  { max_output_tokens }: CallTerms,
  wanted_tokens: number | undefined,
): JsonRecord | undefined {
  const budget = numberOf(thinking?.['budget_tokens'])
  const lowered = (wanted_tokens ?? 0) > max_output_tokens
  if (!lowered || budget === undefined || budget < max_output_tokens) return thinking
  if (max_output_tokens <= LEAST_BUDGET) return { type: 'disabled' }
  return { ...thinking, budget_tokens: max_output_tokens - 1 }
}
