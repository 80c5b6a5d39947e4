// Every chat call of this process, from its order to its settlement. The server forgets a call whose client has
// left, but it still has to be charged: a stop waits for it here, and ends it in time to be settled.

import { setTimeout as wait } from 'node:timers/promises'
import { OpenSet, type Place } from '../platform/open-set.ts'

/** Of the ten seconds that a stopping process gives its last handlers; the rest is for settling. */
const FINISH_MS = 4_000

export class RunningCalls {
  readonly #open = new OpenSet<RunningCall>()
  #stopped = false

  begin(): RunningCall {
    const call = new RunningCall(this.#open)
    if (this.#stopped) call.stop()
    return call
  }

  /** Waits for those that run; if they are not over in time, all that run then, or begin later, are told to end. */
  async finish(within_ms = FINISH_MS): Promise<void> {
    await Promise.race([this.#allOver(), wait(within_ms, undefined, { ref: false })])
    const all_over = this.#allOver()
    this.#stopped = true
    for (const call of this.#open.members()) call.stop()
    await all_over
  }

  async #allOver(): Promise<void> {
    await Promise.all(this.#open.members().map((call) => call.over()))
  }
}

export class RunningCall {
  readonly #open: OpenSet<RunningCall>
  readonly #place: Place<RunningCall>
  /** Made only when somebody waits for the end. */
  #over: PromiseWithResolvers<void> | undefined
  #stopped = false
  #onStop: (() => void) | undefined

  constructor(open: OpenSet<RunningCall>) {
    this.#open = open
    this.#place = open.add(this)
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
    this.#over ??= Promise.withResolvers()
    return this.#over.promise
  }

  /** To be called once. */
  end(): void {
    this.#open.remove(this.#place)
    this.#over?.resolve()
  }
}
