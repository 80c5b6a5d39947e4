// A tidy rule: whatever touches a row that belongs to a wallet names its bucket, so that buckets can be
// spread over servers one day without rewriting a statement.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createDatabase, sql } from '../../test/support/database.ts'
import { registeredStatements } from '../platform/db.ts'
import { mintId } from '../platform/tokens.ts'
import { bucketOf, mintWalletId } from './bucket.ts'

const OWNED =
  'wallet|hold|key_spend|journal|journal_default|usage_event|usage_event_default|developer_earning|outbox|idempotency'
const REFERENCE = new RegExp(
  `\\b(?:from|join|into|update|using)\\s+(?:only\\s+)?(?:${OWNED})\\b`,
  'g',
)

const url = await createDatabase()
const source = new URL('../', import.meta.url)
for (const file of globSync('*/*store.ts', { cwd: source }))
  await import(String(new URL(file, source)))

/** Statements that name fewer buckets than owned tables. */
function offenders(statements: readonly { name: string; text: string }[]): string[] {
  return statements
    .filter(({ text }) => {
      const references = text.match(REFERENCE)?.length ?? 0
      const buckets = text.match(/\bbucket\b/g)?.length ?? 0
      return references > buckets
    })
    .map((statement) => statement.name)
}

describe('the bucket rule', () => {
  it('holds for every registered statement', () => {
    const statements = registeredStatements()
    assert.ok(statements.some((statement) => statement.name === 'wallet.select_balance'))
    assert.deepEqual(offenders(statements), [])
    const calls = statements.filter(({ text }) =>
      /\b(hold|settle|post)_batch\(|sweep_holds\(/.test(text),
    )
    assert.equal(calls.length, 4)
    for (const { text } of calls) assert.match(text, /p_buckets => \$1::smallint\[\]/)
  })

  it('holds inside the functions of the database', async () => {
    const functions = await sql<{ name: string; text: string }>(
      url,
      `select p.proname as name, p.prosrc as text from pg_proc p
       join pg_namespace n on n.oid = p.pronamespace
       where n.nspname = 'public' and p.prolang <> 0`,
    )
    const statements = functions.flatMap(({ name, text }) =>
      text.split(';').map((part) => ({ name, text: part })),
    )
    assert.ok(statements.length > 50)
    assert.deepEqual(offenders(statements), [])
  })

  it('would notice a statement without a bucket', () => {
    const text = 'select posted from wallet where id = $1'
    assert.deepEqual(offenders([{ name: 'bad', text }]), ['bad'])
  })

  it('every table with a wallet in it has the bucket first in its key', async () => {
    const keys = await sql<{ name: string; first: string }>(
      url,
      `select c.relname as name, a.attname as first from pg_index i
       join pg_class c on c.oid = i.indrelid
       join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
       where i.indisprimary and c.relname = any ($1) order by 1`,
      [OWNED.split('|')],
    )
    assert.equal(keys.length, OWNED.split('|').length)
    assert.deepEqual(
      keys.filter((key) => key.first !== 'bucket'),
      [],
    )
  })

  it('the service and the database see the same bucket and time in an id', async () => {
    const ids = Array.from({ length: 200 }, () => {
      const at = new Date(Math.floor(Math.random() * 4e12))
      const wallet_id = mintId({ at })
      return { at, wallet_id, id: mintWalletId(wallet_id, at) }
    })
    const rows = await sql<{ bucket: number; at: Date }>(
      url,
      `select wallet_bucket(w) as bucket, id_time(i) as at
       from unnest($1::uuid[], $2::uuid[]) as u (w, i)`,
      [ids.map(({ wallet_id }) => wallet_id), ids.map(({ id }) => id)],
    )
    assert.deepEqual(
      rows,
      ids.map(({ at, wallet_id }) => ({ bucket: bucketOf(wallet_id), at })),
    )
    for (const { id, wallet_id } of ids) assert.equal(bucketOf(id), bucketOf(wallet_id))
  })
})
