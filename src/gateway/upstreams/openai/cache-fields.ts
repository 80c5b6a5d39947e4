// How OpenAI is to cache a prompt, as the client says it. Writing the cache without an answer, and keeping it for half a
// day, have prices of their own: those are left out.

import { given, isRecord, type JsonRecord } from '../json-values.ts'

const USUAL_TTL = '30m'

export function cacheFields(relayed: JsonRecord): JsonRecord {
  const { prompt_cache_key, prompt_cache_retention, prompt_cache_options: options } = relayed
  const prompt_cache_options = isRecord(options) ? cacheOptions(options) : undefined
  return given({ prompt_cache_key, prompt_cache_retention, prompt_cache_options })
}

function cacheOptions({ mode, ttl }: JsonRecord): JsonRecord | undefined {
  const kept = given({ mode, ttl: ttl === USUAL_TTL ? ttl : undefined })
  return Object.keys(kept).length > 0 ? kept : undefined
}
