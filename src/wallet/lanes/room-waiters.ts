// Calls of this process that wait for room in their wallet: to begin, or for a hold that grows. A settlement here
// wakes them; what happens elsewhere they find by asking again.

import { setTimeout as sleep } from 'node:timers/promises'

/** `held`: what it holds while it waits. */
export type RoomWaiter = { wallet_id: string; held: bigint; wake: (() => void) | undefined }

export class RoomWaiters {
  readonly #waiting = new Map<string, Set<RoomWaiter>>()

  enter(wallet_id: string, held: bigint): RoomWaiter {
    const waiter = { wallet_id, held, wake: undefined }
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

  /** Whether all that is held of a wallet is held by those who wait: then nobody is left to give any back. */
  holdAll(wallet_id: string, wallet_held: bigint | null): boolean {
    let held = 0n
    for (const waiter of this.#waiting.get(wallet_id) ?? []) held += waiter.held
    return held > 0n && held === wallet_held
  }
}
