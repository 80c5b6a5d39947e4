// Settlements that the database cannot take: kept on disk, and posted once when it is back.

import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, describe, it } from 'node:test'
import { createMetrics } from '../../src/platform/metrics.ts'
import { mintId } from '../../src/platform/tokens.ts'
import { readBalance } from '../../src/wallet/postings.ts'
import { readSpent, type SpendLimit, spendCounter } from '../../src/wallet/spend-limits.ts'
import { createDatabase, openDb } from '../support/database.ts'
import { Proxy } from './proxy.ts'
import { assertBooks, chargeOf, holdOf, makeLedger, makeWallets } from './support.ts'

const url = await createDatabase()
const db = openDb(url)
const folder = mkdtempSync(path.join(tmpdir(), 'svc-kept-'))
after(async () => {
  await db.close()
  rmSync(folder, { recursive: true, force: true })
})

async function setUp(settle_gives_up_after_ms?: number) {
  const proxy = new Proxy(Number(new URL(url).port))
  const proxied = new URL(url)
  proxied.port = String(await proxy.listen())
  after(() => proxy.close())
  const metrics = createMetrics()
  const ledger = await makeLedger(proxied.toString(), {
    folder,
    metrics,
    ...(settle_gives_up_after_ms !== undefined && { settle_gives_up_after_ms }),
  })
  const [wallet_id = ''] = await makeWallets(db, 1, 1_000n)
  return { proxy, ledger, wallet_id, metrics }
}

describe('a settlement that the database cannot take', () => {
  it('is kept on disk when it is given up, and posted once when the database is back', async () => {
    const { proxy, ledger, wallet_id, metrics } = await setUp(300)
    const hold = await ledger.hold(holdOf(wallet_id, 100n))
    proxy.goAway()
    await assert.rejects(ledger.settle(chargeOf(hold, 70n, 60n)), { code: 'service_unavailable' })
    assert.equal((await metrics.ledger_unposted.get()).values[0]?.value, 1)
    const [file = ''] = readdirSync(folder)
    assert.equal(statSync(path.join(folder, file)).mode & 0o777, 0o600)
    await ledger.postKept()
    assert.deepEqual(readdirSync(folder), [file], 'it is kept until it is posted')
    proxy.comeBack()
    await ledger.postKept()
    assert.deepEqual(readdirSync(folder), [])
    assert.equal((await metrics.ledger_unposted.get()).values[0]?.value, 0)
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 930n,
      held: 0n,
      available: 930n,
      promotional: 930n,
    })
    await ledger.stop()
    await assertBooks(db)
  })

  it('outlives a stop without a database, with its spend limits, and is charged once by the next process', async () => {
    const { proxy, ledger, wallet_id } = await setUp()
    const limit: SpendLimit = {
      kind: 'key',
      owner_id: mintId(),
      account_id: wallet_id,
      limit_credits: 500n,
      period: 'total',
    }
    const holds = await Promise.all(
      [1, 2, 3].map(() => ledger.hold({ ...holdOf(wallet_id, 100n), spend_limits: [limit] })),
    )
    proxy.goAway()
    const settling = Promise.allSettled(holds.map((hold) => ledger.settle(chargeOf(hold, 70n))))
    await ledger.stop(200)
    assert.deepEqual(
      (await settling).map(({ status }) => status),
      ['rejected', 'rejected', 'rejected'],
    )
    const lines = readdirSync(folder).flatMap((file) =>
      readFileSync(path.join(folder, file), 'utf8').trim().split('\n'),
    )
    assert.equal(lines.length, 3)
    const next = await makeLedger(url, { folder })
    const another = await makeLedger(url, { folder })
    await Promise.all([next.postKept(), another.postKept()])
    assert.deepEqual(readdirSync(folder), [])
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 790n,
      held: 0n,
      available: 790n,
      promotional: 790n,
    })
    const [counted] = await readSpent(db, [spendCounter(limit, new Date())])
    assert.deepEqual([counted?.spent, counted?.held], [210n, 0n])
    await next.stop()
    await another.stop()
    await assertBooks(db)
  })

  it('stands behind no damaged file, and what it could not be charged is an alarm', async () => {
    const { proxy, ledger, wallet_id, metrics } = await setUp(300)
    const hold = await ledger.hold(holdOf(wallet_id, 900n))
    proxy.goAway()
    await ledger.settle(chargeOf(hold, 900n)).catch(() => {})
    writeFileSync(path.join(folder, '0-damaged.ndjson'), '{"hold":')
    proxy.comeBack()
    // By then the hold has been swept, and others have spent what was free.
    await ledger.release(hold)
    await ledger.settle(chargeOf(await ledger.hold(holdOf(wallet_id, 400n)), 400n))
    await ledger.postKept()
    assert.deepEqual(readdirSync(folder), ['0-damaged.ndjson.damaged'])
    assert.equal((await metrics.ledger_shortfall.get()).values[0]?.value, 300)
    assert.equal((await readBalance(db, wallet_id))?.balance, 0n)
    rmSync(path.join(folder, '0-damaged.ndjson.damaged'))
    await ledger.stop()
    await assertBooks(db)
  })

  it('that the database refuses at once is written down as well', async () => {
    const { ledger, wallet_id } = await setUp()
    const hold = await ledger.hold(holdOf(wallet_id, 100n))
    const charge = chargeOf(hold, 10n)
    charge.usage.model = 'bad\u0000model'
    await assert.rejects(ledger.settle(charge), { code: 'service_unavailable' })
    assert.match(readFileSync(path.join(folder, 'refused.txt'), 'utf8'), new RegExp(hold.id))
    rmSync(path.join(folder, 'refused.txt'))
    assert.equal((await readBalance(db, wallet_id))?.held, 0n)
    await ledger.stop()
  })

  it('that no database would take is set aside for a person, and keeps no other waiting', async () => {
    const { proxy, ledger, wallet_id } = await setUp(300)
    const [bad, good] = await Promise.all([
      ledger.hold(holdOf(wallet_id, 100n)),
      ledger.hold(holdOf(wallet_id, 100n)),
    ])
    proxy.goAway()
    const charge = chargeOf(bad, 10n)
    charge.usage.model = 'bad\u0000model'
    await Promise.allSettled([ledger.settle(charge), ledger.settle(chargeOf(good, 20n))])
    proxy.comeBack()
    await ledger.postKept()
    assert.deepEqual(readdirSync(folder), ['refused.txt'])
    assert.match(readFileSync(path.join(folder, 'refused.txt'), 'utf8'), new RegExp(bad.id))
    assert.equal((await readBalance(db, wallet_id))?.balance, 980n)
    await ledger.release(bad)
    await ledger.stop()
    await assertBooks(db)
  })
})
