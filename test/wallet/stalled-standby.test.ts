// The synchronous standby stands still: commits wait for it, callers give up, and when it goes on nothing of what they gave
// up is held. Long only.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Db } from '../../src/platform/db.ts'
import { readBalance } from '../../src/wallet/postings.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { makeCluster } from './replication.ts'
import { assertBooks, holdOf, LONG, makeLedger, makeWallets } from './support.ts'

const ROUNDS = 20

describe('a synchronous standby that is stopped', { skip: !LONG && 'long' }, () => {
  it(`leaves nothing held soon after it goes on, ${ROUNDS} times`, async () => {
    const cluster = await makeCluster(true)
    const db = new Db({ url: cluster.url, pool_size: 4, application_name: 'svc test' })
    const [wallet_id = ''] = await makeWallets(db, 1, 1_000_000n)
    const ledger = await makeLedger(cluster.url, { lanes: 1, deadline_ms: 1_000 })
    for (let round = 0; round < ROUNDS; round++) {
      await ledger.release(await ledger.hold(holdOf(wallet_id, 10n)))
      const [receiver] = await sql<{ pid: number }>(
        cluster.standby.url,
        'select pid from pg_stat_wal_receiver',
      )
      assert.ok(receiver)
      process.kill(receiver.pid, 'SIGSTOP')
      await assert.rejects(ledger.hold(holdOf(wallet_id, 999_000n)), {
        code: 'service_unavailable',
      })
      await sleep(1_000)
      process.kill(receiver.pid, 'SIGCONT')
      const isFree = async () => (await readBalance(db, wallet_id))?.held === 0n
      await eventually('nothing is held any more', isFree, 5_000)
    }
    await ledger.stop()
    await assertBooks(db)
    await db.close()
    await cluster.remove()
  })
})
