// Earnings and payouts over HTTP, as the specification describes their records.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batch, DAY, earn, standInAt } from '../payouts/support.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'

const service = await createApp()
const { db } = service.parts
const { database_url } = service
const stand_in = standInAt(service.sandbox.urls.stripe)

test('a payout has the period of the calls in it, and the sums before and after the reserve', async () => {
  const { user_id, token } = await service.register()
  const { accounts } = await stand_in.control<{ accounts: string[] }>('/seed', { accounts: 1 })
  await sql(
    database_url,
    `insert into payout_account (developer_id, stripe_account_id, payouts_enabled, mirrored_at, created_at)
     values ($1, $2, true, now(), now())`,
    [user_id, accounts[0]],
  )
  const now = service.clock.now()
  const ago = (days: number) => new Date(now.getTime() - days * DAY)
  await earn(db, user_id, { amounts: [20_000_000n], at: ago(9) })
  await earn(db, user_id, { amounts: [1_000_000n, 1_000_000n], at: ago(8) })
  await earn(db, user_id, { amounts: [5n], at: ago(6) })
  await batch({ db, database_url, stand_in }, { now })
  const reply = await service.request({
    url: '/developers/earnings',
    headers: { cookie: `svc_session=${token}` },
  })
  assert.equal(reply.statusCode, 200)
  const { summary, recent_payouts } = reply.json<{
    summary: Record<string, number>
    recent_payouts: Record<string, unknown>[]
  }>()
  const [payout] = recent_payouts
  assert.ok(payout)
  assert.match(String(payout['id']), /^[0-9a-f]{8}-[0-9a-f-]{27}$/)
  const wanted = {
    gross_amount_credits: 22_000_000,
    reserve_amount_credits: 2_200_000,
    transfer_amount_credits: 19_800_000,
    earnings_count: 3,
    status: 'paid',
    period_start: ago(9).toISOString(),
    period_end: ago(8).toISOString(),
    created_at: now.toISOString(),
  }
  assert.deepEqual(
    Object.fromEntries(Object.keys(wanted).map((field) => [field, payout[field]])),
    wanted,
  )
  const fields = [
    'total_earned_credits',
    'pending_payout_credits',
    'accumulating_credits',
    'reserve_held_credits',
    'total_paid_out_credits',
  ]
  assert.deepEqual(
    fields.map((field) => summary[field]),
    [22_000_005, 0, 0, 2_200_000, 19_800_000],
  )
})
