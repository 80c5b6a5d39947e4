// A transaction that notifies holds a lock of the whole server while it commits: on the hot path it would
// put every hold and settle of every process in one queue.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { LEDGER_BATCH } from '../../src/wallet/store.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { chargeOf, holdOf, inParallel, makeLedger, makeWallets } from './support.ts'

describe('a hold and its settle', () => {
  it('name NOTIFY in no statement, no function and no trigger they run', async () => {
    const url = await createDatabase()
    assert.doesNotMatch(LEDGER_BATCH.text, /notify/i)
    const functions = await sql<{ name: string; text: string }>(
      url,
      `select p.proname as name, pg_get_functiondef(p.oid) as text from pg_proc p
       where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'`,
    )
    const names = functions.map(({ name }) => name)
    for (const name of [
      'ledger_batch',
      'hold_batch',
      'settle_batch',
      'record_usage',
      'journal_sums_to_zero',
    ]) {
      assert.ok(names.includes(name), name)
    }
    const notifying = functions.filter(({ text }) => /notify/i.test(text))
    assert.deepEqual(notifying, [])
    // Every function that a trigger runs is one of those above.
    const triggers = await sql<{ name: string }>(
      url,
      `select distinct p.proname as name from pg_trigger t join pg_proc p on p.oid = t.tgfoid
       where not t.tgisinternal and p.pronamespace <> 'public'::regnamespace`,
    )
    assert.deepEqual(triggers, [])
  })

  it('wake nobody who listens, over 100 pairs', async () => {
    const url = await createDatabase()
    const db = openDb(url)
    after(() => db.close())
    const [wallet_id] = await makeWallets(db, 1, 1_000_000n)
    assert.ok(wallet_id)
    const heard: string[] = []
    const listener = new Client({ connectionString: url })
    await listener.connect()
    listener.on('notification', (message) => heard.push(message.channel))
    await listener.query('listen svc_invalidation')
    await listener.query('listen end_of_test')
    const ledger = await makeLedger(url)
    await inParallel(100, 10, async () => {
      await ledger.settle(chargeOf(await ledger.hold(holdOf(wallet_id, 10n)), 1n))
    })
    await ledger.stop()
    // Notifications come in the order of their commits: once this is heard, nothing else is on its way.
    await sql(url, 'notify end_of_test')
    while (heard.length === 0) await listener.query('select 1')
    await listener.end()
    assert.deepEqual(heard, ['end_of_test'])
  })
})
