// How the service stands, in four bounded queries and what this process has counted.

import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db.ts'
import type { JobRuns } from '../platform/job-runs.ts'
import type { Metrics } from '../platform/metrics.ts'
import { percentilesOf } from '../platform/percentiles.ts'
import {
  addTraffic,
  hourBefore,
  readServiceUsage,
  type ServiceRow,
} from '../usage/service-usage.ts'
import { sumHolds } from '../wallet/book-views.ts'
import { READ_WAITING } from './health-store.ts'
import { readBacklog } from './webhook-health.ts'

export type OverviewParts = {
  db: Db
  clock: Clock
  metrics: Metrics
  job_runs: JobRuns
  /** The setting ROLE of this process, the mode and the version of the program. */
  about: { role: string; mode: string; version: string }
  /** What /ready warns of. */
  readWarnings: () => string[]
}

const COUNTED_MAX = 10_001
/** Calls take as long as their provider does: their time says nothing of ours. */
const PROVIDER_ROUTES = /\/(completions|messages|speech|transcriptions|sound-effects)$|\/listen$/

export async function readOverview(parts: OverviewParts) {
  const { db, clock } = parts
  const now = clock.now()
  const usage = await readServiceUsage(db, now)
  const [holds, backlog, waiting] = await Promise.all([
    sumHolds(db, now),
    readBacklog(db),
    db.run(READ_WAITING, [COUNTED_MAX]),
  ])
  const [state] = waiting
  if (!state) throw new Error('counts have one row')
  return {
    ...parts.about,
    now,
    warnings: parts.readWarnings(),
    traffic: {
      hour: trafficSince(usage.rows, hourBefore(now, 1)),
      day: trafficSince(usage.rows, usage.from),
    },
    holds,
    backlog,
    state,
    process: await readProcess(parts),
  }
}

/** By the clock's hours: an hour is the one before and what has gone of this one. */
function trafficSince(rows: readonly ServiceRow[], from: Date) {
  const within = rows.filter((row) => row.hour >= from)
  const failed = within.filter((row) => row.errors > 0n)
  const by_code = [...Map.groupBy(failed, (row) => row.error_code ?? 'unknown')]
  return {
    from,
    ...addTraffic(within),
    errors_by_code: by_code
      .map(([code, rows]) => ({ code, count: Number(addTraffic(rows).errors) }))
      .sort((left, right) => right.count - left.count),
  }
}

async function readProcess({ metrics, job_runs }: OverviewParts) {
  const requests = await percentilesOf(
    metrics.http_requests,
    ({ route }) => !PROVIDER_ROUTES.test(String(route)),
  )
  return {
    pid: process.pid,
    uptime_seconds: Math.round(process.uptime()),
    requests,
    ledger: await percentilesOf(metrics.ledger_batches),
    jobs: job_runs.list(),
  }
}
