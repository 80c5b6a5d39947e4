// Applies migrations/*.sql in order, each in its own transaction, under an advisory lock: processes that
// start together wait for the first and find nothing left to do.

import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { connectionConfig } from './db.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url))
const FILE_PATTERN = /^\d{4}_[a-z0-9_]+\.sql$/
/** Any fixed number will do, as long as nothing else in this database uses it. */
const LOCK_ID = 7_233_001
/** How long to wait for another process that is migrating. */
const LOCK_WAIT_MS = 120_000

/** Returns the names of the migrations that were applied now. */
export async function migrate(url: string): Promise<string[]> {
  const client = new Client({
    ...connectionConfig(url, 'svc migrate'),
    // A migration takes as long as it takes.
    query_timeout: 0,
  })
  await client.connect()
  try {
    await client.query(`set statement_timeout = 0; set lock_timeout = ${LOCK_WAIT_MS}`)
    await client.query('select pg_advisory_lock($1)', [LOCK_ID])
    return await applyMissing(client)
  } finally {
    // Closing the session gives the lock back, whatever happened.
    await client.end()
  }
}

/** What `migrate` would apply. Changes nothing. */
export async function missingMigrations(url: string): Promise<string[]> {
  const client = new Client(connectionConfig(url, 'svc migrate'))
  await client.connect()
  try {
    const { rows } = await client.query<{ made: boolean }>(
      "select to_regclass('migration') is not null as made",
    )
    const done = rows[0]?.made ? await appliedMigrations(client) : new Set<string>()
    return (await migrationFiles()).filter((name) => !done.has(name))
  } finally {
    await client.end()
  }
}

async function appliedMigrations(client: Client): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>('select name from migration')
  return new Set(rows.map((row) => row.name))
}

async function applyMissing(client: Client): Promise<string[]> {
  await client.query(
    'create table if not exists migration (name text primary key, applied_at timestamptz not null default now())',
  )
  const done = await appliedMigrations(client)
  const applied: string[] = []
  for (const name of await migrationFiles()) {
    if (done.has(name)) continue
    await apply(client, name)
    applied.push(name)
  }
  return applied
}

async function apply(client: Client, name: string): Promise<void> {
  const text = await readFile(MIGRATIONS_FOLDER + name, 'utf8')
  try {
    await client.query('begin')
    await client.query(text)
    await client.query('insert into migration (name) values ($1)', [name])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw new Error(`migration ${name} failed: ${String(error)}`, { cause: error })
  }
}

async function migrationFiles(): Promise<string[]> {
  const names = await readdir(MIGRATIONS_FOLDER)
  return names.filter((name) => FILE_PATTERN.test(name)).sort()
}
