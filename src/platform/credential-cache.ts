// Answers "whose credential is this" from memory. Entries carry tags (`key:<id>`, `account:<id>`), and a
// revocation names the tag. While revocations cannot be read, nothing is answered from here.

import type { LRUCache } from 'lru-cache'
import type { Forgetful } from './invalidation.ts'
import { createLruCache } from './lru-cache.ts'

export type Loaded<Value> = { value: Value; tags: readonly string[] }

export type CacheOutcome = 'hit' | 'miss' | 'unknown' | 'bypass'

export type CredentialCacheOptions = {
  /** Whether what is not found is remembered for a moment. Not where it may be made at any time. */
  remembers_unknown?: boolean
  /** Whether revocations reach this process now. */
  isTrusted: () => boolean
}

const ENTRIES_MAX = 50_000
const UNKNOWN_MAX = 10_000
/** A backstop only; revocations arrive long before. */
const TTL_MS = 10_000
const UNKNOWN_TTL_MS = 1_000

export class CredentialCache<Value extends object> implements Forgetful {
  readonly #options: CredentialCacheOptions
  /** Look-ups by outcome, for the metrics. */
  readonly counts: Record<CacheOutcome, number> = { hit: 0, miss: 0, unknown: 0, bypass: 0 }
  readonly #entries: LRUCache<string, Loaded<Value>>
  readonly #unknown = createLruCache<string, true>(UNKNOWN_MAX, { ttl: UNKNOWN_TTL_MS })
  readonly #digestsByTag = new Map<string, Set<string>>()
  readonly #loading = new Map<string, Promise<Value | undefined>>()
  /** Raised by every revocation: an answer read before it may be stale and is not kept. */
  #generation = 0

  constructor(options: CredentialCacheOptions) {
    this.#options = options
    this.#entries = createLruCache(ENTRIES_MAX, {
      ttl: TTL_MS,
      dispose: (entry, digest) => this.#untag(digest, entry.tags),
    })
  }

  /** Undefined if memory does not have it. For callers that wait only if they have to: no promise is made. */
  peek(digest: string): Value | undefined {
    if (!this.#options.isTrusted()) return undefined
    const entry = this.#entries.get(digest)
    if (entry) this.counts.hit++
    return entry?.value
  }

  /** From memory, or by `load`. Callers that ask at the same time share one load. */
  async find(
    digest: string,
    load: () => Promise<Loaded<Value> | undefined>,
  ): Promise<Value | undefined> {
    const known = this.peek(digest)
    if (known) return known
    if (!this.#options.isTrusted()) {
      this.counts.bypass++
      return (await load())?.value
    }
    if (this.#unknown.has(digest)) {
      this.counts.unknown++
      return undefined
    }
    const running = this.#loading.get(digest)
    if (running) return await running
    const started = this.#loadAndKeep(digest, load).finally(() => {
      // A revocation may have let a newer load take this place.
      if (this.#loading.get(digest) === started) this.#loading.delete(digest)
    })
    this.#loading.set(digest, started)
    return await started
  }

  forget(tags: readonly string[]): void {
    this.#generation++
    this.#loading.clear()
    for (const tag of tags) {
      for (const digest of this.#digestsByTag.get(tag) ?? []) this.#entries.delete(digest)
    }
  }

  forgetAll(): void {
    this.#generation++
    this.#loading.clear()
    this.#entries.clear()
    this.#unknown.clear()
  }

  async #loadAndKeep(
    digest: string,
    load: () => Promise<Loaded<Value> | undefined>,
  ): Promise<Value | undefined> {
    this.counts.miss++
    const generation = this.#generation
    const loaded = await load()
    if (generation !== this.#generation) return loaded?.value
    if (loaded) this.#keep(digest, loaded)
    else if (this.#options.remembers_unknown !== false) this.#unknown.set(digest, true)
    return loaded?.value
  }

  #keep(digest: string, loaded: Loaded<Value>): void {
    this.#entries.set(digest, loaded)
    for (const tag of loaded.tags) {
      const digests = this.#digestsByTag.get(tag) ?? new Set()
      digests.add(digest)
      this.#digestsByTag.set(tag, digests)
    }
  }

  #untag(digest: string, tags: readonly string[]): void {
    for (const tag of tags) {
      const digests = this.#digestsByTag.get(tag)
      digests?.delete(digest)
      if (digests?.size === 0) this.#digestsByTag.delete(tag)
    }
  }
}
