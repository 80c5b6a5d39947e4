// How long an answer may become: what the caller asked for, otherwise what the model can write and its window still
// has room for. Providers refuse a call whose prompt and limit together are larger than the window.

import type { ChatModel } from '../catalog/models.ts'
import { OUTPUT_TOKENS_MIN } from '../catalog/pricing.ts'
import { type Prompt, promptTokens } from './prompt-size.ts'
import { upstreamOf } from './upstreams/registry.ts'

/** What the close count of a prompt may be too low by, in the worst of the languages that it was fitted to. */
const MARGIN_PERCENT: Record<ChatModel['provider'], number> = {
  openai: 15,
  anthropic: 20,
  google: 15,
}
const MARGIN_TOKENS = 64
/** Where the margin would leave less than this, it is given up for half of what is left by the count alone. */
const OUTPUT_TOKENS_USEFUL = 512
/** Nobody wants a long prompt answered with less. If even this does not fit, the provider says so, free of charge. */
const OUTPUT_TOKENS_LEAST = 256

export type OutputLimit = {
  /** For each answer. */
  max_output_tokens: number
  /** False: the provider keeps to this limit by itself, so it need not be told, as long as all of it is held. */
  send: boolean
}

/** `prompt_tokens`: the safe estimate. The close one takes a second walk, made only where the window is near. */
export function outputLimit(
  request: Prompt & { readonly max_output_tokens: number | undefined },
  model: ChatModel,
  prompt_tokens: number,
): OutputLimit {
  const { max_output_tokens: asked } = request
  const { max_output_tokens: most, context_window: window } = model
  if (asked !== undefined) {
    const least = Math.max(asked, leastOf(model))
    return { max_output_tokens: Math.min(least, most), send: true }
  }
  if (!sharesWindow(model) || prompt_tokens + most <= window) {
    return { max_output_tokens: most, send: !keepsToItsLimit(model) }
  }
  const room = roomFor(promptTokens(request, model, 'close'), model)
  return { max_output_tokens: Math.min(room, most), send: true }
}

/** A smaller limit is refused, by an interface that clients of other formats do not know that they are asking. */
function leastOf(model: ChatModel): number {
  return upstreamOf(model) === 'openai-responses' ? OUTPUT_TOKENS_MIN : 1
}

/** Where the prompt has a limit of its own, that limit leaves room for the longest answer. */
function sharesWindow({ provider, max_input_tokens }: ChatModel): boolean {
  return provider !== 'google' && max_input_tokens === undefined
}

/** Anthropic has to be told. Models with a small window, as gpt-4, go on to its end if they are not. */
function keepsToItsLimit({ provider, context_window, max_output_tokens }: ChatModel): boolean {
  return provider !== 'anthropic' && context_window > 2 * max_output_tokens
}

function roomFor(close_tokens: number, { provider, context_window }: ChatModel): number {
  const margin = Math.ceil((close_tokens * MARGIN_PERCENT[provider]) / 100) + MARGIN_TOKENS
  const left = context_window - close_tokens
  const useful = Math.min(OUTPUT_TOKENS_USEFUL, Math.floor(left / 2))
  return Math.max(left - margin, useful, OUTPUT_TOKENS_LEAST)
}
