// Holds that wait for room in their wallet: woken when a hold of that wallet was resolved in this process, and after a
// pause, because it may have been resolved in another.

import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_START_MS = 20
const PAUSE_LIMIT_MS = 200

export class RoomWatch {
  readonly #waiting = new Map<string, Set<() => void>>()

  async wait(wallet_id: string, pause_ms: number): Promise<void> {
    const waiting = this.#waiting.get(wallet_id) ?? new Set()
    this.#waiting.set(wallet_id, waiting)
    const timer = new AbortController()
    const wake = () => timer.abort()
    waiting.add(wake)
    await sleep(pause_ms, undefined, { signal: timer.signal }).catch(() => {})
    waiting.delete(wake)
    if (waiting.size === 0) this.#waiting.delete(wallet_id)
  }

  wake(wallet_id: string): void {
    for (const wake of this.#waiting.get(wallet_id) ?? []) wake()
  }
}

/** How long to wait before each next look. Without end: the caller knows when it has waited enough. */
export function* pauses(): Generator<number> {
  for (let pause_ms = PAUSE_START_MS; ; pause_ms = Math.min(PAUSE_LIMIT_MS, pause_ms * 2)) {
    yield pause_ms
  }
}
