// Look-ups of credentials that are in no memory: each costs a query. An address whose credentials were nobody's too often is
// refused before the next one; credentials that were good before are looked up whatever their neighbours do.

import { LRUCache } from 'lru-cache'
import { digestKey } from '../platform/tokens.ts'
import { addressBucket } from './address-bucket.ts'
import type { RateLimits } from './rate-limit.ts'

const GOOD_MAX = 50_000

export class Lookups {
  readonly #limits: RateLimits
  readonly #good = new LRUCache<string, true>({ max: GOOD_MAX })

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
    const slot = this.#limits.peek('unknown_credential', bucket)
    if (slot.remaining === 0 && !this.#good.has(digest)) {
      throw this.#limits.refusal('unknown_credential', slot)
    }
    const found = await find()
    if (found) this.#good.set(digest, true)
    else await this.#limits.take('unknown_credential', bucket)
    return found
  }
}
