// How much a model is asked to reason, in the words that its generation takes.

import type { ChatModel } from '../../../catalog/models.ts'
import type { ChatRequest, Reasoning } from '../../dialects/chat-types.ts'
import { reasoningField, saidEffort, thinks } from '../capabilities.ts'
import type { Asked } from '../contract.ts'
import { gptVersion } from '../model-family.ts'

/** Words of the newest models, which the neutral form has not. */
const NEWEST = ['xhigh', 'max']

/** `sent` is undefined where the client's own word stands, or nothing is said. */
export type Effort = { sent: string | undefined; ignored: string[] }

const NOTHING: Effort = { sent: undefined, ignored: [] }

/** For chat completions, which take functions from later models only if those do not reason. */
export function decideEffort(asked: Asked): Effort {
  const { request, model, relayed } = asked
  if (!model.capabilities.reasoning) return NOTHING
  if (request.tools.length > 0 && refusesTools(request, model)) {
    return { sent: 'none', ignored: thinks(request) ? [reasoningField(request)] : [] }
  }
  const says_so = relayed['reasoning_effort'] !== undefined
  return says_so ? NOTHING : effortFor(request, model)
}

/** As far as the model knows the word. */
export function effortFor(request: ChatRequest, model: ChatModel): Effort {
  const { reasoning } = request
  if (!model.capabilities.reasoning || reasoning === undefined) return NOTHING
  const version = gptVersion(model.upstream_id)
  const own_word = saidEffort(request)
  const is_own = thinks(request) && reasoning.kind === 'effort' && NEWEST.includes(own_word)
  if (is_own && version >= 5.6) return { sent: own_word, ignored: [] }
  const word = thinks(request) ? wordFor(reasoning) : 'none'
  if (word === 'none') return { sent: leastWord(version), ignored: [] }
  const is_new = word === 'minimal' && version !== 5
  return is_new ? { sent: 'low', ignored: [reasoningField(request)] } : { sent: word, ignored: [] }
}

/** From gpt-5.6 on always, from gpt-5.4 on where an effort is said. */
function refusesTools({ reasoning }: ChatRequest, { upstream_id }: ChatModel): boolean {
  const version = gptVersion(upstream_id)
  return version >= 5.6 || (version >= 5.4 && reasoning !== undefined)
}

/** The word for as little as can be: only from gpt-5.1 on does a model not reason at all. */
function leastWord(version: number): string {
  if (version >= 5.1) return 'none'
  return version === 5 ? 'minimal' : 'low'
}

function wordFor(reasoning: Reasoning): string {
  if (reasoning.kind === 'effort') return reasoning.effort
  if (reasoning.tokens >= 4096) return 'high'
  return reasoning.tokens >= 2048 ? 'medium' : 'low'
}
