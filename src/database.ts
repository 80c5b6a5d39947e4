// Which database: the one DATABASE_URL names, or the embedded one in DATA_DIR, started or found running.

import type { Config } from './config.ts'
import { embeddedConnections } from './connections.ts'
import { DataDirTaken, lockDataDir, prepareDataDir } from './platform/data-dir.ts'
import { findRunningPostgres, startEmbeddedPostgres } from './platform/embedded-postgres.ts'
import type { Log } from './platform/log.ts'

export type Database = {
  url: string
  /** Calls back if a database that we run ends by itself. */
  onLost(listener: (detail: string) => void): void
  close(): Promise<void>
}

/** For the service: an embedded database belongs to one process, and is stopped with it. */
export async function openDatabase(config: Config, log?: Log): Promise<Database> {
  if (config.DATABASE_URL !== undefined) return external(config.DATABASE_URL)
  const data_dir = prepareDataDir(config.DATA_DIR)
  const lock = lockDataDir(data_dir)
  try {
    const postgres = await startEmbeddedPostgres({
      data_dir,
      log: (line) => log?.info(line),
      settings: { max_connections: String(embeddedConnections(config)) },
    })
    // However this process ends, short of being killed, the signal still goes out and the database ends too.
    const abandon = () => void postgres.stop()
    process.once('exit', abandon)
    return {
      url: postgres.url,
      onLost: (listener) => postgres.onExit(listener),
      async close() {
        await postgres.stop()
        process.off('exit', abandon)
        lock.release()
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** For commands: joins the service's embedded database while that runs, else starts it for the moment. */
export async function joinDatabase(config: Config): Promise<Database> {
  try {
    return await openDatabase(config)
  } catch (error) {
    if (!(error instanceof DataDirTaken)) throw error
    const url = findRunningPostgres(prepareDataDir(config.DATA_DIR))
    if (url === undefined) throw error
    return external(url)
  }
}

function external(url: string): Database {
  return { url, onLost: () => {}, close: async () => {} }
}
