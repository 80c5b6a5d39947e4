// Limits as data. Fixed windows, counted in this process or, with Redis, by all processes together. When
// Redis does not answer, this process counts alone until it does, and says so.

import { isIPv4, isIPv6 } from 'node:net'
import type { FastifyReply } from 'fastify'
import { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { ApiError, type ErrorCode } from '../platform/errors.ts'
import type { Log } from '../platform/log.ts'

export type LimitName =
  | 'global'
  | 'register'
  | 'login'
  | 'recovery'
  | 'verification'
  | 'password'
  | 'second_factor'
  | 'second_factor_day'
  | 'funding'
  | 'oauth_token'
  | 'client_secret'

type Limit = { max: number; window_s: number; code: ErrorCode }

export type Limits = Record<LimitName, Limit>

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
const REDIS_TIMEOUT_MS = 250
/** After a failure Redis is left alone for this long, so that a hanging one does not slow every request. */
const REDIS_PAUSE_MS = 1_000
/** The library compares with a fixed number; our limits differ by caller, so we compare ourselves. */
const LIBRARY_POINTS = Number.MAX_SAFE_INTEGER

/** Wrong secrets a minute for one app from one address. */
const CLIENT_SECRET_GUESSES = 10

/**
 * Codes of authenticator apps for one account, right or wrong. Three of a million codes are good at a time: whoever has the
 * password and guesses all day hits one with a chance of 0.00015.
 */
const CODES_PER_15_MINUTES = 10
const CODES_PER_DAY = 50

export function limitsFrom(config: {
  RATE_LIMIT_PER_MINUTE: number
  REGISTER_LIMIT_PER_MINUTE: number
  LOGIN_LIMIT_PER_MINUTE: number
  VERIFICATION_LIMIT_PER_HOUR: number
  PASSWORD_LIMIT_PER_15_MINUTES: number
  FUNDING_LIMIT_PER_MINUTE: number
  TOKEN_LIMIT_PER_MINUTE: number
}): Limits {
  return {
    global: { max: config.RATE_LIMIT_PER_MINUTE, window_s: 60, code: 'rate_limit_exceeded' },
    register: { max: config.REGISTER_LIMIT_PER_MINUTE, window_s: 60, code: 'rate_limit_exceeded' },
    login: { max: config.LOGIN_LIMIT_PER_MINUTE, window_s: 60, code: 'rate_limit_exceeded' },
    // As tight as login, but not used up by it: who fails to log in needs the way out.
    recovery: { max: config.LOGIN_LIMIT_PER_MINUTE, window_s: 60, code: 'rate_limit_exceeded' },
    verification: { max: config.VERIFICATION_LIMIT_PER_HOUR, window_s: 3600, code: 'rate_limited' },
    password: { max: config.PASSWORD_LIMIT_PER_15_MINUTES, window_s: 900, code: 'rate_limited' },
    second_factor: { max: CODES_PER_15_MINUTES, window_s: 900, code: 'rate_limited' },
    second_factor_day: { max: CODES_PER_DAY, window_s: 86_400, code: 'rate_limited' },
    funding: { max: config.FUNDING_LIMIT_PER_MINUTE, window_s: 60, code: 'rate_limit_exceeded' },
    oauth_token: { max: config.TOKEN_LIMIT_PER_MINUTE, window_s: 60, code: 'rate_limit_exceeded' },
    // Wrong secrets only, so that nobody can lock an app out by guessing from elsewhere.
    client_secret: { max: CLIENT_SECRET_GUESSES, window_s: 60, code: 'rate_limit_exceeded' },
  }
}

export class RateLimits {
  readonly #limits: Limits
  readonly #events: RateLimitEvents
  readonly #local = new LRUCache<string, Window>({ max: COUNTERS_MAX })
  readonly #shared: SharedCounters | undefined

  constructor(options: {
    limits: Limits
    events: RateLimitEvents
    log: Log
    redis_url?: string | undefined
  }) {
    this.#limits = options.limits
    this.#events = options.events
    if (options.redis_url !== undefined) {
      this.#shared = new SharedCounters(options.redis_url, options.limits, options)
    }
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

  refusal(name: LimitName, slot: Slot): ApiError {
    this.#events.onRefused(name)
    return new ApiError(this.#limits[name].code, {
      headers: { 'retry-after': String(slot.retry_after_s) },
    })
  }

  /** What a caller has left, without counting; for replies that are exempt. Looks at this process only. */
  peek(name: LimitName, key: string): Slot {
    const now_ms = Date.now()
    const window = this.#local.get(`${name}:${key}`)
    const open = window && window.ends_ms > now_ms ? window : newWindow(this.#limits[name], now_ms)
    return toSlot({ count: open.count, ends_ms: open.ends_ms }, this.#limits[name].max, now_ms)
  }

  async close(): Promise<void> {
    await this.#shared?.close()
  }

  #takeLocal(name: LimitName, key: string, max: number): Slot {
    const now_ms = Date.now()
    const id = `${name}:${key}`
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
    const counted = await this.#shared?.count(name, key)
    if (counted) return toSlot(counted, max, Date.now())
    this.#events.onFallback()
    return own
  }
}

type Window = { count: number; ends_ms: number }

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

class SharedCounters {
  readonly #redis: Redis
  readonly #limiters: Map<LimitName, RateLimiterRedis>
  readonly #events: RateLimitEvents
  readonly #log: Log
  #sharing: boolean | undefined
  #pausedUntil = 0

  constructor(url: string, limits: Limits, options: { events: RateLimitEvents; log: Log }) {
    this.#events = options.events
    this.#log = options.log
    this.#redis = new Redis(url, {
      enableOfflineQueue: false,
      maxRetriesPerRequest: 1,
      commandTimeout: REDIS_TIMEOUT_MS,
      connectTimeout: 2_000,
      retryStrategy: (attempt) => Math.min(attempt * 100, 2_000),
    })
    this.#redis.on('error', (error) => this.#report(false, error))
    this.#redis.on('ready', () => this.#report(true))
    this.#redis.on('close', () => this.#report(false))
    const names = Object.keys(limits) as LimitName[]
    this.#limiters = new Map(names.map((name) => [name, this.#limiter(name, limits[name])]))
  }

  get available(): boolean {
    return this.#redis.status === 'ready' && performance.now() >= this.#pausedUntil
  }

  async count(name: LimitName, key: string): Promise<Window | undefined> {
    try {
      const result = await this.#limiters.get(name)?.consume(key)
      if (!result) return undefined
      this.#report(true)
      return { count: result.consumedPoints, ends_ms: Date.now() + result.msBeforeNext }
    } catch (error) {
      this.#pausedUntil = performance.now() + REDIS_PAUSE_MS
      this.#report(false, error)
      return undefined
    }
  }

  async close(): Promise<void> {
    this.#redis.removeAllListeners()
    this.#redis.on('error', () => {})
    this.#redis.disconnect()
  }

  #limiter(name: LimitName, limit: Limit): RateLimiterRedis {
    return new RateLimiterRedis({
      storeClient: this.#redis,
      keyPrefix: `svc:limit:${name}`,
      points: LIBRARY_POINTS,
      duration: limit.window_s,
    })
  }

  #report(sharing: boolean, error?: unknown): void {
    if (this.#sharing === sharing) return
    this.#sharing = sharing
    this.#events.onShared(sharing)
    if (sharing) this.#log.info('rate limits are shared through Redis')
    else
      this.#log.warn({ err: error }, 'Redis does not answer: this process counts rate limits alone')
  }
}

/** The three headers of every reply. */
export function setLimitHeaders(reply: FastifyReply, slot: Slot): void {
  reply.header('x-ratelimit-limit', slot.limit)
  reply.header('x-ratelimit-remaining', slot.remaining)
  reply.header('x-ratelimit-reset', slot.reset_at_s)
}

/**
 * Whose requests are counted together. IPv6 callers own a whole /64 and could otherwise count as 2^64 people;
 * an IPv4 address is the same person in each of its spellings.
 */
export function addressBucket(ip: string): string {
  if (isIPv4(ip)) return ip
  // Some proxies put the port behind the address.
  const address = ip.replace(/^([\d.]+):\d+$/, '$1').replace(/^\[(.*)\](:\d+)?$/, '$1')
  if (isIPv4(address)) return address
  if (!isIPv6(address)) return 'unknown'
  const groups = ipv6Groups(address)
  const [high = 0, low = 0] = groups.slice(6)
  const is_mapped = groups.slice(0, 6).join() === '0,0,0,0,0,65535'
  if (is_mapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** The eight numbers of a valid address. */
function ipv6Groups(address: string): number[] {
  const bare = address.replace(/%.*$/, '').replace(/\d+\.\d+\.\d+\.\d+$/, toTwoGroups)
  const [left = [], right = []] = bare
    .split('::')
    .map((part) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}

function toTwoGroups(dotted: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = dotted.split('.').map(Number)
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}
