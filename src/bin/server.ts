// Starts the service and stops it on a signal. What cannot start says so in one line.

import cluster from 'node:cluster'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import type { AppOptions } from '../app.ts'
import { startCluster } from '../cluster.ts'
import { type Config, loadConfig } from '../config.ts'
import { openDatabase } from '../database.ts'
import { requireLiveSettings } from '../live-settings.ts'
import { createLog, type Log } from '../platform/log.ts'
import { startSandboxProcess } from '../sandbox-process.ts'
import { type ServiceOptions, startService } from '../service.ts'
import { describeStartFault } from './start-fault.ts'

/** npm passes the terminal's signal on, so one Ctrl-C can arrive twice. */
const SAME_SIGNAL_MS = 1_500
/** For a reader of the log that has gone away. */
const FLUSH_LIMIT_MS = 1_000

export async function serve(): Promise<void> {
  await serveWith({})
}

/** Runs until a signal asks for the end, then ends the process. Throws if it could not start. */
export async function serveWith(app: AppOptions): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env')
  const stopping = new AbortController()
  try {
    const config = loadConfig(process.env)
    requireLiveSettings(config)
    const log = createLog({ level: config.LOG_LEVEL })
    stopOnSignal(stopping, config, log)
    await runUntilStopped({ config, log, app, signal: stopping.signal })
  } catch (error) {
    // Asked to stop before it had started: that is no fault.
    if (!stopping.signal.aborted) {
      if (!cluster.isWorker) throw error
      await reportToParent(error)
      process.exit(1)
    }
  }
  process.exit()
}

type Run = Omit<ServiceOptions, 'database_url'> & { signal: AbortSignal }

async function runUntilStopped(run: Run): Promise<void> {
  const { log, signal } = run
  const database = await openDatabase(run.config, log)
  database.onLost((detail) => {
    log.fatal({ detail }, 'the embedded database ended')
    process.exit(1)
  })
  try {
    signal.throwIfAborted()
    const { config, announce, close } = await startSandboxProcess(run.config, log)
    // It feeds streams until the last of them has ended, and goes however this process ends.
    process.once('exit', close)
    const options = { ...run, config, database_url: database.url }
    const service = await (isClusterParent(config) ? startCluster(options) : startService(options))
    await announce(service.address)
    if (cluster.isWorker) process.send?.({ ready: service.address })
    else if (config.ROLE !== 'worker') greet(config, service.address)
    if (!signal.aborted) await once(signal, 'abort')
    await finish(() => service.stop(), log)
  } finally {
    await finish(() => database.close(), log)
    await flush(log)
  }
}

/** A step of the stop that fails does not keep the next from being taken. */
async function finish(step: () => Promise<void>, log: Log): Promise<void> {
  try {
    await step()
  } catch (error) {
    log.error({ err: error }, 'the stop failed')
    process.exitCode = 1
  }
}

/** The log gathers lines before it writes them; the end of the process would lose them. */
async function flush(log: Log): Promise<void> {
  const written = new Promise<void>((resolve) => log.flush(() => resolve()))
  await Promise.race([written, wait(FLUSH_LIMIT_MS, undefined, { ref: false })])
}

function stopOnSignal(stopping: AbortController, config: Config, log: Log): void {
  let stopping_since: number | undefined
  const note = (signal: string) => {
    if (stopping_since !== undefined) {
      if (performance.now() - stopping_since > SAME_SIGNAL_MS) process.exit(1)
      return
    }
    stopping_since = performance.now()
    log.info({ signal }, 'signal')
    stopping.abort()
  }
  process.on('SIGINT', note)
  process.on('SIGTERM', note)
  if (cluster.isWorker) {
    // A closed terminal tells the whole group; the parent decides what that means.
    process.on('SIGHUP', () => {})
    drainWithoutParent(() => note('disconnect'))
  } else if (!isClusterParent(config)) {
    process.on('SIGHUP', note)
  }
}

// A child without its parent gets no more connections. Node would end it at once and cut what it is
// answering, unless the child looks as if it were leaving by itself.
function drainWithoutParent(drain: () => void): void {
  if (cluster.worker) cluster.worker.exitedAfterDisconnect = true
  process.on('disconnect', drain)
}

function isClusterParent(config: Config): boolean {
  return config.WORKERS > 1 && config.ROLE !== 'worker' && cluster.isPrimary
}

function reportToParent(error: unknown): Promise<void> {
  const fault = describeStartFault(error)
  return new Promise((resolve) => {
    if (!process.send?.({ fault }, undefined, undefined, () => resolve())) resolve()
  })
}

function greet(config: Config, address: string): void {
  const base = config.PORT === 0 ? address : config.PUBLIC_URL
  process.stderr.write(`
  Svc is ready (${config.SVC_MODE} mode) at ${address}

  Console         ${base}/console/   open it to create an account and make a first call
  API reference   ${base}/docs
  Health          ${base}/health

  Or from a terminal:

    curl -s ${base}/auth/register -H 'content-type: application/json' \\
      -d '{"email":"ada@example.com","password":"correct horse battery"}'

`)
}

if (import.meta.main) {
  serve().catch((error: unknown) => {
    process.stderr.write(`svc: ${describeStartFault(error)}\n`)
    process.exit(1)
  })
}
