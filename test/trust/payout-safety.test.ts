// Where money goes: every change of the payout account is an event, and suspended developers are not paid.

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openShop, registerPerson } from '../payouts/shop.ts'
import { batch, DAY, earn, makeDeveloper, startStandIn } from '../payouts/support.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'

test('making a payout account and what the processor changes of it are events that are mailed; a look that finds nothing new is none', async () => {
  const shop = await openShop()
  const { service } = shop
  const person = await registerPerson(shop)
  const ask = (method: 'GET' | 'POST', path: string) =>
    service.request({ method, url: `/developers/connect${path}`, headers: person.cookie })
  const events = async () =>
    await sql<{ kind: string; session_id: string | null; details: Record<string, unknown> }>(
      service.database_url,
      `select kind, session_id, details from security_event
       where account_id = $1 and kind = 'payout_account_changed' order by at, id`,
      [person.user_id],
    )
  const { stripe_account_id } = (await ask('POST', '/onboard')).json<{
    stripe_account_id: string
  }>()
  const [made] = await events()
  assert.notEqual(made?.session_id, null)
  assert.equal(made?.details['stripe_account_id'], stripe_account_id)
  assert.equal(made?.details['payouts_enabled'], false)
  await ask('GET', '/status')
  assert.equal((await events()).length, 1)

  service.clock.advance(1000)
  await shop.control('POST', `/accounts/${stripe_account_id}`, { outcome: 'complete' })
  await ask('GET', '/status')
  await ask('GET', '/status')
  const [, enabled, none] = await events()
  assert.equal(enabled?.details['payouts_enabled'], true)
  assert.equal(enabled?.session_id, null)
  assert.equal(none, undefined)
  const mails = await sql<{ subject: string }>(
    service.database_url,
    `select subject from mail_outbox where account_id = $1 and purpose = 'security_alert'`,
    [person.user_id],
  )
  assert.equal(
    mails.filter(({ subject }) => subject === 'The payout account was changed').length,
    2,
  )
})

test('a suspended developer is not paid, is counted, and is paid once resumed', async () => {
  const database_url = await createDatabase()
  const db = openDb(database_url)
  const stand_in = await startStandIn()
  after(async () => {
    await db.close()
    await stand_in.close()
  })
  const start = new Date('2026-11-20T10:30:15.250Z')
  const now = new Date(start.getTime() + 7 * DAY)
  const suspended = await makeDeveloper(db, stand_in)
  const other = await makeDeveloper(db, stand_in)
  for (const developer of [suspended, other]) {
    await earn(db, developer, { amounts: [25_000_000n], at: start })
  }
  const change = (set: string) =>
    sql(database_url, `update account set ${set} where id = $1`, [suspended])
  await change(`suspended_at = now(), suspended_reason = 'fraud'`)
  const bench = { db, database_url, stand_in }
  const dry = await batch(bench, { now, dry_run: true })
  assert.equal(dry.suspended, 1)
  const first = await batch(bench, { now })
  assert.deepEqual([first.status, first.paid, first.suspended], ['done', 1, 1])
  await change('suspended_at = null, suspended_reason = null')
  const second = await batch(bench, { now })
  assert.deepEqual([second.status, second.paid, second.suspended], ['done', 1, 0])
})
