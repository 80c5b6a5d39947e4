// Counts against the limits of limits.ts. Fixed windows, counted in this process or, with Redis, by all processes together. When
// Redis does not answer, this process counts alone until it does, and says so.

import type { FastifyReply } from 'fastify'
import { ApiError } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'
import { createLruCache } from '../platform/lru-cache.ts'
import { digestKey } from '../platform/tokens.ts'
import type { Limit, LimitName, Limits } from './limits.ts'
import { SharedCounters, type Window } from './shared-counters.ts'

export { addressBucket } from './address-bucket.ts'
export { type LimitName, type Limits, limitsFrom } from './limits.ts'

/** What one count came to. */
export type Slot = {
  readonly allowed: boolean
  readonly limit: number
  readonly remaining: number
  /** Unix seconds at which the window ends. */
  readonly reset_at_s: number
  readonly retry_after_s: number
}

export type RateLimitEvents = {
  onShared: (shared: boolean) => void
  onFallback: () => void
  onRefused: (limit: LimitName) => void
}

/** Past this many callers in one window the oldest counters are forgotten. */
const COUNTERS_MAX = 200_000
/** Longer keys are kept as a digest: nobody may choose how much memory a counter takes. */
const KEY_LENGTH_MAX = 64
/** How often counters whose window is over are forgotten. */
const SWEEP_INTERVAL_MS = 30_000

export class RateLimits {
  readonly #limits: Limits
  readonly #events: RateLimitEvents
  readonly #local = createLruCache<string, Window>(COUNTERS_MAX)
  readonly #shared: SharedCounters | undefined
  readonly #sweeper: NodeJS.Timeout

  constructor(options: {
    limits: Limits
    events: RateLimitEvents
    log: Log
    redis_url?: string | undefined
  }) {
    this.#limits = options.limits
    this.#events = options.events
    if (options.redis_url !== undefined) {
      const { limits, log, events, redis_url: url } = options
      this.#shared = new SharedCounters({ url, limits, log, onShared: events.onShared })
    }
    this.#sweeper = setInterval(() => this.forgetExpired(), SWEEP_INTERVAL_MS).unref()
  }

  /** Counts one request. */
  async take(name: LimitName, key: string, max = this.#limits[name].max): Promise<Slot> {
    return this.shared ? await this.#takeShared(name, key, max) : this.takeInMemory(name, key, max)
  }

  /** The same without a promise, to be called only while limits are not shared. */
  takeInMemory(name: LimitName, key: string, max = this.#limits[name].max): Slot {
    if (this.#shared) this.#events.onFallback()
    return this.#takeLocal(name, key, max)
  }

  /** Whether Redis has to be asked: it counts for all processes, and answers. */
  get shared(): boolean {
    return this.#shared?.available === true
  }

  /** Counts, and refuses with the limit's own code when it is used up. */
  async require(name: LimitName, key: string): Promise<Slot> {
    const slot = await this.take(name, key)
    if (!slot.allowed) throw this.refusal(name, slot)
    return slot
  }

  /** Uncounts one: for limits of failures, which are taken before it is known whether it will be one. */
  async giveBack(name: LimitName, key: string): Promise<void> {
    const window = this.#local.get(counterId(name, key))
    if (window && window.count > 0) window.count--
    if (this.shared) await this.#shared?.uncount(name, boundedKey(key))
  }

  refusal(name: LimitName, slot: Slot): ApiError {
    this.#events.onRefused(name)
    return new ApiError(this.#limits[name].code, {
      headers: {
        'retry-after': String(slot.retry_after_s),
        'x-ratelimit-limit': String(slot.limit),
        'x-ratelimit-remaining': '0',
        'x-ratelimit-reset': String(slot.reset_at_s),
      },
    })
  }

  /** What a caller has left, without counting; for replies that are exempt. Looks at this process only. */
  peek(name: LimitName, key: string): Slot {
    const now_ms = Date.now()
    const window = this.#local.get(counterId(name, key))
    const open = window && window.ends_ms > now_ms ? window : newWindow(this.#limits[name], now_ms)
    return toSlot({ count: open.count, ends_ms: open.ends_ms }, this.#limits[name].max, now_ms)
  }

  /** Counters in this process. */
  get size(): number {
    return this.#local.size
  }

  forgetExpired(): void {
    const now_ms = Date.now()
    const over: string[] = []
    for (const [id, window] of this.#local.entries()) if (window.ends_ms <= now_ms) over.push(id)
    for (const id of over) this.#local.delete(id)
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper)
    await this.#shared?.close()
  }

  #takeLocal(name: LimitName, key: string, max: number): Slot {
    const now_ms = Date.now()
    const id = counterId(name, key)
    let window = this.#local.get(id)
    if (!window || window.ends_ms <= now_ms) {
      window = newWindow(this.#limits[name], now_ms)
      this.#local.set(id, window)
    }
    window.count++
    return toSlot(window, max, now_ms)
  }

  async #takeShared(name: LimitName, key: string, max: number): Promise<Slot> {
    // Here too: `peek` looks no further, and a Redis that goes away does not set everybody back to nothing.
    const own = this.#takeLocal(name, key, max)
    const counted = await this.#shared?.count(name, boundedKey(key))
    if (counted) return toSlot(counted, max, Date.now())
    this.#events.onFallback()
    return own
  }
}

function counterId(name: LimitName, key: string): string {
  return `${name}:${boundedKey(key)}`
}

function boundedKey(key: string): string {
  return key.length <= KEY_LENGTH_MAX ? key : digestKey(key)
}

function newWindow(limit: Limit, now_ms: number): Window {
  return { count: 0, ends_ms: now_ms + limit.window_s * 1000 }
}

function toSlot(window: Window, max: number, now_ms: number): Slot {
  return {
    allowed: window.count <= max,
    limit: max,
    remaining: Math.max(0, max - window.count),
    reset_at_s: Math.ceil(window.ends_ms / 1000),
    retry_after_s: Math.max(1, Math.ceil((window.ends_ms - now_ms) / 1000)),
  }
}

/** The three headers of every reply. */
export function setLimitHeaders(reply: FastifyReply, slot: Slot): void {
  reply.header('x-ratelimit-limit', slot.limit)
  reply.header('x-ratelimit-remaining', slot.remaining)
  reply.header('x-ratelimit-reset', slot.reset_at_s)
}
