// Counters that all processes share through Redis. The libraries are loaded only where there is a Redis; until it answers, and
// whenever it does not, each process counts alone (rate-limit.ts).

import type { Redis } from 'ioredis'
import type { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Log } from '../platform/log.ts'
import type { LimitName, Limits } from './limits.ts'

/** How often somebody was counted, until when. */
export type Window = { count: number; ends_ms: number }

export type SharedCountersOptions = {
  url: string
  limits: Limits
  onShared: (shared: boolean) => void
  log: Log
}

const REDIS_TIMEOUT_MS = 250
/** After a failure Redis is left alone for this long, so that a hanging one does not slow every request. */
const REDIS_PAUSE_MS = 1_000
/** The library compares with a fixed number; our limits differ by caller, so we compare ourselves. */
const LIBRARY_POINTS = Number.MAX_SAFE_INTEGER

type Connection = { redis: Redis; limiters: ReadonlyMap<LimitName, RateLimiterRedis> }

export class SharedCounters {
  readonly #options: SharedCountersOptions
  readonly #opening: Promise<void>
  #connection: Connection | undefined
  #sharing: boolean | undefined
  #pausedUntil = 0

  constructor(options: SharedCountersOptions) {
    this.#options = options
    this.#opening = this.#open()
  }

  get available(): boolean {
    return this.#connection?.redis.status === 'ready' && performance.now() >= this.#pausedUntil
  }

  async count(name: LimitName, key: string): Promise<Window | undefined> {
    try {
      const result = await this.#connection?.limiters.get(name)?.consume(key)
      if (!result) return undefined
      this.#report(true)
      return { count: result.consumedPoints, ends_ms: Date.now() + result.msBeforeNext }
    } catch (error) {
      this.#pausedUntil = performance.now() + REDIS_PAUSE_MS
      this.#report(false, error)
      return undefined
    }
  }

  /** What cannot be given back ends with its window. */
  async uncount(name: LimitName, key: string): Promise<void> {
    await this.#connection?.limiters
      .get(name)
      ?.reward(key)
      .catch(() => {})
  }

  async close(): Promise<void> {
    await this.#opening
    const redis = this.#connection?.redis
    redis?.removeAllListeners()
    redis?.on('error', () => {})
    redis?.disconnect()
  }

  async #open(): Promise<void> {
    const [{ Redis }, { RateLimiterRedis }] = await Promise.all([
      import('ioredis'),
      import('rate-limiter-flexible'),
    ])
    const { url, limits } = this.#options
    const redis = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: REDIS_TIMEOUT_MS,
      connectTimeout: 2_000,
      retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    })
    redis.on('error', (error) => this.#report(false, error))
    redis.on('ready', () => this.#report(true))
    redis.on('close', () => this.#report(false))
    const names = Object.keys(limits) as LimitName[]
    const limiters = names.map((name) => {
      const limiter = new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: `svc:limit:${name}`,
        points: LIBRARY_POINTS,
        duration: limits[name].window_s,
      })
      return [name, limiter] as const
    })
    this.#connection = { redis, limiters: new Map(limiters) }
  }

  #report(sharing: boolean, error?: unknown): void {
    if (this.#sharing === sharing) return
    this.#sharing = sharing
    const { onShared, log } = this.#options
    onShared(sharing)
    if (sharing) log.info('rate limits are shared through Redis')
    else log.warn({ err: error }, 'Redis does not answer: this process counts rate limits alone')
  }
}
