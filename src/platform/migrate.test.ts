import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { createEmptyDatabase, sql } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { migrate, missingMigrations } from './migrate.ts'

const run = promisify(execFile)

const TABLE =
  'create table migration (name text primary key, checksum text not null, applied_at timestamptz)'

const FILES = readdirSync(new URL('../../migrations/', import.meta.url))
  .filter((name) => name.endsWith('.sql'))
  .sort()

const FUNCTIONS = globSync('*/sql/*.sql', { cwd: fileURLToPath(new URL('../', import.meta.url)) })
  .map((file) => `${file.split(path.sep)[0]}/${path.basename(file, '.sql')}`)
  .sort()
const EVERYTHING = [...FILES, ...FUNCTIONS]

test('processes that start at once on an empty database all come up, and apply each migration once', async () => {
  const url = await createEmptyDatabase()
  const blocker = new Client({ connectionString: url })
  await blocker.connect()
  let applied: string[][]
  try {
    // Holds all of them up at their first step, so that they truly go on at once.
    await blocker.query('begin; create table migration (in_the_way text)')
    const running = [migrateElsewhere(url), migrateElsewhere(url), migrate(url)]
    await eventually('all three wait', async () => (await waiting(url)) === 3)
    await blocker.query('rollback')
    applied = await Promise.all(running)
  } finally {
    await blocker.end()
  }
  assert.deepEqual(applied.flat().sort(), EVERYTHING)
  assert.deepEqual(await recorded(url), FILES)
})

test('migrations are applied in the order of their names, and a second run applies none', async () => {
  const url = await createEmptyDatabase()
  assert.deepEqual(await migrate(url), EVERYTHING)
  assert.deepEqual(await migrate(url), [])
  const rows = await sql<{ name: string }>(url, 'select name from migration order by applied_at')
  assert.deepEqual(
    rows.map((row) => row.name),
    FILES,
  )
})

test('a migration that fails leaves nothing of itself behind, and the message names it', async () => {
  const url = await createEmptyDatabase()
  // The first migration makes `account`, then `session`: it fails half-way.
  await sql(url, 'create table session (in_the_way text)')
  await assert.rejects(migrate(url), { message: new RegExp(`^migration ${FILES[0]} failed: `) })
  assert.deepEqual(await recorded(url), [])
  const tables = await sql<{ name: string | null }>(url, `select to_regclass('account') as name`)
  assert.deepEqual(tables, [{ name: null }])

  await sql(url, 'drop table session')
  assert.deepEqual(await migrate(url), EVERYTHING, 'the lock or the failure was kept')
})

test('a migration that cannot be recorded is not applied', async () => {
  const url = await createEmptyDatabase()
  await sql(
    url,
    'create table migration (name text check (length(name) < 5), checksum text, applied_at timestamptz)',
  )
  await assert.rejects(migrate(url), /migration_name_check/)
  const tables = await sql<{ name: string | null }>(url, `select to_regclass('account') as name`)
  assert.deepEqual(tables, [{ name: null }])
})

test('what is recorded as applied is not applied again', async () => {
  const url = await createEmptyDatabase()
  await migrate(url)
  const [{ name, checksum } = { name: '', checksum: '' }] = await sql<{
    name: string
    checksum: string
  }>(url, 'select name, checksum from migration order by name limit 1')
  assert.match(checksum, /^[0-9a-f]{64}$/)
  const other = await createEmptyDatabase()
  await sql(other, TABLE)
  await sql(other, 'insert into migration (name, checksum) values ($1, $2)', [name, checksum])
  // Without the tables of the first migration a later one fails, so the first was left out.
  await assert.rejects(migrate(other), { message: /^migration 000[2-9]_\w+\.sql failed: / })
  assert.deepEqual(await missingMigrations(url), [])
  assert.deepEqual(await missingMigrations(other), EVERYTHING.slice(1))
})

test('a file that was changed after it was applied stops the start, and is named', async () => {
  const url = await createEmptyDatabase()
  await migrate(url)
  const changed = FILES[1]
  await sql(url, "update migration set checksum = 'of another text' where name = $1", [changed])
  const message = `the database was made with another version of migration ${changed}: give the service an empty database, in the sandbox by removing DATA_DIR`
  await assert.rejects(migrate(url), { message })
  await assert.rejects(missingMigrations(url), { message })
})

test('a database from before checksums stops the start, and nothing is applied to it', async () => {
  const url = await createEmptyDatabase()
  await sql(url, 'create table migration (name text primary key, applied_at timestamptz)')
  await sql(url, 'insert into migration (name) values ($1)', [FILES[0]])
  const message =
    'the database was made before migrations had checksums: give the service an empty database, in the sandbox by removing DATA_DIR'
  await assert.rejects(migrate(url), { message })
  await assert.rejects(missingMigrations(url), { message })
  assert.deepEqual(await recorded(url), FILES.slice(0, 1))
})

test('an older version of the service starts on a database with a migration it does not know', async () => {
  const url = await createEmptyDatabase()
  await migrate(url)
  await sql(url, "insert into migration (name, checksum) values ('9999_later.sql', 'later')")
  assert.deepEqual(await migrate(url), [])
})

test('a function whose text has changed is applied again, and only that one', async () => {
  const url = await createEmptyDatabase()
  await migrate(url)
  const [name = ''] = FUNCTIONS
  await sql(url, "update sql_function set checksum = 'of another text' where name = $1", [name])
  await sql(url, `drop function ${path.basename(name)}`)
  assert.deepEqual(await missingMigrations(url), [name])
  assert.deepEqual(await migrate(url), [name])
  const found = await sql(url, 'select 1 from pg_proc where proname = $1', [path.basename(name)])
  assert.equal(found.length, 1)
  assert.deepEqual(await migrate(url), [])
})

test('an older version of the service leaves the functions of a newer one alone', async () => {
  const url = await createEmptyDatabase()
  await migrate(url)
  await sql(url, "insert into migration (name, checksum) values ('9999_later.sql', 'later')")
  await sql(url, "update sql_function set checksum = 'of a later text'")
  assert.deepEqual(await migrate(url), [])
})

test('every file of a function makes just the function it is named for', async () => {
  const cwd = fileURLToPath(new URL('../', import.meta.url))
  for (const file of globSync('*/sql/*.sql', { cwd })) {
    const text = readFileSync(path.join(cwd, file), 'utf8')
    const made = [...text.matchAll(/^create or replace function (\w+)\(/gm)].map(([, name]) => name)
    assert.deepEqual(made, [path.basename(file, '.sql')], file)
  }
})

async function migrateElsewhere(url: string): Promise<string[]> {
  const module = new URL('./migrate.ts', import.meta.url).href
  const script = `
    const { migrate } = await import(${JSON.stringify(module)})
    console.log(JSON.stringify(await migrate(process.argv[1])))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script, url])
  return JSON.parse(stdout) as string[]
}

async function waiting(url: string): Promise<number> {
  const rows = await sql(
    url,
    `select pid from pg_stat_activity
     where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}

async function recorded(url: string): Promise<string[]> {
  const rows = await sql<{ name: string }>(url, 'select name from migration order by name')
  return rows.map((row) => row.name)
}
