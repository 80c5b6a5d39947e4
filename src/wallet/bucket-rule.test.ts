// A tidy rule: whatever touches a row that belongs to a wallet names its bucket, so that buckets can be
// spread over servers one day without rewriting a statement.

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { describe, it } from 'node:test'
import { createDatabase, sql } from '../../test/support/database.ts'
import { registeredStatements } from '../platform/db.ts'
import { mintId } from '../platform/tokens.ts'
import { bucketOf, mintWalletId } from './bucket.ts'

const PARTITIONED = ['journal', 'usage_event', 'developer_earning', 'outbox', 'failed_call']
const DEFAULTS = PARTITIONED.map((table) => `${table}_default`)
const WHOLE = ['wallet', 'hold', 'spend_counter', 'idempotency', 'wallet_seal', 'account_seal']
const OWNED = [...WHOLE, ...PARTITIONED, ...DEFAULTS].join('|')
const REFERENCE = new RegExp(
  `\\b(from|join|into|update|using)\\s+(?:only\\s+)?(?:${OWNED})\\b(?:\\s+(?:as\\s+)?(?!${words(
    'where set on group order left right full inner cross join limit for using returning union values select',
  )})(\\w+))?`,
  'g',
)
/** What a bucket may be bound to: a parameter, a list of them, or the bucket of something that is bound. */
const BOUND = String.raw`(?:\$\d|p_\w+|any\s*\(\s*(?:\$\d|p_\w+)|\w+\.bucket\b)`

const url = await createDatabase()
const source = new URL('../', import.meta.url)
for (const file of globSync('*/*store.ts', { cwd: source }))
  await import(String(new URL(file, source)))

function words(list: string): string {
  return `(?:${list.replaceAll(' ', '|')})\\b`
}

/** Statements with a reference to an owned table whose bucket they do not bind. */
function offenders(statements: readonly { name: string; text: string }[]): string[] {
  return statements.filter(({ text }) => !bindsBuckets(text)).map((statement) => statement.name)
}

function bindsBuckets(text: string): boolean {
  const references = [...text.matchAll(REFERENCE)]
  const insertions = references.filter(([, how]) => how === 'into').length
  const filled =
    text.match(new RegExp(`\\binto\\s+(?:${OWNED})\\s*\\([^)]*\\bbucket\\b`, 'g')) ?? []
  if (filled.length < insertions) return false
  const reads = references.filter(([, how]) => how !== 'into')
  const aliases = reads.flatMap(([, , alias]) => (alias === undefined ? [] : [alias]))
  if (!aliases.every((alias) => bindsAlias(text, alias))) return false
  const bound = text.match(new RegExp(`(?<![.\\w])bucket\\s*=\\s*${BOUND}`, 'g')) ?? []
  return bound.length >= reads.length - aliases.length
}

function bindsAlias(text: string, alias: string): boolean {
  return [
    `\\b${alias}\\.bucket\\s*=\\s*${BOUND}`,
    `\\.bucket\\s*=\\s*${alias}\\.bucket\\b`,
    `\\(${alias}\\.bucket,[^)]*\\)\\s+in\\s*\\(\\s*select\\b`,
  ].some((binding) => new RegExp(binding).test(text))
}

describe('the bucket rule', () => {
  it('holds for every registered statement', () => {
    const statements = registeredStatements()
    assert.ok(statements.some((statement) => statement.name === 'wallet.select_balance'))
    assert.deepEqual(offenders(statements), [])
    const calls = statements.filter(({ text }) =>
      /\b(ledger|post)_batch\(|sweep_holds\(/.test(text),
    )
    assert.equal(calls.length, 3)
    // The bucket travels in each item, or alone.
    for (const { text } of calls) assert.match(text, /p_(settles|postings|bucket) => \$1::/)
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

  it('would notice a statement that does not bind a bucket', () => {
    const bad = [
      'select posted from wallet where id = $1',
      'select bucket, posted from wallet where id = $1',
      'select w.bucket from wallet w where w.id = $1 order by w.bucket',
      'select bucket from wallet where bucket is not null and id = $1',
      'select 1 from journal j join usage_event u on u.id = j.tx where j.bucket = $1',
      'select 1 from hold where bucket = $1 union select 1 from wallet where id = $2',
      'insert into hold (id, amount) values ($1, $2) returning bucket',
      'update wallet w set held = 0 where w.id = $1 returning w.bucket',
      'delete from hold where id = $1 returning bucket',
    ]
    const statements = bad.map((text) => ({ name: text, text }))
    assert.deepEqual(offenders(statements), bad)
  })

  it('takes a parameter, a list of them and a join for a binding', () => {
    const good = [
      'select posted from wallet where bucket = $1::smallint and id = $2',
      'select posted from wallet where bucket = any ($1::smallint[])',
      'select 1 from journal j join usage_event u on u.bucket = j.bucket where j.bucket = $1',
      'select 1 from wallet w where (w.bucket, w.id) in (select b, i from unnest($1, $2) as u (b, i))',
      'insert into hold (bucket, id) values ($1, $2)',
    ]
    assert.deepEqual(offenders(good.map((text) => ({ name: text, text }))), [])
  })

  it('every key of a table with a wallet in it has the bucket in it', async () => {
    const keys = await sql<{ name: string; columns: string[] }>(
      url,
      `select i.indexrelid::regclass::text as name,
         array(select a.attname::text from pg_attribute a
           where a.attrelid = i.indrelid and a.attnum = any (i.indkey)) as columns
       from pg_index i
       where i.indisunique and i.indrelid::regclass::text = any ($1) order by 1`,
      [[...WHOLE, ...DEFAULTS]],
    )
    assert.ok(keys.length >= WHOLE.length + 4, String(keys.length))
    assert.deepEqual(
      keys.filter(({ columns }) => !columns.includes('bucket')),
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
