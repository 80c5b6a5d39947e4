// Calls of this process that wait for room in their wallet: to begin, or for a hold that grows. A settlement here
// wakes them; what happens elsewhere they find by asking again.

import { setTimeout as sleep } from 'node:timers/promises'

export type RoomWaiter = { wallet_id: string; wake: (() => void) | undefined }

export class RoomWaiters {
  readonly #waiting = new Map<string, Set<RoomWaiter>>()

  enter(wallet_id: string): RoomWaiter {
    const waiter = { wallet_id, wake: undefined }
    const waiting = this.#waiting.get(wallet_id) ?? new Set()
    this.#waiting.set(wallet_id, waiting.add(waiter))
    return waiter
  }

  leave(waiter: RoomWaiter): void {
    const waiting = this.#waiting.get(waiter.wallet_id)
    waiting?.delete(waiter)
    if (waiting?.size === 0) this.#waiting.delete(waiter.wallet_id)
  }

  /** Resolves when a hold of the wallet was resolved here, or after `poll_ms`. */
  async pause(waiter: RoomWaiter, poll_ms: number): Promise<void> {
    const timer = new AbortController()
    waiter.wake = () => timer.abort()
    await sleep(poll_ms, undefined, { signal: timer.signal }).catch(() => {})
    waiter.wake = undefined
  }

  wake(wallet_id: string): void {
    for (const { wake } of this.#waiting.get(wallet_id) ?? []) wake?.()
  }
}
