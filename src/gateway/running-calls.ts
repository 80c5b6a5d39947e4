// Every chat call of this process, from its order to its settlement. The server forgets a call whose client has
// left, but it still has to be charged: a stop waits for it here, and ends it in time to be settled. One payer has a
// bounded number of them at a time.

import { setTimeout as wait } from 'node:timers/promises'
import { ApiError } from '../platform/errors.ts'
import { OpenSet, type Place } from '../platform/open-set.ts'

/** Of the ten seconds that a stopping process gives its last handlers; the rest is for settling. */
const FINISH_MS = 4_000

export class RunningCalls {
  readonly #open = new OpenSet<RunningCall>()
  /** How many run for each payer; who has none is not in it. */
  readonly #counts = new Map<string, number>()
  readonly #at_once_max: number
  #stopped = false

  constructor(at_once_max: number) {
    this.#at_once_max = at_once_max
  }

  /** Throws 429 if the payer has too many already. */
  begin(wallet_id: string): RunningCall {
    const count = (this.#counts.get(wallet_id) ?? 0) + 1
    if (count > this.#at_once_max) throw tooMany(this.#at_once_max)
    this.#counts.set(wallet_id, count)
    const call = new RunningCall(this.#open, () => this.#leave(wallet_id))
    if (this.#stopped) call.stop()
    return call
  }

  /** Payers with a call that runs. */
  get payers(): number {
    return this.#counts.size
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

  #leave(wallet_id: string): void {
    const count = (this.#counts.get(wallet_id) ?? 0) - 1
    if (count > 0) this.#counts.set(wallet_id, count)
    else this.#counts.delete(wallet_id)
  }
}

function tooMany(max: number): ApiError {
  return new ApiError('rate_limit_exceeded', {
    message: `${max} calls of this payer are running already.`,
    hint: 'Wait until one of them is over, or make fewer at a time.',
    headers: { 'retry-after': '1' },
  })
}

export class RunningCall {
  readonly #open: OpenSet<RunningCall>
  readonly #place: Place<RunningCall>
  readonly #onEnd: () => void
  /** Made only when somebody waits for the end. */
  #over: PromiseWithResolvers<void> | undefined
  #stopped = false
  #onStop: (() => void) | undefined

  constructor(open: OpenSet<RunningCall>, onEnd: () => void) {
    this.#open = open
    this.#onEnd = onEnd
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
    this.#onEnd()
    this.#over?.resolve()
  }
}
