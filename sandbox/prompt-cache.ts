// Prompt caching, as a memory of digests: a prefix that was sent before, with the same credential to
// the same model, is found again. Two readers: in steps of 128 tokens (OpenAI, Google) and at the
// ends of marked blocks (Anthropic). It is the only thing here that makes two equal requests differ.

import { digestPrefixes } from './tokens.ts'

const MAX_ENTRIES = 100_000
const STEP_TOKENS = 128
const IMPLICIT_LIFE_MS = 5 * 60_000

export type PromptCache = Map<string, number>

export type PrefixUse = { read_tokens: number; written_tokens: number }

export function createPromptCache(): PromptCache {
  return new Map()
}

/** Finds and remembers the prompt; `least_tokens` is the shortest prefix that is cached at all. */
export function useCachedPrefix(
  cache: PromptCache,
  prompt: { scope: string; text: string; least_tokens: number },
): PrefixUse {
  const least_steps = Math.ceil(prompt.least_tokens / STEP_TOKENS)
  const keys = digestPrefixes(prompt.text, STEP_TOKENS).map((value) => `${prompt.scope}/${value}`)
  if (keys.length < least_steps) return { read_tokens: 0, written_tokens: 0 }
  const hit = keys.findLastIndex((key, at) => at + 1 >= least_steps && isCached(cache, key))
  for (const key of keys.slice(least_steps - 1)) rememberPrefix(cache, key, IMPLICIT_LIFE_MS)
  const read_tokens = (hit + 1) * STEP_TOKENS
  return { read_tokens, written_tokens: keys.length * STEP_TOKENS - read_tokens }
}

export function isCached(cache: PromptCache, key: string): boolean {
  return (cache.get(key) ?? 0) > Date.now()
}

export function rememberPrefix(cache: PromptCache, key: string, life_ms: number): void {
  cache.delete(key)
  cache.set(key, Date.now() + life_ms)
  // A map keeps the order of insertion, so its first key is the one unused for longest.
  for (const oldest of cache.keys()) {
    if (cache.size <= MAX_ENTRIES) return
    cache.delete(oldest)
  }
}
