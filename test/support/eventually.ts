// Waits for a condition instead of a time: as short as it can be, and bounded.

import { setTimeout as wait } from 'node:timers/promises'

const STEP_MS = 5

/** Resolves with how long it took, or fails and says what was waited for. */
export async function eventually(
  what: string,
  check: () => boolean | Promise<boolean>,
  within_ms = 15_000,
): Promise<number> {
  const started = performance.now()
  for (;;) {
    if (await check()) return performance.now() - started
    if (performance.now() - started > within_ms) {
      throw new Error(`not within ${within_ms} ms: ${what}`)
    }
    await wait(STEP_MS)
  }
}
