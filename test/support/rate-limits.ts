// Rate limits as a test wants them, and what they told.

import type { TestContext } from 'node:test'
import { loadConfig } from '../../src/config.ts'
import { type LimitName, type Limits, limitsFrom, RateLimits } from '../../src/http/rate-limit.ts'
import { collectLog } from './log.ts'

export function makeLimits(
  t: TestContext,
  maxima: Partial<Record<LimitName, number>>,
  options: { redis_url?: string; windows_s?: Partial<Record<LimitName, number>> } = {},
) {
  const limits: Limits = limitsFrom(loadConfig({}))
  for (const name of Object.keys(limits) as LimitName[]) {
    limits[name].max = maxima[name] ?? limits[name].max
    limits[name].window_s = options.windows_s?.[name] ?? limits[name].window_s
  }
  const shared: boolean[] = []
  const fallbacks: true[] = []
  const refused: LimitName[] = []
  const log = collectLog()
  const made = new RateLimits({
    limits,
    redis_url: options.redis_url,
    log: log.log,
    events: {
      onShared: (value) => shared.push(value),
      onFallback: () => fallbacks.push(true),
      onRefused: (name) => refused.push(name),
    },
  })
  t.after(() => made.close())
  return { limits: made, shared, fallbacks, refused, log }
}
