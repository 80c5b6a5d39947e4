// The service behind a real PgBouncer in session mode: everything it does with its database, done through it.

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { Client } from 'pg'
import { loadConfig } from '../../src/config.ts'
import { requireConnectionRoom } from '../../src/connections.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { createApp, PASSWORD, sandboxSettings } from '../support/app.ts'
import { atEnd } from '../support/cleanup.ts'
import { createEmptyDatabase, openDb, sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { skipWithoutPgBouncer, startPgBouncer } from '../support/pgbouncer.ts'
import { reach } from '../support/remote.ts'
import { COMMAND_LINE, runToEnd, startServer } from '../support/service.ts'
import { assertBooks, chargeOf, holdOf, makeLedger, makeWallets } from './support.ts'

describe('through PgBouncer in session mode', { skip: skipWithoutPgBouncer }, () => {
  let url = ''
  let direct_url = ''

  before(async () => {
    direct_url = await createEmptyDatabase()
    url = await startPgBouncer(direct_url)
    await migrate(url)
  })

  it('limits in the startup packet are refused, which is why the service sends none', async () => {
    const client = new Client({ connectionString: url, options: '-c statement_timeout=1000' })
    await assert.rejects(client.connect(), /options/)
  })

  it('a second migration finds nothing to do', async () => {
    assert.deepEqual(await migrate(url), [])
  })

  it('calls are held, settled and granted, and the book is right', async () => {
    const db = openDb(url)
    atEnd(() => db.close())
    const [wallet_id = ''] = await makeWallets(db, 1, 1_000n)
    const ledger = await makeLedger(url)
    const calls = Array.from({ length: 20 }, async () => {
      const hold = await ledger.hold(holdOf(wallet_id, 20n))
      await ledger.settle(chargeOf(hold, 10n))
    })
    await Promise.all(calls)
    const hold = await ledger.hold(holdOf(wallet_id, 100n))
    assert.equal((await ledger.settle(chargeOf(hold, 100n))).balance_after, 700n)
    await ledger.stop()
    await assertBooks(db)
  })

  it('people register, log in and pay for calls, and a revoked key is refused by another process', async () => {
    const left = await createApp({ database_url: url })
    const server = await startServer({ DATABASE_URL: url, ...sandboxSettings(left.sandbox.urls) })
    const right = reach(server)
    const { email, bearer } = await left.register()
    assert.equal((await right.post('/auth/login', { email, password: PASSWORD })).statusCode, 200)
    const { key, id } = await left.createKey(bearer)
    const body = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello.' }] }
    const ask = () => right.post('/v1/chat/completions', body, { authorization: `Bearer ${key}` })
    for (const _ of [1, 2]) assert.equal((await ask()).statusCode, 200)
    const revoked = await left.request({
      method: 'DELETE',
      url: `/developers/keys/${id}`,
      headers: bearer,
    })
    assert.equal(revoked.statusCode, 200)
    await eventually('it is refused', async () => (await ask()).statusCode === 401, 1_000)
    const listeners = await sql(
      direct_url,
      `select from pg_stat_activity where datname = current_database() and query like 'listen %'`,
    )
    assert.equal(listeners.length, 2)
    await left.close()
    assert.equal((await server.stop()).code, 0)
    const command: [string, ...string[]] = [process.execPath, COMMAND_LINE, 'ledger', 'check']
    const checked = await runToEnd(command, { DATABASE_URL: url })
    assert.equal(checked.code, 0, checked.stdout + checked.stderr)
  })

  it('the limits of a session are in force, and are not handed on with its connection', async () => {
    const db = openDb(url)
    const limit = await db.transaction(async (tx) => {
      const [row] = await tx.run<{ limit: string }>({
        name: 'test.limit',
        text: `select current_setting('statement_timeout') as limit`,
      })
      return row?.limit
    })
    assert.equal(limit, '30s')
    await db.close()
    // The pooler gives out first what it got back last.
    const plain = await Promise.all(
      Array.from({ length: 10 }, () => sql(url, 'show statement_timeout')),
    )
    for (const rows of plain) assert.deepEqual(rows, [{ statement_timeout: '0' }])
  })

  it('the size of the server is not taken for that of the pooler', async () => {
    await requireConnectionRoom(url, loadConfig({ DATABASE_POOL_SIZE: '1000' }))
  })
})
