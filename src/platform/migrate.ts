// Applies migrations/*.sql in order, each in its own transaction, under an advisory lock: processes that
// start together wait for the first and find nothing left to do. What was applied is recorded with its
// checksum, so that a file which was edited afterwards is noticed instead of half believed.
//
// After the migrations come the SQL functions of the domains, src/*/sql/*.sql, one function a file, in the order of
// their paths. A function holds no data, so its file may change at any time: whatever differs from what was applied
// last is applied again (`create or replace`), all of them in one transaction. An older version of the service that
// starts during an update leaves them alone: it knows itself by a migration that it has no file of.

import { hash } from 'node:crypto'
import { globSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from 'pg'
import { openClient } from './session.ts'

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../migrations/', import.meta.url))
const SOURCE_FOLDER = fileURLToPath(new URL('../', import.meta.url))
const FUNCTIONS_PATTERN = '*/sql/*.sql'
const FILE_PATTERN = /^\d{4}_[a-z0-9_]+\.sql$/
/** Any fixed number will do, as long as nothing else in this database uses it. */
const LOCK_ID = 7_233_001
/** How long to wait for another process that is migrating. */
const LOCK_WAIT = '2min'

/** Returns the names of the migrations and functions that were applied now. */
export async function migrate(url: string): Promise<string[]> {
  const client = await openClient({
    url,
    application_name: 'svc migrate',
    // A migration takes as long as it takes.
    settings: { statement_timeout: '0', lock_timeout: LOCK_WAIT },
    query_timeout: 0,
  })
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_ID])
    return [...(await applyMissing(client)), ...(await applyFunctions(client))]
  } finally {
    // Closing the session gives the lock back, whatever happened.
    await client.end()
  }
}

/** What `migrate` would apply. Changes nothing. */
export async function missingMigrations(url: string): Promise<string[]> {
  const client = await openClient({ url, application_name: 'svc migrate' })
  try {
    const missing = missingOf(await migrationFiles(), await appliedMigrations(client))
    return [...missing, ...(await changedFunctions(client))].map(({ name }) => name)
  } finally {
    await client.end()
  }
}

type Migration = { name: string; text: string; checksum: string }

async function applyMissing(client: Client): Promise<string[]> {
  await client.query(
    `create table if not exists migration (
       name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
  )
  const missing = missingOf(await migrationFiles(), await appliedMigrations(client))
  for (const migration of missing) await apply(client, migration)
  return missing.map(({ name }) => name)
}

/** By name, the checksum of what was applied. */
async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const columns = await client.query<{ name: string }>(
    `select attname as name from pg_attribute where attrelid = to_regclass('migration') and attnum > 0`,
  )
  if (columns.rows.length === 0) return new Map()
  if (!columns.rows.some((column) => column.name === 'checksum')) {
    throw new ChangedMigration('the database was made before migrations had checksums')
  }
  const { rows } = await client.query<Migration>('select name, checksum from migration')
  return new Map(rows.map((row) => [row.name, row.checksum]))
}

/** Throws when a file is not what was applied: nobody can say what such a database is made of. */
function missingOf(files: readonly Migration[], done: ReadonlyMap<string, string>): Migration[] {
  for (const { name, checksum } of files) {
    if (!done.has(name) || done.get(name) === checksum) continue
    throw new ChangedMigration(`the database was made with another version of migration ${name}`)
  }
  return files.filter(({ name }) => !done.has(name))
}

class ChangedMigration extends Error {
  constructor(what: string) {
    super(`${what}: give the service an empty database, in the sandbox by removing DATA_DIR`)
  }
}

async function apply(client: Client, migration: Migration): Promise<void> {
  const { name, text, checksum } = migration
  try {
    await client.query('begin')
    await client.query(text)
    await client.query('insert into migration (name, checksum) values ($1, $2)', [name, checksum])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw new Error(`migration ${name} failed: ${String(error)}`, { cause: error })
  }
}

async function applyFunctions(client: Client): Promise<string[]> {
  await client.query(
    `create table if not exists sql_function (
       name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
  )
  const changed = await changedFunctions(client)
  if (changed.length === 0) return []
  await client.query('begin')
  for (const { name, text, checksum } of changed) {
    await client.query(text).catch((error: unknown) => {
      throw new Error(`SQL function ${name} failed: ${String(error)}`, { cause: error })
    })
    await client.query(
      `insert into sql_function (name, checksum) values ($1, $2)
       on conflict (name) do update set checksum = excluded.checksum, applied_at = now()`,
      [name, checksum],
    )
  }
  await client.query('commit')
  return changed.map(({ name }) => name)
}

async function changedFunctions(client: Client): Promise<Migration[]> {
  const known = new Set((await migrationFiles()).map(({ name }) => name))
  const is_older = [...(await appliedMigrations(client)).keys()].some((name) => !known.has(name))
  if (is_older) return []
  const files = await functionFiles()
  const { rows: tables } = await client.query<{ found: boolean }>(
    `select to_regclass('sql_function') is not null as found`,
  )
  if (!tables[0]?.found) return files
  const { rows } = await client.query<Migration>('select name, checksum from sql_function')
  const applied = new Map(rows.map((row) => [row.name, row.checksum]))
  return files.filter(({ name, checksum }) => applied.get(name) !== checksum)
}

/** Named as `wallet/hold_batch`. */
async function functionFiles(): Promise<Migration[]> {
  const names = globSync(FUNCTIONS_PATTERN, { cwd: SOURCE_FOLDER }).sort()
  return await Promise.all(
    names.map(async (file) => {
      const text = await readFile(path.join(SOURCE_FOLDER, file), 'utf8')
      const name = file.replace(`${path.sep}sql${path.sep}`, '/').replace('.sql', '')
      return { name, text, checksum: hash('sha256', text) }
    }),
  )
}

async function migrationFiles(): Promise<Migration[]> {
  const names = (await readdir(MIGRATIONS_FOLDER)).filter((name) => FILE_PATTERN.test(name)).sort()
  return await Promise.all(
    names.map(async (name) => {
      const text = await readFile(MIGRATIONS_FOLDER + name, 'utf8')
      return { name, text, checksum: hash('sha256', text) }
    }),
  )
}
