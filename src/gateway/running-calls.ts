// Every chat call of this process, from its order to its settlement. The server forgets a call whose client has
// left, but it still has to be charged: a stop waits for it here, and ends it in time to be settled.

import { setTimeout as wait } from 'node:timers/promises'

/** Of the ten seconds that a stopping process gives its last handlers; the rest is for settling. */
const FINISH_MS = 4_000

export class RunningCalls {
  /**
   * Not a Set: it moves to a new table every few calls, and each table it leaves points to the next one. A minor
   * collection takes what an old table points to for alive, so every call would survive its own end.
   */
  readonly #open: RunningCall[] = []

  begin(): RunningCall {
    const call = new RunningCall(this.#open, this.#open.length)
    this.#open.push(call)
    return call
  }

  /** Resolves when those that run now are over; if they are not in time, they are told to end. */
  async finish(within_ms = FINISH_MS): Promise<void> {
    const calls = [...this.#open]
    const all_over = Promise.all(calls.map((call) => call.over()))
    await Promise.race([all_over, wait(within_ms, undefined, { ref: false })])
    for (const call of calls) call.stop()
    await all_over
  }
}

export class RunningCall {
  readonly #open: RunningCall[]
  #place: number
  #stopped = false
  #onStop: (() => void) | undefined
  #onOver: (() => void) | undefined

  constructor(open: RunningCall[], place: number) {
    this.#open = open
    this.#place = place
  }

  /** Whom to tell when the process ends; whoever comes too late is told at once. */
  onStop(listener: () => void): void {
    if (this.#stopped) listener()
    else this.#onStop = listener
  }

  stop(): void {
    this.#stopped = true
    this.#onStop?.()
  }

  over(): Promise<void> {
    return new Promise((resolve) => {
      this.#onOver = resolve
    })
  }

  /** To be called once. The last one takes its place. */
  end(): void {
    const last = this.#open.pop()
    if (last && last !== this) {
      last.#place = this.#place
      this.#open[last.#place] = last
    }
    this.#onOver?.()
  }
}
