// The database and the parts of the service, for the time of one command.

import { closeParts, compose, type Parts } from '../compose.ts'
import { type Config, loadConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { createLog } from '../platform/log.ts'
import { missingMigrations } from '../platform/migrate.ts'
import { UsageError } from './usage-error.ts'

export async function withDatabase(
  work: (url: string, config: Config) => Promise<void>,
): Promise<void> {
  const config = loadConfig(process.env)
  const database = await joinDatabase(config)
  try {
    await work(database.url, config)
  } finally {
    await database.close()
  }
}

export async function withParts(work: (parts: Parts) => Promise<void>): Promise<void> {
  await withDatabase(async (database_url, config) => {
    await requireMigrated(database_url)
    const parts = compose({ config, database_url, log: createLog({ level: 'warn' }) })
    try {
      await work(parts)
    } finally {
      await closeParts(parts)
    }
  })
}

/** A command must not change the schema under a running service of another version. */
async function requireMigrated(url: string): Promise<void> {
  const missing = await missingMigrations(url)
  if (missing.length === 0) return
  throw new UsageError(`the database lacks ${missing.join(', ')}: run \`svc migrate\` first`)
}
