// Payouts as operators make them: a dry run first, then exactly that sum, once.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { batch, DAY, earn, makeDeveloper, payoutsOf, standInAt } from '../payouts/support.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { actsOf, type List, makeOperator, readAll } from './support.ts'

const service = await createApp()
const operator = await makeOperator(service)
const { parts, clock } = service
const stand_in = standInAt(service.sandbox.urls.stripe)

type Run = {
  id: string
  outcome: string | null
  started_by: string | null
  paid_cents: number | null
  paid: number | null
}
type DryRun = {
  total_cents: number
  developers: number
  payouts: { developer_id: string; developer_email: string; amount_cents: number }[]
}

const URL = '/operator/payout-runs'

const dryRun = async () => {
  const reply = await service.post(URL, { dry_run: true }, operator.bearer)
  assert.equal(reply.statusCode, 200, reply.body)
  return reply.json<DryRun>()
}

const run = (expected_total_cents: number, key: string) =>
  operator.act(URL, { dry_run: false, expected_total_cents }, { 'idempotency-key': key })

async function due(credits: bigint): Promise<string> {
  const developer = await makeDeveloper(parts.db, stand_in)
  await earn(parts.db, developer, {
    amounts: [credits],
    at: new Date(clock.now().getTime() - 8 * DAY),
  })
  return developer
}

async function outcomeOf(id: string): Promise<Run> {
  let found: Run | undefined
  await eventually('the run has ended', async () => {
    const { data } = await operator.read<List<Run>>(URL)
    found = data.find((one) => one.id === id)
    return found !== undefined && found.outcome !== null
  })
  assert.ok(found)
  return found
}

test('a dry run says who is due and how much, and changes nothing', async () => {
  const developer = await due(20_000_000n)
  const found = await dryRun()
  assert.deepEqual([found.total_cents, found.developers], [1_800, 1])
  assert.deepEqual(
    found.payouts.map(({ developer_id, developer_email, amount_cents }) => [
      developer_id,
      developer_email,
      amount_cents,
    ]),
    [[developer, `${developer}@example.com`, 1_800]],
  )
  assert.deepEqual(await dryRun(), found)
  assert.deepEqual(await actsOf(service, operator), [])
  assert.deepEqual((await operator.read<List<Run>>(URL)).data, [])
  assert.deepEqual((await operator.read<List<object>>('/operator/payouts')).data, [])
})

test('a run needs the total of the dry run, and is refused when that has changed', async () => {
  const { total_cents } = await dryRun()
  await due(10_000_000n)
  const stale = await run(total_cents, 'stale')
  assert.equal(stale.statusCode, 409, stale.body)
  assert.match(stale.json().error.message, /would pay 2700 cents now, not 1800/)
  const without = await operator.act(URL, { dry_run: false }, { 'idempotency-key': 'none' })
  assert.equal(without.statusCode, 400)
  assert.equal(without.json().error.param, 'expected_total_cents')
  const keyless = await operator.act(URL, { dry_run: false, expected_total_cents: 2_700 })
  assert.equal(keyless.statusCode, 400)
  assert.deepEqual(await actsOf(service, operator), [])
  assert.deepEqual((await operator.read<List<object>>('/operator/payouts')).data, [])
})

test('the run pays that sum once, however often it is asked for, and its outcome is listed', async () => {
  const { total_cents } = await dryRun()
  const replies = await Promise.all([run(total_cents, 'pay'), run(total_cents, 'pay')])
  assert.deepEqual(
    replies.map(({ statusCode }) => statusCode),
    [202, 202],
  )
  assert.equal(replies[0]?.body, replies[1]?.body)
  const { id } = replies[0]?.json<{ id: string }>() ?? { id: '' }
  const ended = await outcomeOf(id)
  assert.deepEqual(
    [ended.outcome, ended.paid, ended.paid_cents, ended.started_by],
    ['done', 2, 2_700, operator.email],
  )
  assert.equal((await run(total_cents, 'pay')).headers['idempotent-replayed'], 'true')
  assert.deepEqual(
    (await actsOf(service, operator)).map(({ act }) => act),
    ['payouts run'],
  )
  assert.deepEqual((await dryRun()).total_cents, 0)
  const [paid] = await sql<{ cents: string; count: string }>(
    service.database_url,
    `select sum(amount_cents) as cents, count(*) as count from payout where status = 'paid'`,
  )
  assert.deepEqual([paid?.cents, paid?.count], ['2700', '2'])
})

test('a run pays nobody who was not in the dry run, though another batch would', async () => {
  const known = await due(20_000_000n)
  const unknown = await due(30_000_000n)
  // The processor would say that they can be paid; we have not looked for long.
  await sql(
    service.database_url,
    'update payout_account set payouts_enabled = false, mirrored_at = null where developer_id = $1',
    [unknown],
  )
  const { total_cents } = await dryRun()
  assert.equal(total_cents, 1_800)
  const { id } = (await run(total_cents, 'only')).json<{ id: string }>()
  const { paid_cents } = await outcomeOf(id)
  assert.equal(paid_cents, 1_800)
  const statuses = async (developer: string) =>
    (await payoutsOf(parts.db, developer)).map(({ status }) => status)
  assert.deepEqual([await statuses(known), await statuses(unknown)], [['paid'], []])
  const { database_url } = service
  await batch({ db: parts.db, database_url, stand_in }, { now: clock.now() })
  assert.deepEqual(await statuses(unknown), ['paid'])
})

test('payouts are listed newest first and by status, those in doubt too', async () => {
  const all = (
    await readAll<{ id: string; status: string }>(operator, '/operator/payouts', 1)
  ).flat()
  assert.deepEqual(
    all.map(({ status }) => status),
    ['paid', 'paid', 'paid', 'paid'],
  )
  const first = all.at(-1)?.id
  await sql(service.database_url, `update payout set status = 'pending' where id = $1`, [first])
  const pending = await operator.read<List<{ id: string }>>('/operator/payouts?status=pending')
  assert.deepEqual(
    pending.data.map(({ id }) => id),
    [first],
  )
  const none = await operator.read<List<object>>('/operator/payouts?status=failed')
  assert.deepEqual(none.data, [])
})
