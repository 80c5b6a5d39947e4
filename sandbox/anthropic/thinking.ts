// Extended and adaptive thinking: what each model takes, what may stand beside it, and how much
// thinking an effort stands for here.

import { isAbsent, type JsonObject, numberOf, objectOf, textOf } from '../json.ts'
import type { Betas } from './betas.ts'
import { type AnthropicError, invalid, missing } from './errors.ts'
import type { AnthropicModel } from './models.ts'

const INTERLEAVED = 'interleaved-thinking-2025-05-14'
const EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max']
const BUDGET_TOKENS = 200
const EFFORT_TOKENS: Readonly<Record<string, number>> = {
  low: 50,
  medium: 100,
  high: 200,
  xhigh: 400,
  max: 800,
}

export type ThinkingDisplay = 'none' | 'summarized' | 'omitted'

export function checkThinking(
  body: JsonObject,
  model: AnthropicModel,
  betas: Betas,
): AnthropicError | undefined {
  const thinking = body['thinking']
  if (isAbsent(thinking)) return undefined
  const { type, display } = objectOf(thinking)
  if (type === 'disabled') return undefined
  if (type !== 'enabled' && type !== 'adaptive') {
    return invalid(
      `thinking: Input tag '${textOf(type)}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'`,
    )
  }
  if (model.thinking.length === 0) return invalid(`'${model.id}' does not support thinking.`)
  if (!model.thinking.includes(type)) return invalid(refuseType(type))
  if (!isAbsent(display) && display !== 'summarized' && display !== 'omitted') {
    return invalid(`thinking.${type}.display: Input should be 'summarized' or 'omitted'`)
  }
  return checkBudget(body, type, betas) ?? checkBesideThinking(body)
}

export function checkEffort(body: JsonObject, model: AnthropicModel): AnthropicError | undefined {
  const effort = objectOf(body['output_config'])['effort']
  if (isAbsent(effort)) return undefined
  if (!EFFORTS.includes(textOf(effort))) {
    return invalid(
      "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
    )
  }
  if (model.efforts.length === 0)
    return invalid('This model does not support the effort parameter.')
  if (model.efforts.includes(textOf(effort))) return undefined
  // That only newer models have this level is documented, the wording is not.
  return invalid(`output_config.effort: '${textOf(effort)}' is not supported by ${model.id}`)
}

/** Null when the request does not think. */
export function thinkingTokens(body: JsonObject): number | null {
  const { type, budget_tokens } = objectOf(body['thinking'])
  if (type === 'adaptive') {
    return EFFORT_TOKENS[textOf(objectOf(body['output_config'])['effort'])] ?? BUDGET_TOKENS
  }
  if (type !== 'enabled') return null
  return Math.min(numberOf(budget_tokens) ?? BUDGET_TOKENS, BUDGET_TOKENS)
}

export function thinkingDisplay(body: JsonObject, model: AnthropicModel): ThinkingDisplay {
  if (thinkingTokens(body) === null) return 'none'
  const { display } = objectOf(body['thinking'])
  return display === 'summarized' || display === 'omitted' ? display : model.display
}

function refuseType(type: string): string {
  if (type === 'adaptive') return 'adaptive thinking is not supported on this model'
  return '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
}

/** Between tool calls thinking may add up to more than one answer, so there the budget may exceed it. */
function checkBudget(body: JsonObject, type: string, betas: Betas): AnthropicError | undefined {
  if (type !== 'enabled') return undefined
  const value = objectOf(body['thinking'])['budget_tokens']
  if (isAbsent(value)) return missing('thinking.enabled.budget_tokens')
  const budget = numberOf(value) ?? 0
  if (budget < 1_024) {
    return invalid('thinking.enabled.budget_tokens: Input should be greater than or equal to 1024')
  }
  const max_tokens = numberOf(body['max_tokens'])
  if (max_tokens === undefined || max_tokens > budget || betas.includes(INTERLEAVED)) {
    return undefined
  }
  return invalid('`max_tokens` must be greater than `thinking.budget_tokens`.')
}

function checkBesideThinking(body: JsonObject): AnthropicError | undefined {
  if ((body['temperature'] ?? 1) !== 1) {
    return invalid('`temperature` may only be set to 1 when thinking is enabled.')
  }
  if (!isAbsent(body['top_k'])) return invalid('`top_k` must be unset when thinking is enabled.')
  if ((numberOf(body['top_p']) ?? 1) < 0.95) {
    return invalid(
      '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.',
    )
  }
  const choice = objectOf(body['tool_choice'])['type']
  if (choice !== 'any' && choice !== 'tool') return undefined
  return invalid('Thinking may not be enabled when tool_choice forces tool use.')
}
