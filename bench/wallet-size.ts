// What one call leaves behind on disk: the journal, usage, earning and outbox rows of a call that a user pays
// through an app with a markup, and their indexes.

import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import type { Db } from '../src/platform/db.ts'
import { mintId } from '../src/platform/tokens.ts'
import type { Hold, SettleRequest } from '../src/wallet/holds.ts'
import { holdOf, inParallel, makeLedger, makeWallets } from '../test/wallet/support.ts'

const CALLS = 50_000
const TABLES = ['journal', 'usage_event', 'developer_earning', 'outbox']

export async function printBytesOfCall(db: Db, url: string): Promise<void> {
  const wallets = await makeWallets(db, 500, 1_000_000_000n)
  const developer_id = mintId()
  const key_id = mintId()
  const ledger = await makeLedger(url)
  const before = await sizes(url)
  await inParallel(CALLS, 200, async (index) => {
    const wallet_id = wallets[index % wallets.length]
    if (wallet_id === undefined) return
    const hold = await ledger.hold(holdOf(wallet_id, 10_000n))
    await ledger.settle(appCall(hold, { developer_id, key_id }))
  })
  await ledger.stop()
  const after = await sizes(url)
  const parts = TABLES.map((table) => {
    const bytes = (kind: 'heap' | 'indexes') =>
      Math.round(((after[table]?.[kind] ?? 0) - (before[table]?.[kind] ?? 0)) / CALLS)
    return { table, heap: bytes('heap'), indexes: bytes('indexes') }
  })
  const total = parts.reduce((sum, { heap, indexes }) => sum + heap + indexes, 0)
  const figures = parts.map(({ table, heap, indexes }) => `${table} ${heap} + ${indexes}`)
  console.log(`bytes a call: ${total} (rows + indexes: ${figures.join(', ')})`)
}

/** As the gateway describes one. */
function appCall(hold: Hold, owner: { developer_id: string; key_id: string }): SettleRequest {
  return {
    hold,
    used_credits: 4_400n,
    cost_credits: 4_000n,
    usage: {
      model: 'anthropic/claude-sonnet-4',
      billing_mode: 'user',
      developer_id: owner.developer_id,
      key_id: owner.key_id,
      client_id: `app_${owner.key_id.slice(0, 24)}`,
      external_user_id: `user-${hold.wallet_id.slice(0, 8)}`,
      input_tokens: 1_200,
      cached_input_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 350,
      reasoning_tokens: 0,
      estimated: false,
      price_list_id: 7,
      raw_usage: { input_tokens: 1_200, output_tokens: 350, service_tier: 'standard' },
      request_id: randomUUID(),
      provider_request_id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
      first_byte_ms: 612,
      total_ms: 4_803,
      outcome: 'complete',
    },
    event: {},
  }
}

type Sizes = Record<string, { heap: number; indexes: number }>

async function sizes(url: string): Promise<Sizes> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query<{ name: string; heap: string; indexes: string }>(
    `select t.name, sum(pg_table_size(p.relid))::text as heap, sum(pg_indexes_size(p.relid))::text as indexes
     from unnest($1::text[]) as t (name)
     cross join lateral (
       select relid from pg_partition_tree(t.name::regclass) union select t.name::regclass
     ) p
     group by t.name`,
    [TABLES],
  )
  await client.end()
  return Object.fromEntries(
    rows.map(({ name, heap, indexes }) => [name, { heap: Number(heap), indexes: Number(indexes) }]),
  )
}
