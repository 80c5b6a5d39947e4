// A database with a table of things, and what the tests of the pool share to use and break its connections.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Db, statement } from '../../src/platform/db.ts'
import { ApiError } from '../../src/platform/errors.ts'
import { createDatabase, sql } from './database.ts'

export const BACKEND = statement<{ pid: number }>('test.backend', 'select pg_backend_pid() as pid')
export const INSERT = statement<{ name: string }>(
  'test.insert',
  'insert into thing (name) values ($1) returning name',
)
export const RAISE = statement<object>('test.raise', 'select raise_state($1)')

export const url = await createDatabase()
await sql(
  url,
  `create table thing (name text, constraint thing_name_is_unique unique (name));
   create function raise_state(state text) returns text language plpgsql as
   $$ begin raise exception 'raised' using errcode = state; end $$;`,
)

export function open(
  t: TestContext,
  options: Partial<ConstructorParameters<typeof Db>[0]> = {},
): Db {
  const db = new Db({ url, pool_size: 1, application_name: 'svc test', ...options })
  t.after(() => db.close().catch(() => {}))
  return db
}

export async function pidOf(db: Pick<Db, 'run'>): Promise<number> {
  const [row] = await db.run(BACKEND)
  return row?.pid ?? 0
}

export async function terminate(pid: number): Promise<void> {
  await sql(url, 'select pg_terminate_backend($1)', [pid])
}

export async function names(pattern: string): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    url,
    'select name from thing where name like $1 order by name',
    [pattern],
  )
  return rows.map((row) => row.name)
}

export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => assert.fail('it did not fail'),
    (error: unknown) => error,
  )
}

export function assertUnavailable(error: unknown): void {
  assertApiError(error, { code: 'service_unavailable', status: 503 })
  assert.match((error as ApiError).headers['retry-after'] ?? '', /^[1-9]\d*$/)
}

export function assertApiError(error: unknown, expected: { code: string; status: number }): void {
  assert.ok(error instanceof ApiError, String(error))
  assert.equal(error.code, expected.code)
  assert.equal(error.status, expected.status)
}
