// A transfer that is reversed at the processor takes its payout back: its earnings may be paid again, but not before an
// operator has looked.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { sql } from '../support/database.ts'
import { openShop, registerPerson } from './shop.ts'
import { batch, DAY, earn, payoutsOf, standInAt, summaryOf } from './support.ts'

const shop = await openShop()
const { db, stripe } = shop.service.parts
const { database_url } = shop.service
const stand_in = standInAt(shop.sandbox.urls.stripe)
const bench = { db, database_url, stand_in }

it('by its signed event, once however often it is sent', async () => {
  const { user_id } = await registerPerson(shop)
  const { accounts } = await stand_in.control<{ accounts: string[] }>('/seed', { accounts: 1 })
  await sql(
    database_url,
    `insert into payout_account (developer_id, stripe_account_id, payouts_enabled, mirrored_at, created_at)
     values ($1, $2, true, now(), now())`,
    [user_id, accounts[0]],
  )
  const now = new Date()
  await earn(db, user_id, { amounts: [20_000_000n], at: new Date(now.getTime() - 8 * DAY) })
  await batch(bench, { now })
  const [paid] = await payoutsOf(db, user_id)
  assert.equal(paid?.status, 'paid')
  await shop.settle()
  await stripe?.transfers.createReversal(paid?.stripe_transfer_id ?? '')
  await shop.settle()
  const events = await stripe?.events.list({ type: 'transfer.reversed' })
  assert.equal(events?.data.length, 1)
  await shop.control('POST', `/events/${events?.data[0]?.id}/send`, {})
  await shop.settle()

  const payouts = await payoutsOf(db, user_id)
  assert.deepEqual(
    payouts.map(({ status, failure_code }) => [status, failure_code]),
    [['failed', 'transfer_reversed']],
  )
  const summary = await summaryOf(db, user_id, now)
  assert.equal(summary.pending_payout_credits, 20_000_000n)
  // Blocked: the next batch pays nothing.
  await batch(bench, { now: new Date(now.getTime() + DAY) })
  assert.equal((await payoutsOf(db, user_id)).length, 1)
})
