// Whether a request writes the provider's cache, which costs more than reading a prompt.

import type { AssistantPart, CacheHint, ChatRequest, UserPart } from './chat-types.ts'

type Part = UserPart | AssistantPart

/** The longest time that anything is to be kept; false: nothing is. */
export function cacheWrites(request: ChatRequest): boolean | CacheHint['ttl'] {
  // Its own bodies are relayed, with marks in places that the neutral form does not have.
  if (request.original.dialect === 'anthropic') return true
  let longest: CacheHint['ttl'] | false = false
  const parts = request.messages.flatMap((message): Part[] => message.content)
  for (const part of [...request.system, ...request.tools, ...parts]) {
    const cache = 'cache' in part ? part.cache : undefined
    if (cache?.ttl === '1h') return '1h'
    if (cache) longest = cache.ttl
  }
  return longest
}
