// A bounded number of tasks at once, with a bounded queue for each kind of task. No kind starves another: a free place goes
// to the kinds in turn. Within a kind it goes to the callers in turn, and a caller who fills a queue makes room for others.

export class GateFull extends Error {}

export type Turn = {
  /** Has a queue of its own. */
  kind: string
  /** Who asks; all tasks of one caller wait behind each other. */
  caller: string
}

type Waiting = { resolve: () => void; reject: (error: GateFull) => void }

const NOBODY: Turn = { kind: '', caller: '' }

export class Gate {
  readonly #limit: number
  readonly #queueLimit: number
  /** By kind, in the order in which they are served; one that was served goes to the end. */
  readonly #queues = new Map<string, FairQueue>()
  #running = 0

  /** `queue_limit`: of each kind. */
  constructor(options: { limit: number; queue_limit: number }) {
    this.#limit = options.limit
    this.#queueLimit = options.queue_limit
  }

  async run<Result>(task: () => Promise<Result>, turn: Turn = NOBODY): Promise<Result> {
    if (this.#running >= this.#limit) await this.#wait(turn)
    else this.#running++
    try {
      return await task()
    } finally {
      const next = this.#next()
      // A waiting task takes over the place, so the count stays as it is.
      if (next) next.resolve()
      else this.#running--
    }
  }

  #wait({ kind, caller }: Turn): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const queue = this.#queues.get(kind) ?? new FairQueue(this.#queueLimit)
    this.#queues.set(kind, queue)
    queue.add(caller, { resolve, reject })
    return promise
  }

  #next(): Waiting | undefined {
    const [served] = this.#queues
    if (!served) return undefined
    const [kind, queue] = served
    const next = queue.take()
    this.#queues.delete(kind)
    if (queue.size > 0) this.#queues.set(kind, queue)
    return next
  }
}

class FairQueue {
  readonly #limit: number
  /** By caller, in the order in which they are served. */
  readonly #callers = new Map<string, Waiting[]>()
  size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** In a full queue the last task of whoever has most in it gives way, unless the newcomer would have as many. */
  add(caller: string, waiting: Waiting): void {
    const own = this.#callers.get(caller) ?? []
    if (this.size >= this.#limit && !this.#makeRoom(own.length + 1)) {
      waiting.reject(new GateFull('the queue is full'))
      return
    }
    own.push(waiting)
    this.#callers.set(caller, own)
    this.size++
  }

  take(): Waiting | undefined {
    const [served] = this.#callers
    if (!served) return undefined
    const [caller, tasks] = served
    const next = tasks.shift()
    this.#callers.delete(caller)
    if (tasks.length > 0) this.#callers.set(caller, tasks)
    this.size--
    return next
  }

  #makeRoom(newcomer_has: number): boolean {
    let most: Waiting[] = []
    for (const tasks of this.#callers.values()) if (tasks.length > most.length) most = tasks
    if (most.length <= newcomer_has) return false
    most.pop()?.reject(new GateFull('the queue is full, and others wait for their first turn'))
    this.size--
    return true
  }
}
