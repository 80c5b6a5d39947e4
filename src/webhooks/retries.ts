// When a delivery that failed is sent again. Beyond these it has failed, and so it has after 24 hours
// (finish_deliveries).

const MINUTE_MS = 60_000
const RETRY_AFTER_MS = [MINUTE_MS / 2, 15 * MINUTE_MS, 360 * MINUTE_MS]
/** Deliveries that failed together must not all come back at the same moment. */
const SPREAD = 0.2

export const RETRIES = RETRY_AFTER_MS.length

/** Null: not again. `random` is from 0 to 1. */
export function retryAfterMs(retries_left: number, random = Math.random()): number | null {
  const wait_ms = RETRY_AFTER_MS[RETRIES - retries_left]
  if (wait_ms === undefined) return null
  return Math.round(wait_ms * (1 + SPREAD * (2 * random - 1)))
}
