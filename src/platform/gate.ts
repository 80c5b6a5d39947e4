// A bounded number of tasks at once and a bounded queue behind them.

export class GateFull extends Error {}

export class Gate {
  readonly #limit: number
  readonly #queueLimit: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(options: { limit: number; queue_limit: number }) {
    this.#limit = options.limit
    this.#queueLimit = options.queue_limit
  }

  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#running >= this.#limit) {
      if (this.#waiting.length >= this.#queueLimit) throw new GateFull('the queue is full')
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    } else {
      this.#running++
    }
    try {
      return await task()
    } finally {
      const next = this.#waiting.shift()
      // A waiting task takes over the place, so the count stays as it is.
      if (next) next()
      else this.#running--
    }
  }
}
