import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import { makeWallets } from '../../test/wallet/support.ts'
import { mintId } from '../platform/tokens.ts'
import { bucketOf } from './bucket.ts'
import { recordEvent } from './events.ts'

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())
const [account_id] = await makeWallets(db, 1, 100n)
assert.ok(account_id)

describe('an event about a connection', () => {
  it("is in the outbox of the account's bucket, without balances", async () => {
    const event = {
      account_id,
      kind: 'user.connected',
      source_id: mintId(),
      payload: { client_id: 'app', cap: 5n },
    } as const
    await db.transaction((tx) => recordEvent(tx, event))
    const rows = await sql(
      url,
      `select bucket, wallet_id, source_id, kind, payload, abs(extract(epoch from at - now())) < 60 as is_now, balance_before, balance_after
       from outbox where source_id = $1`,
      [event.source_id],
    )
    assert.deepEqual(rows, [
      {
        bucket: bucketOf(account_id),
        wallet_id: account_id,
        source_id: event.source_id,
        kind: 'user.connected',
        payload: { client_id: 'app', cap: 5 },
        is_now: true,
        balance_before: null,
        balance_after: null,
      },
    ])
  })

  it('is gone with the transaction that it announces', async () => {
    const source_id = mintId()
    await assert.rejects(
      db.transaction(async (tx) => {
        const event = { account_id, source_id, payload: {} }
        await recordEvent(tx, { ...event, kind: 'user.disconnected' })
        throw new Error('no')
      }),
      /^Error: no$/,
    )
    assert.deepEqual(await sql(url, 'select 1 from outbox where source_id = $1', [source_id]), [])
  })

  it('is the only one without balances: the database refuses others', async () => {
    for (const kind of ['usage.completed', 'balance.updated']) {
      const event = { account_id, kind, source_id: mintId(), payload: {} }
      await assert.rejects(
        db.transaction((tx) => recordEvent(tx, event as never)),
        /outbox_balances_are_whole/,
      )
    }
  })
})
