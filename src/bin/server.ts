// Starts the service and stops it on a signal. What cannot start says so in one line.

import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { startCluster } from '../cluster.ts'
import { type Config, ConfigError, loadConfig } from '../config.ts'
import { type Database, openDatabase } from '../database.ts'
import { DataDirTaken } from '../platform/data-dir.ts'
import { createLog, type Log } from '../platform/log.ts'
import { type Service, startService } from '../service.ts'

/** npm passes the terminal's signal on, so one Ctrl-C can arrive twice. */
const SAME_SIGNAL_MS = 1_500

export async function serve(): Promise<void> {
  if (existsSync('.env')) process.loadEnvFile('.env')
  const config = loadConfig(process.env)
  const log = createLog({ level: config.LOG_LEVEL })
  const database = await openDatabase(config)
  let service: Service
  try {
    const options = { config, database_url: database.url, log }
    const wants_cluster = config.WORKERS > 1 && config.ROLE !== 'worker' && cluster.isPrimary
    service = await (wants_cluster ? startCluster(options) : startService(options))
  } catch (error) {
    await database.close()
    throw error
  }
  database.onLost((detail) => {
    log.fatal({ detail }, 'the embedded database ended')
    process.exit(1)
  })
  stopOnSignal(service, database, log)
  if (cluster.isWorker) process.send?.('ready')
  else if (service.address !== undefined) greet(config, service.address)
}

export function describeStartFault(error: unknown, config: { HOST: string; PORT: string }): string {
  if (error instanceof ConfigError || error instanceof DataDirTaken) return error.message
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return `port ${config.PORT} of ${config.HOST} is in use by another process: stop it, or set PORT`
  }
  if (error instanceof Error && 'code' in error && error.code === 'EACCES') {
    return `port ${config.PORT} of ${config.HOST} may not be opened by this user: set PORT above 1023`
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function stopOnSignal(service: Service, database: Database, log: Log): void {
  let stopping_since: number | undefined
  const stop = (signal: string) => {
    if (stopping_since !== undefined) {
      if (performance.now() - stopping_since > SAME_SIGNAL_MS) process.exit(1)
      return
    }
    stopping_since = performance.now()
    log.info({ signal }, 'signal')
    stopAll(service, database).then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the stop failed')
        process.exit(1)
      },
    )
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // A child whose parent died would hold the port for ever.
  if (cluster.isWorker) process.on('disconnect', () => stop('disconnect'))
}

async function stopAll(service: Service, database: Database): Promise<void> {
  await service.stop()
  await database.close()
}

function greet(config: Config, address: string): void {
  const base = config.PUBLIC_URL
  process.stderr.write(`
  Svc is ready (${config.SVC_MODE} mode) at ${address}

  API reference   ${base}/docs
  Health          ${base}/health

  Create an account:

    curl -s ${base}/auth/register -H 'content-type: application/json' \\
      -d '{"email":"ada@example.com","password":"correct horse battery"}'

`)
}

if (import.meta.main) {
  serve().catch((error: unknown) => {
    const { HOST = '127.0.0.1', PORT = '8080' } = process.env
    process.stderr.write(`svc: ${describeStartFault(error, { HOST, PORT })}\n`)
    process.exit(1)
  })
}
