// A fresh, migrated database for a test file, cloned from a template in milliseconds.
// The server is the one test/run.ts started, or, for a single file run by hand, one of its own.

import { createHash, randomBytes } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, type QueryResultRow } from 'pg'
import { Db } from '../../src/platform/db.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { atEnd } from './cleanup.ts'
import { startTestServer } from './test-server.ts'

const TEMPLATE_LOCK = 7_233_002

let server: Promise<string> | undefined

/** The address of a PostgreSQL server on which databases may be made. */
export function databaseServer(): Promise<string> {
  server ??= Promise.resolve(process.env['SVC_TEST_DATABASE_URL'] ?? startOwnServer())
  return server
}

/** Makes a database with every migration applied; it is dropped when the test file ends. */
export async function createDatabase(): Promise<string> {
  const server_url = await databaseServer()
  const template = await ensureTemplate(server_url)
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(server_url, (client) =>
    client.query(`create database ${name} template ${template}`),
  )
  atEnd(() => onServer(server_url, (client) => client.query(`drop database ${name} with (force)`)))
  return databaseUrl(server_url, name)
}

/** An empty database, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<string> {
  const server_url = await databaseServer()
  const name = `test_${randomBytes(8).toString('hex')}`
  await onServer(server_url, (client) => client.query(`create database ${name}`))
  atEnd(() => onServer(server_url, (client) => client.query(`drop database ${name} with (force)`)))
  return databaseUrl(server_url, name)
}

/** A pool on a fresh database, closed when the test file ends. */
export async function createDb(): Promise<Db> {
  const db = openDb(await createDatabase())
  atEnd(() => db.close())
  return db
}

export function openDb(url: string): Db {
  return new Db({ url, pool_size: 10, application_name: 'svc test' })
}

/** Raw SQL, for what a test must see or break that no statement of the product does. */
export async function sql<Row extends QueryResultRow>(
  url: string,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text, values)).rows
  } finally {
    await client.end()
  }
}

// The template is named for the content of the migrations, so a changed migration makes a new one.
async function ensureTemplate(server_url: string): Promise<string> {
  const template = `template_${migrationsDigest()}`
  await onServer(server_url, async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK])
    const found = await client.query('select 1 from pg_database where datname = $1', [template])
    if (found.rowCount) return
    const draft = `${template}_draft`
    await client.query(`drop database if exists ${draft} with (force)`)
    await client.query(`create database ${draft}`)
    await migrate(databaseUrl(server_url, draft))
    await client.query(`alter database ${draft} rename to ${template}`)
  })
  return template
}

function migrationsDigest(): string {
  const cwd = fileURLToPath(new URL('../../', import.meta.url))
  const digest = createHash('sha256')
  const files = globSync(['migrations/*.sql', 'src/*/sql/*.sql'], { cwd })
  for (const file of files.sort()) digest.update(readFileSync(path.join(cwd, file)))
  return digest.digest('hex').slice(0, 16)
}

async function onServer<Result>(
  server_url: string,
  work: (client: Client) => Promise<Result>,
): Promise<Result> {
  const client = new Client({ connectionString: server_url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

function databaseUrl(server_url: string, name: string): string {
  const url = new URL(server_url)
  url.pathname = `/${name}`
  return url.toString()
}

async function startOwnServer(): Promise<string> {
  const folder = mkdtempSync(path.join(tmpdir(), 'svc-test-'))
  const postgres = await startTestServer(folder)
  atEnd(async () => {
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return postgres.url
}
