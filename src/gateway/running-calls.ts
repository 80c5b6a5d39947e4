// Every chat call of this process, from its order to its settlement. The server forgets a call whose client has
// left, but it still has to be charged: a stop waits for it here, and ends it in time to be settled.

import { setTimeout as wait } from 'node:timers/promises'

/** Of the ten seconds that a stopping process gives its last handlers; the rest is for settling. */
const FINISH_MS = 4_000

/** Says whom to tell when the process ends; whoever comes too late is told at once. */
export type OnStop = (listener: () => void) => void

type RunningCall = { place: number; work: Promise<unknown>; stopped: boolean; tell: () => void }

export class RunningCalls {
  /**
   * Not a Set: it moves to a new table every few calls, and each table it leaves points to the next one. A minor
   * collection takes what an old table points to for alive, so every call would survive its own end.
   */
  readonly #open: RunningCall[] = []

  async run<Result>(work: (onStop: OnStop) => Promise<Result>): Promise<Result> {
    const place = this.#open.length
    const call: RunningCall = { place, work: Promise.resolve(), stopped: false, tell: () => {} }
    this.#open.push(call)
    try {
      const running = work((listener) => {
        if (call.stopped) listener()
        else call.tell = listener
      })
      call.work = running
      return await running
    } finally {
      this.#forget(call)
    }
  }

  /** Resolves when no call is left; those that are not over in time are told to end. */
  async finish(within_ms = FINISH_MS): Promise<void> {
    const settled = Promise.allSettled(this.#open.map((call) => call.work))
    await Promise.race([settled, wait(within_ms, undefined, { ref: false })])
    for (const call of this.#open) {
      call.stopped = true
      call.tell()
    }
    await settled
  }

  /** The last one takes its place. */
  #forget(call: RunningCall): void {
    const last = this.#open.pop()
    if (!last || last === call) return
    last.place = call.place
    this.#open[last.place] = last
  }
}
