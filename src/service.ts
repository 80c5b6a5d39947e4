// One process of the service from start to stop. The stop drops no request and cuts no stream: probes say
// "not ready" first, then the port closes, running requests end, and only then the parts close.

import { setTimeout as wait } from 'node:timers/promises'
import { accountJobs, SEND_MAIL_JOB } from './accounts/jobs.ts'
import { buildApp } from './app.ts'
import { closeParts, compose, type Parts } from './compose.ts'
import type { Config } from './config.ts'
import type { App } from './http/server.ts'
import { lastUsedJob } from './keys/last-used.ts'
import type { Log } from './platform/log.ts'
import { migrate } from './platform/migrate.ts'
import { type Job, Worker } from './platform/worker.ts'

/** How long a database that is still starting is waited for. */
const DATABASE_WAIT_MS = 60_000
const DATABASE_RETRY_MS = 500

export type Service = {
  /** Where it listens; undefined for a process that only works in the background. */
  address: string | undefined
  stop(): Promise<void>
}

export type ServiceOptions = { config: Config; database_url: string; log: Log }

export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, database_url, log } = options
  const parts = compose(options)
  const worker = new Worker({
    jobs: jobsOf(parts),
    log,
    observe: (job, outcome, seconds) => parts.metrics.jobs.labels(job, outcome).observe(seconds),
  })
  const app =
    config.ROLE === 'worker'
      ? undefined
      : await buildApp(parts, { wakeMailSender: () => worker.kick(SEND_MAIL_JOB) })
  try {
    const address = await app?.listen({ port: config.PORT, host: config.HOST })
    await migrateWhenReachable(database_url, log)
    await parts.feed.start()
    worker.start()
    parts.lifecycle.phase = 'ready'
    log.info({ address, role: config.ROLE, mode: config.SVC_MODE }, 'ready')
    return { address, stop: () => stopService(parts, worker, app) }
  } catch (error) {
    await app?.close()
    await closeParts(parts)
    throw error
  }
}

async function stopService(parts: Parts, worker: Worker, app: App | undefined): Promise<void> {
  const { config, log } = parts
  log.info('stopping')
  parts.lifecycle.phase = 'draining'
  if (app) {
    await wait(config.DRAIN_MS)
    await closeWithin(app, config.SHUTDOWN_GRACE_MS, log)
  }
  await worker.stop()
  await parts.last_used
    .flush(parts.db)
    .catch((error: unknown) => log.warn({ err: error }, 'last use of keys not written'))
  await closeParts(parts)
  log.info('stopped')
}

async function closeWithin(app: App, grace_ms: number, log: Log): Promise<void> {
  const closed = app.close()
  const timer = setTimeout(() => {
    log.warn('the grace period is over: closing what is left')
    app.server.closeAllConnections()
  }, grace_ms)
  await closed
  clearTimeout(timer)
}

function jobsOf(parts: Parts): Job[] {
  const { config, metrics } = parts
  const background = accountJobs({
    ...parts,
    public_url: config.PUBLIC_URL,
    onMail: (purpose, outcome) => metrics.mails.labels(purpose, outcome).inc(),
  })
  return [
    ...(config.ROLE === 'worker' ? [] : [lastUsedJob(parts.db, parts.last_used)]),
    ...(config.ROLE === 'api' ? [] : background),
  ]
}

async function migrateWhenReachable(url: string, log: Log): Promise<void> {
  const give_up_at = performance.now() + DATABASE_WAIT_MS
  for (;;) {
    try {
      const applied = await migrate(url)
      if (applied.length > 0) log.info({ applied }, 'migrated')
      return
    } catch (error) {
      if (!isNotReachable(error) || performance.now() > give_up_at) throw error
      log.warn({ err: error }, 'the database cannot be reached yet')
      await wait(DATABASE_RETRY_MS)
    }
  }
}

function isNotReachable(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // 57P03: the server is starting up or shutting down.
  return /^(ECONN|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|57P03)/.test(code)
}
