// Runs jobs on a schedule: never two runs of one job at once in a process, with jitter, and a stop that
// waits for what is running. Jobs are safe to run on several machines at the same time.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from './log.ts'

export type Job = {
  name: string
  every_ms: number
  /** Ends soon after `signal` aborts. */
  run(signal: AbortSignal): Promise<void>
}

export type JobOutcome = 'ok' | 'failed'

export type WorkerOptions = {
  log: Log
  observe: (job: string, outcome: JobOutcome, seconds: number) => void
}

const JITTER = 0.1
/** At the start: another process may be doing the same, or a reader be in the way. */
const START_TRIES = 5
const START_RETRY_MS = 300

/** What a job will do again later, done once before the service is ready. A start does not fail by it. */
export async function runAtStart(name: string, log: Log, run: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await run()
    } catch (error) {
      log.warn({ err: error, job: name, tries }, 'not done yet')
      if (tries === START_TRIES) return
      await sleep(START_RETRY_MS)
    }
  }
}

export class Worker {
  readonly #options: WorkerOptions
  #jobs: readonly Job[] = []
  readonly #abort = new AbortController()
  readonly #timers = new Map<string, NodeJS.Timeout>()
  readonly #running = new Map<string, Promise<void>>()
  readonly #kicked = new Set<string>()

  constructor(options: WorkerOptions) {
    this.#options = options
  }

  start(jobs: readonly Job[]): void {
    this.#jobs = jobs
    for (const job of jobs) this.#schedule(job, Math.random() * job.every_ms * JITTER)
  }

  /** Runs a job now instead of at its next turn: for work that has just been queued in this process. */
  kick(name: string): void {
    const job = this.#jobs.find((candidate) => candidate.name === name)
    if (!job || this.#abort.signal.aborted) return
    if (this.#running.has(name)) this.#kicked.add(name)
    else this.#schedule(job, 0)
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    for (const timer of this.#timers.values()) clearTimeout(timer)
    await Promise.all(this.#running.values())
  }

  #schedule(job: Job, delay_ms: number): void {
    clearTimeout(this.#timers.get(job.name))
    if (this.#abort.signal.aborted) return
    this.#timers.set(
      job.name,
      setTimeout(() => {
        const ended = Promise.withResolvers<void>()
        // Before the job runs: it may kick itself in its first turn.
        this.#running.set(job.name, ended.promise)
        void this.#runOnce(job).finally(() => {
          this.#running.delete(job.name)
          const again = this.#kicked.delete(job.name)
          this.#schedule(job, again ? 0 : job.every_ms * (1 + (Math.random() - 0.5) * JITTER))
          ended.resolve()
        })
      }, delay_ms),
    )
  }

  async #runOnce(job: Job): Promise<void> {
    const started = performance.now()
    let outcome: JobOutcome = 'ok'
    try {
      await job.run(this.#abort.signal)
    } catch (error) {
      outcome = 'failed'
      this.#options.log.error({ job: job.name, err: error }, 'job failed')
    }
    this.#options.observe(job.name, outcome, (performance.now() - started) / 1000)
  }
}
