// Counts of attempts by half hour, with a histogram of how long they took: each step is the square root of two, so a
// percentile read from it is off by a fifth at most.

import type { WebhookStatRow } from './log-store.ts'

const STEPS = 28
const STEP = Math.SQRT2

export type Counts = {
  webhook_id: string
  delivered: number
  failed: number
  /** Events whose first attempt failed. */
  failed_events: number
  durations: number[]
}

export type CountedAttempt = {
  webhook_id: string
  delivered: boolean
  is_first: boolean
  duration_ms: number
}

/** In the order of their webhooks: whoever writes several locks them in that order. */
export function countAttempts(attempts: readonly CountedAttempt[]): Counts[] {
  const by_webhook = new Map<string, Counts>()
  for (const { webhook_id, delivered, is_first, duration_ms } of attempts) {
    const counts = by_webhook.get(webhook_id) ?? emptyCounts(webhook_id)
    by_webhook.set(webhook_id, counts)
    if (delivered) counts.delivered += 1
    else counts.failed += 1
    if (!delivered && is_first) counts.failed_events += 1
    const step = stepOf(duration_ms)
    counts.durations[step] = (counts.durations[step] ?? 0) + 1
  }
  return [...by_webhook.values()].sort((a, b) => (a.webhook_id < b.webhook_id ? -1 : 1))
}

function emptyCounts(webhook_id: string): Counts {
  const durations = Array.from({ length: STEPS }, () => 0)
  return { webhook_id, delivered: 0, failed: 0, failed_events: 0, durations }
}

/** Step 0 is below 1 ms, step n ends at STEP^n. */
function stepOf(duration_ms: number): number {
  const step = duration_ms < 1 ? 0 : Math.floor(Math.log(duration_ms) / Math.log(STEP)) + 1
  return Math.min(step, STEPS - 1)
}

/** Half way, on the scale of the steps, through the one that holds the percentile. */
export function percentileOf(durations: readonly number[], share: number): number | null {
  const total = durations.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let seen = 0
  for (const [step, count] of durations.entries()) {
    seen += count
    if (seen >= total * share) return Math.max(1, Math.round(STEP ** (step - 0.5)))
  }
  return null
}

const HALF_HOUR_MS = 1_800_000
const HALF_HOURS = 48

/** The last 48 half hours, oldest first; those without an attempt too. */
export function toHalfHours(rows: readonly WebhookStatRow[], now: Date) {
  const by_time = new Map(rows.map((row) => [row.half_hour.getTime(), row]))
  const last = Math.floor(now.getTime() / HALF_HOUR_MS) * HALF_HOUR_MS
  return Array.from({ length: HALF_HOURS }, (_, index) => {
    const at = last - (HALF_HOURS - 1 - index) * HALF_HOUR_MS
    const row = by_time.get(at)
    return {
      at: new Date(at).toISOString(),
      delivered: row?.delivered ?? 0,
      failed: row?.failed ?? 0,
      p95_ms: row ? percentileOf(row.durations, 0.95) : null,
    }
  })
}
