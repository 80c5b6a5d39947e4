// What an account was charged through apps is exact to the call, whichever of its calls are in the sums.

import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { sumSpentThroughApps } from '../../src/oauth/app-spending-store.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { foldUsage } from '../../src/usage/jobs.ts'
import { mintWalletId } from '../../src/wallet/bucket.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { chargeOf, holdOf, makeLedger, makeWallets, silent } from '../wallet/support.ts'

const APPS = ['app_a', 'app_b']
const DAY_MS = 24 * 3_600_000

const url = await createDatabase()
const db = openDb(url)
const ledger = await makeLedger(url)
after(async () => {
  await ledger.stop()
  await db.close()
})
const fold = () => foldUsage({ db, clock: systemClock, log: silent, wakeMailSender: () => {} })

type Call = { client_id?: string; developer_id?: string; used: bigint; at?: Date }

async function charge(wallet_id: string, call: Call): Promise<void> {
  const { used, at = new Date(), ...usage } = call
  const id = mintWalletId(wallet_id, at)
  const charge = chargeOf(await ledger.hold({ ...holdOf(wallet_id, 100n), id }), used)
  await ledger.settle({ ...charge, usage: { ...charge.usage, ...usage }, event: {} })
}

async function spentBy(account_id: string, at: Date) {
  const apps = await sumSpentThroughApps(db, { account_id, client_ids: APPS, at })
  return apps.map((app) => [app.client_id, app.month_credits, app.today_credits])
}

describe('what was spent through apps', () => {
  it('is the sum for each app this month and today, of one wallet, folded or not', async () => {
    const [user = '', other = ''] = await makeWallets(db, 2, 1_000n)
    const calls = [
      [user, 'app_a', 10n],
      [user, 'app_b', 7n],
      [user, 'app_a', 5n],
      [user, 'app_c', 9n],
      [other, 'app_a', 100n],
    ] as const
    const steps: Awaited<ReturnType<typeof spentBy>>[] = []
    for (const [index, [wallet_id, client_id, used]] of calls.entries()) {
      // The user made app_a: what others pay through it is in the user's sums too.
      await charge(wallet_id, { client_id, developer_id: user, used })
      if (index === 2) steps.push(await spentBy(user, new Date()))
      if (index === 2) await fold()
    }
    await charge(user, { used: 50n })
    steps.push(await spentBy(user, new Date()))
    await fold()
    steps.push(await spentBy(user, new Date()))
    const expected = [
      ['app_a', 15n, 15n],
      ['app_b', 7n, 7n],
    ]
    assert.deepEqual(steps, [expected, expected, expected])
    assert.deepEqual(await spentBy(user, new Date(Date.now() + 40 * DAY_MS)), [])
  })

  it('counts a call of the first millisecond of a month, and none before, folded or not', async () => {
    const [user = ''] = await makeWallets(db, 1, 1_000n)
    const from = new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth()))
    const before = new Date(from.getTime() - 1)
    await sql(url, 'select make_ledger_partitions($1, 0)', [before])
    await charge(user, { client_id: 'app_a', used: 10n, at: from })
    await charge(user, { client_id: 'app_a', used: 100n, at: before })
    for (const folded of [false, true]) {
      if (folded) await fold()
      const asked = { account_id: user, client_ids: APPS, at: from }
      assert.deepEqual(await sumSpentThroughApps(db, asked), [
        { client_id: 'app_a', month_credits: 10n, today_credits: 10n, last_used_at: from },
      ])
      assert.deepEqual(await spentBy(user, before), [['app_a', 100n, 100n]])
    }
  })
})
