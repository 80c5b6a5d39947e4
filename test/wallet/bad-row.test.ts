// A wallet that the database cannot write, for whatever reason: it alone fails.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { Client } from 'pg'
import { createMetrics } from '../../src/platform/metrics.ts'
import { bucketOf } from '../../src/wallet/bucket.ts'
import type { Hold } from '../../src/wallet/holds.ts'
import { readBalance } from '../../src/wallet/postings.ts'
import { sweepHolds } from '../../src/wallet/sweeper.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import {
  assertBooks,
  chargeOf,
  expireHolds,
  holdOf,
  inParallel,
  LONG,
  makeLedger,
  makeWallets,
  silent,
} from './support.ts'

/** Corrupt data, no disk, input and output, cancelled, no such function, not supported, read-only, starting up, lost, and one
 * that no version of PostgreSQL knows. */
const CODES = 'XX001 53100 58030 57014 42883 0A000 25006 57P03 08006 ZZ999'.split(' ')
const MORE_CODES = 'XX000 53200 42501 25P02 Q1Q1Q'.split(' ')
const OTHERS = 40

const url = await createDatabase()
const db = openDb(url)
after(() => db.close())
await sql(
  url,
  `create table bad_row (wallet_id uuid, code text);
   create function fail_on_bad_row() returns trigger language plpgsql as $$
   declare found_code text;
   begin
     select b.code into found_code from bad_row b where b.wallet_id = new.id;
     if found_code is not null then
       raise exception 'made up' using errcode = found_code;
     end if;
     return new;
   end $$;
   create trigger fail_on_bad_row before update on wallet for each row execute function fail_on_bad_row()`,
)

// Side by side: they mostly wait for a deadline.
describe('a wallet that fails in the database', { concurrency: 4 }, () => {
  for (const code of LONG ? [...CODES, ...MORE_CODES] : CODES) {
    it(`with ${code} fails alone, and is charged when the trouble is over`, async () => {
      const [bad = '', ...others] = await makeWallets(db, 1 + OTHERS, 1_000n)
      const ledger = await makeLedger(url, { lanes: 1, deadline_ms: 3_000 })
      const held: Hold = await ledger.hold(holdOf(bad, 100n))
      await sql(url, 'insert into bad_row values ($1, $2)', [bad, code])
      const failing = [
        assert.rejects(ledger.hold(holdOf(bad, 10n)), { code: 'service_unavailable' }),
        ledger.settle(chargeOf(held, 60n)),
      ]
      const began_at = performance.now()
      await inParallel(OTHERS * 3, OTHERS, async (index) => {
        const hold = await ledger.hold(holdOf(others[index % OTHERS] ?? '', 10n))
        await ledger.settle(chargeOf(hold, 10n))
      })
      const waited_ms = performance.now() - began_at
      assert.ok(waited_ms < 5_000, `the others waited ${waited_ms} ms`)
      await failing[0]
      await sql(url, 'delete from bad_row where wallet_id = $1', [bad])
      await failing[1]
      assert.deepEqual(await readBalance(db, bad), {
        balance: 940n,
        held: 0n,
        available: 940n,
        promotional: 940n,
      })
      for (const other of others) assert.equal((await readBalance(db, other))?.balance, 970n)
      await ledger.stop()
      console.log(`${code}: ${OTHERS * 3} pairs of the others in ${Math.round(waited_ms)} ms`)
    })
  }
})

describe('after that', () => {
  it('the books agree', () => assertBooks(db))
})

describe('the sweeper', () => {
  it('leaves what is locked for the next time and gives everything else back', async () => {
    const wallet_ids = await makeWallets(db, 300, 1_000n)
    const ledger = await makeLedger(url)
    await Promise.all(wallet_ids.map((wallet_id) => ledger.hold(holdOf(wallet_id, 50n))))
    const [crowded = ''] = wallet_ids
    const neighbour = wallet_ids.find((id) => id !== crowded && bucketOf(id) === bucketOf(crowded))
    assert.ok(neighbour, 'one of 300 wallets shares its bucket')
    const many = Array.from({ length: 120 }, () => ledger.hold(holdOf(crowded, 1n)))
    await Promise.all(many)
    await expireHolds(url)
    const client = new Client(url)
    await client.connect()
    await client.query('begin')
    await client.query('select 1 from wallet where id = any ($1) for update', [
      wallet_ids.slice(0, 3),
    ])
    // So many of them on one of the locked wallets that they alone would fill a batch.
    const options = { db, log: silent, metrics: createMetrics() }
    const began_at = performance.now()
    assert.equal(await sweepHolds(options), 297)
    assert.ok(performance.now() - began_at < 5_000, 'nobody was waited for')
    await client.end()
    assert.equal(await sweepHolds(options), 3 + 120)
    await ledger.stop()
    await assertBooks(db)
  })
})
