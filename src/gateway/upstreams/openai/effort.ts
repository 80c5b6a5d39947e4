// How much a model is asked to reason, in the words that its generation takes.

import type { ChatRequest, Reasoning } from '../../dialects/chat-types.ts'
import { reasoningField, saidEffort, thinks } from '../capabilities.ts'
import type { Asked } from '../contract.ts'
import { familyOf } from '../model-family.ts'

/** Words of the newest models, which the neutral form has not. */
const NEWEST = ['xhigh', 'max']

/** `sent` is undefined where the client's own word stands, or nothing is said. */
export type Effort = { sent: string | undefined; ignored: string[] }

export function decideEffort(asked: Asked): Effort {
  const { request, model, relayed } = asked
  if (familyOf(model) === 'gpt_5_6') return decideLater(request)
  const { reasoning } = request
  const says_so = relayed['reasoning_effort'] !== undefined
  if (!model.capabilities.reasoning || reasoning === undefined || says_so) {
    return { sent: undefined, ignored: [] }
  }
  return { sent: thinks(request) ? wordFor(reasoning) : 'minimal', ignored: [] }
}

/** From gpt-5.6 on chat completions take tools only from a model that does not reason, and `minimal` never. */
function decideLater(request: ChatRequest): Effort {
  const { reasoning, tools } = request
  const changed = [reasoningField(request)]
  if (tools.length > 0) return { sent: 'none', ignored: thinks(request) ? changed : [] }
  if (reasoning === undefined) return { sent: undefined, ignored: [] }
  const own_word = saidEffort(request)
  const is_own = thinks(request) && reasoning.kind === 'effort' && NEWEST.includes(own_word)
  const word = is_own ? own_word : wordFor(reasoning)
  return word === 'minimal' ? { sent: 'low', ignored: changed } : { sent: word, ignored: [] }
}

function wordFor(reasoning: Reasoning): string {
  if (reasoning.kind === 'effort') return reasoning.effort
  if (reasoning.tokens >= 4096) return 'high'
  return reasoning.tokens >= 2048 ? 'medium' : 'low'
}
