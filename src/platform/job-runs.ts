// When each background job of this process last ended, and how: for operators. Other processes know of their own only.

import type { JobOutcome } from './worker.ts'

export type JobRun = { outcome: JobOutcome; seconds: number; ended_at: Date }

export class JobRuns {
  // As many as there are jobs.
  readonly #last = new Map<string, JobRun>()

  note(job: string, run: JobRun): void {
    this.#last.set(job, run)
  }

  list(): ({ name: string } & JobRun)[] {
    return [...this.#last].map(([name, run]) => ({ name, ...run }))
  }
}
