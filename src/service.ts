// One process of the service from start to stop. The stop drops no request and cuts no stream: probes say
// "not ready" first, then the port closes, running requests end, and only then the parts close.

import cluster from 'node:cluster'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { Registry } from 'prom-client'
import { SEND_MAIL_JOB } from './accounts/jobs.ts'
import { type AppOptions, buildApp, buildProbes } from './app.ts'
import { metricsOfChild, ownMetrics, type SharedMetrics } from './cluster-metrics.ts'
import { closeParts, compose, type Parts } from './compose.ts'
import type { Config } from './config.ts'
import { requireConnectionRoom } from './connections.ts'
import type { App } from './http/server.ts'
import { jobsOf } from './jobs.ts'
import { listen } from './listen.ts'
import { settingWarnings } from './live-settings.ts'
import type { Log } from './platform/log.ts'
import { migrate } from './platform/migrate.ts'
import { OpenSet } from './platform/open-set.ts'
import { Worker } from './platform/worker.ts'
import { prepareLedger } from './wallet/jobs.ts'
import { prepareWebhooks, wakeOnNews } from './webhooks/jobs.ts'

/** How long a database that is still starting is waited for. */
const DATABASE_WAIT_MS = 60_000
const DATABASE_RETRY_MS = 500
const CLOSE_POLL_MS = 50
/** How long a connection that asks nothing may hold up the stop: its request may be on the way. */
const SILENT_MS = 500
/** How long calls that a stop has ended may take to be settled and to tell their clients. */
const LAST_WORDS_MS = 2_000
/** How long the last handlers, jobs and database connections may take once no caller is left. */
const PARTS_CLOSE_MS = 10_000
/** Of which jobs may take this much. */
const JOBS_STOP_MS = 3_000

export type Service = {
  /** Where it listens. */
  address: string
  /** Probes say "not ready" from now on. Part of the stop, which need not follow at once. */
  drain(): void
  stop(): Promise<void>
}

/** What makes a process the parent of a cluster: it serves probes only, and is ready when its children are. */
export type Parent = {
  shareMetrics: (own: Registry) => SharedMetrics
  startChildren: () => Promise<void>
}

export type ServiceOptions = {
  config: Config
  database_url: string
  log: Log
  app?: AppOptions
  parent?: Parent
  /** Gives up the start. */
  signal?: AbortSignal
}

type Running = {
  parts: Parts
  worker: Worker
  app: App
  open: OpenSet<ServerResponse>
  shared_metrics: SharedMetrics
  draining_since: number | undefined
}

export async function startService(options: ServiceOptions): Promise<Service> {
  const { config, database_url, log, signal, parent } = options
  const parts = compose(options)
  // The parent of a cluster has said it for all.
  if (!cluster.isWorker) for (const warning of settingWarnings(config)) log.warn(warning)
  const worker = new Worker({
    log,
    observe: (job, outcome, seconds) => {
      parts.metrics.jobs.labels(job, outcome).observe(seconds)
      parts.job_runs.note(job, { outcome, seconds, ended_at: parts.clock.now() })
    },
  })
  const shareMetrics = parent?.shareMetrics ?? (cluster.isWorker ? metricsOfChild : ownMetrics)
  const shared_metrics = shareMetrics(parts.metrics.registry)
  const has_api = config.ROLE !== 'worker' && !parent
  const build = has_api ? buildApp : buildProbes
  const app = await build(parts, {
    readMetrics: () => shared_metrics.read(),
    wakeMailSender: () => worker.kick(SEND_MAIL_JOB),
    ...options.app,
  })
  const running: Running = {
    parts,
    worker,
    app,
    open: trackResponses(app),
    shared_metrics,
    draining_since: undefined,
  }
  try {
    parts.secret_box.prepare()
    const open = () => listen(app, config, has_api ? 'PORT' : 'WORKER_PORT')
    // Alone, it answers probes while it starts. A child of a cluster shares the port with others that are
    // ready: callers must not get a "starting" from it.
    const early_address = cluster.isWorker ? undefined : await open()
    if (early_address !== undefined) log.info(`listening at ${early_address}, not ready yet`)
    await migrateWhenReachable(database_url, log, signal)
    // The parent of a cluster has asked for all.
    if (!cluster.isWorker) await requireConnectionRoom(database_url, config)
    // The parent of processes that only serve has no work of its own.
    if (!parent || config.ROLE === 'worker') await startWork(parts, worker)
    await parent?.startChildren()
    parts.lifecycle.phase = 'ready'
    const address = early_address ?? (await unlessAborted(open(), signal))
    log.info({ address, role: config.ROLE, mode: config.SVC_MODE }, 'ready')
    return { address, drain: () => drain(running), stop: () => stopService(running) }
  } catch (error) {
    await closeApp({ ...running, grace_ms: 0 })
    await finishWork(running)
    throw error
  }
}

/** A parent that stops its children does not answer one that asks it for the port. */
async function unlessAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (!signal) return await work
  signal.throwIfAborted()
  const aborted = once(signal, 'abort').then(() => {
    throw signal.reason
  })
  return await Promise.race([work, aborted])
}

async function startWork(parts: Parts, worker: Worker): Promise<void> {
  if (parts.config.ROLE !== 'api') wakeOnNews(parts, worker)
  await parts.feed.start()
  await prepareLedger(parts)
  await prepareWebhooks(parts)
  await parts.call_ledger.start()
  worker.start(jobsOf(parts, () => worker.kick(SEND_MAIL_JOB)))
}

/** Every response that is not complete yet: what a stop waits for. */
function trackResponses(app: App): OpenSet<ServerResponse> {
  const open = new OpenSet<ServerResponse>()
  app.server.on('request', (_request, response) => {
    const place = open.add(response)
    response.once('close', () => open.remove(place))
  })
  return open
}

/** Answers since when. */
function drain(running: Running): number {
  if (running.draining_since !== undefined) return running.draining_since
  running.parts.log.info('stopping')
  running.parts.lifecycle.phase = 'draining'
  running.draining_since = performance.now()
  // Those that begin from now on say so by themselves.
  for (const response of running.open.members()) {
    if (!response.headersSent) response.setHeader('connection', 'close')
  }
  return running.draining_since
}

async function stopService(running: Running): Promise<void> {
  const { config, log } = running.parts
  await wait(drain(running) + config.DRAIN_MS - performance.now())
  await closeApp({ ...running, grace_ms: config.SHUTDOWN_GRACE_MS })
  // A database that does not answer must not hold up the end.
  const limit = wait(PARTS_CLOSE_MS, 'late', { ref: false })
  if ((await Promise.race([finishWork(running), limit])) === 'late') {
    log.warn('work was left undone: the database or a job does not answer')
  }
  await running.shared_metrics.leave()
  log.info('stopped')
}

async function finishWork({ parts, worker }: Running): Promise<void> {
  // Neither a job that waits for somebody, a mail server for one, nor a database that does not answer may take the
  // ledger's time to end: what it cannot post it has to write to the disk.
  await Promise.all([parts.call_ledger.stop(), stopJobs(parts, worker)])
  await closeParts(parts)
}

async function stopJobs(parts: Parts, worker: Worker): Promise<void> {
  const limit = wait(JOBS_STOP_MS, undefined, { ref: false })
  await Promise.race([worker.stop(), limit])
  await Promise.race([parts.dispatcher.stop(), limit])
  const flushed = Promise.all([
    parts.last_used.flush(parts.db),
    parts.last_seen.flush(parts.db),
    parts.link_uses.flush(parts.db),
  ]).catch((error: unknown) => parts.log.warn({ err: error }, 'last uses not written'))
  await Promise.race([flushed, limit])
}

// server.close() alone waits for connections that nobody uses: one that was kept alive by a reply that began
// before the stop, for 72 seconds, and one that never sent a request, for ever.
async function closeApp({
  parts,
  app,
  open,
  grace_ms,
}: Running & { grace_ms: number }): Promise<void> {
  const began_at = performance.now()
  let used_at = began_at
  let closed = false
  const closing = app.close().then(() => {
    closed = true
  })
  for (;;) {
    await Promise.race([closing, wait(CLOSE_POLL_MS)])
    if (closed) return
    app.server.closeIdleConnections()
    const now = performance.now()
    if (open.size > 0) used_at = now
    if (now - used_at > SILENT_MS || now - began_at > grace_ms) break
  }
  if (open.size > 0) {
    parts.log.warn({ open: open.size }, 'the grace period is over: closing what is left')
    // While the connections are still there: whose answer we cut is told so, and does not pay for having left.
    await Promise.race([parts.running.finish(0), wait(LAST_WORDS_MS, undefined, { ref: false })])
  }
  app.server.closeAllConnections()
  await Promise.race([closing, wait(PARTS_CLOSE_MS, undefined, { ref: false })])
}

async function migrateWhenReachable(
  url: string,
  log: Log,
  signal: AbortSignal | undefined,
): Promise<void> {
  const give_up_at = performance.now() + DATABASE_WAIT_MS
  for (;;) {
    signal?.throwIfAborted()
    try {
      const applied = await migrate(url)
      if (applied.length > 0) log.info({ applied }, 'migrated')
      return
    } catch (error) {
      if (!isNotReachable(error)) throw error
      if (performance.now() > give_up_at) {
        throw new Error(`the database cannot be reached: ${describe(error)}`, { cause: error })
      }
      log.warn({ err: error }, 'the database cannot be reached yet')
      await wait(DATABASE_RETRY_MS, undefined, { signal })
    }
  }
}

function isNotReachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? String(error.code) : ''
  // 53300: too many connections. 57P01 to 57P03: the server is starting up or shutting down. 08: a pooler says
  // that it cannot reach the server.
  if (/^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN|53300|57P0|08)/.test(code))
    return true
  return /^(Connection terminated|timeout expired|Query read timeout)/.test(error.message)
}

/** A refusal on every address of a name is one error without a message. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message || ('code' in error ? String(error.code) : error.name)
}
