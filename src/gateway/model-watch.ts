// Once a day: asks the providers whether what we call is still there, and says what is not in the log, as a metric and
// in /ready, which it does not make fail.

import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { Job } from '../platform/worker.ts'
import { checkModels, type ModelCheckParts, type ProviderCheck } from './model-check.ts'

const LOOK_EVERY_MS = 15 * 60_000
const CHECK_EVERY_MS = 24 * 3_600_000
/** After a list that could not be read. */
const RETRY_AFTER_MS = 3_600_000
/** A process that is started again and again must not ask each time. */
const SETTLE_MS = 10 * 60_000
const WARNINGS_MAX = 100

/** What the last look at each provider's list has found. */
export class ModelWatch {
  readonly #checks = new Map<string, ProviderCheck>()

  /** A list that could not be read takes nothing back. */
  note(checks: readonly ProviderCheck[]): void {
    for (const check of checks) {
      if (check.fault === undefined) this.#checks.set(check.provider, check)
    }
  }

  findings() {
    return [...this.#checks.values()].flatMap((check) => check.findings).slice(0, WARNINGS_MAX)
  }

  warnings(): string[] {
    return this.findings().map((finding) => finding.message)
  }
}

export type ModelWatchParts = ModelCheckParts & {
  model_watch: ModelWatch
  log: Log
  metrics: Metrics
}

export function modelWatchJob(parts: ModelWatchParts): Job {
  const started_at = parts.clock.now().getTime()
  let due_at = started_at + SETTLE_MS
  return {
    name: 'gateway.watch_models',
    every_ms: LOOK_EVERY_MS,
    async run(signal) {
      const now = parts.clock.now().getTime()
      if (now < due_at) return
      const is_complete = await watchModels(parts, signal)
      due_at = now + (is_complete ? CHECK_EVERY_MS : RETRY_AFTER_MS)
    },
  }
}

/** Answers whether every list could be read. */
async function watchModels(parts: ModelWatchParts, signal: AbortSignal): Promise<boolean> {
  const { model_watch, log, metrics } = parts
  const checks = await checkModels(parts, signal)
  if (signal.aborted) return false
  model_watch.note(checks)
  for (const { provider, fault } of checks) {
    if (fault !== undefined) log.warn({ provider, fault }, 'a list of models cannot be read')
  }
  metrics.model_days_left.reset()
  for (const { message, days_left, ...finding } of model_watch.findings()) {
    log.warn({ ...finding, days_left }, message)
    const { model, upstream_id, state } = finding
    metrics.model_days_left.labels(model, upstream_id, state).set(days_left)
  }
  return checks.every((check) => check.fault === undefined)
}
