// Look-ups of credentials that are in no memory: each costs a query. An address whose credentials were nobody's too often is
// refused before the next one; credentials that were good before are looked up whatever their neighbours do.

import { createLruCache } from '../platform/lru-cache.ts'
import { digestKey } from '../platform/tokens.ts'
import { addressBucket } from './address-bucket.ts'
import type { RateLimits } from './rate-limit.ts'

const GOOD_MAX = 50_000
const UNKNOWN_MAX = 10_000
/** One dead key that a program tries again and again is not many: it must not keep the others of its address out. */
const UNKNOWN_TTL_MS = 1_000

export class Lookups {
  readonly #limits: RateLimits
  readonly #good = createLruCache<string, true>(GOOD_MAX)
  /** Nobody's a moment ago. Secrets are random: none becomes somebody's later. */
  readonly #unknown = createLruCache<string, true>(UNKNOWN_MAX, { ttl: UNKNOWN_TTL_MS })

  constructor(limits: RateLimits) {
    this.#limits = limits
  }

  /** Runs `find`, or refuses with 429 without running it. What it finds is remembered, what it does not is counted. */
  async find<Found extends object>(
    { ip, secret }: { ip: string; secret: string },
    find: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const bucket = addressBucket(ip)
    const digest = digestKey(secret)
    if (this.#unknown.has(digest)) return undefined
    const slot = this.#limits.peek('unknown_credential', bucket)
    if (slot.remaining === 0 && !this.#good.has(digest)) {
      throw this.#limits.refusal('unknown_credential', slot)
    }
    const found = await find()
    if (found) {
      this.#good.set(digest, true)
      return found
    }
    this.#unknown.set(digest, true)
    await this.#limits.take('unknown_credential', bucket)
    return undefined
  }
}
