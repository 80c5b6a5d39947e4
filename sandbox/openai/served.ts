// What chat completions and the Responses API have in common: which model serves a request, what its
// reasoning costs, what its prompt finds in the cache, and how a request is refused.

import { type Call, modelLife, readBearer } from '../call.ts'
import { type Conversation, type Directives, findUnknownDirective } from '../directives.ts'
import { isAbsent, textOf } from '../json.ts'
import { type PrefixUse, useCachedPrefix } from '../prompt-cache.ts'
import type { Outcome } from '../reply.ts'
import { badRequest, errorReply, type OpenaiError, openaiHeaders } from './errors.ts'
import { findOpenaiModel, type OpenaiModel } from './models.ts'

const CACHE_LEAST_TOKENS = 1_024
const REASONING_TOKENS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 0,
  low: 64,
  medium: 128,
  high: 256,
  xhigh: 512,
  max: 1_024,
}

/** A model that was shut down is answered for like one that never was. */
export function findServed(call: Call, name: string): OpenaiModel | undefined {
  const model = findOpenaiModel(name)
  return model === undefined || modelLife(call, model.id).stage === 'retired' ? undefined : model
}

export function refuse(call: Call, error: OpenaiError, directives: Directives = {}): Outcome {
  return { reply: errorReply(error, openaiHeaders(call)), directives }
}

export function checkDirectives(
  conversation: Conversation,
  param: string,
): OpenaiError | undefined {
  const name = findUnknownDirective(conversation)
  if (name === undefined) return undefined
  return badRequest(`The sandbox knows no test prompt '${name}'.`, param, 'invalid_value')
}

/** Null when the model does not reason at all. */
export function reasoningTokens(model: OpenaiModel, effort: unknown): number | null {
  if (model.efforts.length === 0) return null
  return REASONING_TOKENS[isAbsent(effort) ? model.default_effort : textOf(effort)] ?? 0
}

export function useCache(call: Call, model: OpenaiModel, prompt: string): PrefixUse {
  if (!model.caches) return { read_tokens: 0, written_tokens: 0 }
  const scope = `${readBearer(call)}/${model.id}`
  return useCachedPrefix(call.cache, { scope, text: prompt, least_tokens: CACHE_LEAST_TOKENS })
}

/** The tier that really served the request: the one asked for, which here is always available. */
export function readTier(asked: unknown): string {
  return isAbsent(asked) || asked === 'auto' ? 'default' : textOf(asked)
}
