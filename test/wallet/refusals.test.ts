// Row 2: a refusal leaves no trace.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import type { HoldRequest } from '../../src/wallet/holds.ts'
import { transferCredits } from '../../src/wallet/postings.ts'
import type { SpendLimit } from '../../src/wallet/spend-limits.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { LONG, makeBatchWriter, makeWallets } from './support.ts'

const ROUNDS = LONG ? 250 : 65

const url = await createDatabase()
const db = openDb(url)
const lane = await makeBatchWriter(url)
after(async () => {
  await lane.close()
  await db.close()
})

/** 100 credits each, of which the first has 60 held, under a limit that leaves 30 more. */
const [held_id = '', free_id = ''] = await makeWallets(db, 2, 100n)
const limit: SpendLimit = {
  kind: 'key',
  owner_id: held_id,
  account_id: held_id,
  limit_credits: 90n,
  period: 'total',
}
await lane.write({ holds: [ask(held_id, 60n, [limit])] })

const REFUSALS = {
  'a hold that the wallet does not cover': async () => {
    const { holds } = await lane.write({ holds: [ask(free_id, 101n)] })
    assert.equal(holds[0]?.state, 'insufficient')
  },
  'a hold for which others leave no room': async () => {
    const { holds } = await lane.write({ holds: [ask(held_id, 41n)] })
    assert.equal(holds[0]?.state, 'blocked')
  },
  'a hold that its limit does not cover': async () => {
    const { holds } = await lane.write({ holds: [ask(held_id, 95n, [limit])] })
    assert.equal(holds[0]?.state, 'limit_reached')
  },
  'a release of nothing': async () => {
    const hold = { id: mintWalletId(free_id, new Date()), wallet_id: free_id, amount: 1n }
    const { settles } = await lane.write({ settles: [{ hold }] })
    assert.equal(settles[0]?.state, 'gone')
  },
  'a transfer of more than is free': async () => {
    const at = new Date()
    const transfer = {
      id: mintWalletId(held_id, at),
      receipt_id: mintWalletId(free_id, at),
      from_account_id: held_id,
      to_account_id: free_id,
      amount: 41n,
      promotional_credits: 'as_money' as const,
    }
    await assert.rejects(
      db.transaction((tx) => transferCredits(tx, transfer)),
      { code: 'insufficient_credits' },
    )
  },
}

for (const [what, refuse] of Object.entries(REFUSALS)) {
  it(`${what} leaves every row as it was, ${ROUNDS} times`, async () => {
    const before = await sql(url, EVERY_ROW)
    for (let round = 0; round < ROUNDS; round++) {
      await refuse()
      assert.deepEqual(await sql(url, EVERY_ROW), before)
    }
  })
}

const TABLES = ['wallet', 'hold', 'spend_counter', 'journal', 'usage_event', 'outbox']
const EVERY_ROW = TABLES.map(
  (table) =>
    `select '${table}' as name, count(*)::text, md5(string_agg(t::text, ';' order by t::text)) as rows from ${table} t`,
).join(' union all ')

function ask(wallet_id: string, credits: bigint, spend_limits: SpendLimit[] = []): HoldRequest {
  const id = mintWalletId(wallet_id, new Date())
  return { id, wallet_id, min_credits: credits, max_credits: credits, spend_limits }
}
