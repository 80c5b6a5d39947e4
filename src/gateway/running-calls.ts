// Every chat call of this process, from its order to its settlement. The server forgets a call whose client has
// left, but it still has to be charged: a stop waits for it here, and ends it in time to be settled.

import { setTimeout as wait } from 'node:timers/promises'

/** Of the ten seconds that a stopping process gives its last handlers; the rest is for settling. */
const FINISH_MS = 4_000

export class RunningCalls {
  readonly #open = new Map<AbortController, Promise<unknown>>()

  async run<Result>(work: (stop: AbortSignal) => Promise<Result>): Promise<Result> {
    const stop = new AbortController()
    const running = work(stop.signal)
    this.#open.set(stop, running)
    try {
      return await running
    } finally {
      this.#open.delete(stop)
    }
  }

  /** Resolves when no call is left. */
  async finish(): Promise<void> {
    const settled = Promise.allSettled(this.#open.values())
    await Promise.race([settled, wait(FINISH_MS, undefined, { ref: false })])
    for (const stop of this.#open.keys()) stop.abort()
    await settled
  }
}
