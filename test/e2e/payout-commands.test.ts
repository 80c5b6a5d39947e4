// `svc payouts …` as an operator types it, on a database of its own and a stand-in of Stripe.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'pg'
import { DAY, earn, payoutsOf, standInAt } from '../payouts/support.ts'
import { createApp } from '../support/app.ts'
import { sql } from '../support/database.ts'
import { COMMAND_LINE, makeFolder, runToEnd } from '../support/service.ts'

const service = await createApp()
const { db } = service.parts
const { database_url } = service
const stand_in = standInAt(service.sandbox.urls.stripe)
const settings = {
  DATABASE_URL: database_url,
  DATA_DIR: makeFolder(),
  STRIPE_SECRET_KEY: 'sk_test_operator',
  STRIPE_BASE_URL: stand_in.url,
}

async function svcWith(more: Record<string, string>, ...args: string[]) {
  const command: [string, ...string[]] = [process.execPath, COMMAND_LINE, 'payouts', ...args]
  return await runToEnd(command, { ...settings, ...more })
}
const svc = (...args: string[]) => svcWith({}, ...args)

async function makeEarner(amounts: bigint[]) {
  const person = await service.register()
  const { accounts } = await stand_in.control<{ accounts: string[] }>('/seed', { accounts: 1 })
  await sql(
    database_url,
    `insert into payout_account (developer_id, stripe_account_id, payouts_enabled, mirrored_at, created_at)
     values ($1, $2, true, now(), now())`,
    [person.user_id, accounts[0]],
  )
  const at = new Date(Date.now() - 8 * DAY)
  await earn(db, person.user_id, { amounts, at })
  return { ...person, account_id: accounts[0] ?? '' }
}

test('a batch by hand: said, paid, listed, shown, added up and compared, and a hundred days later too', async () => {
  const rich = await makeEarner([25_000_000n, 7n])
  const poor = await makeEarner([9_999_999n])
  const line = `${rich.user_id} gross 25000007 reserve 2500000 cents 2250`
  const said = await svc('run', '--dry-run')
  assert.deepEqual([said.code, said.stderr], [0, ''], said.stdout)
  assert.equal(said.stdout, `due     ${line}\n0 paid (0 cents), 0 failed, 0 pending\n`)
  assert.deepEqual(await payoutsOf(db, rich.user_id), [])

  const paid = await svc('run')
  assert.equal(paid.code, 0, paid.stderr)
  assert.equal(paid.stdout, `paid    ${line}\n1 paid (2250 cents), 0 failed, 0 pending\n`)
  const [payout] = await payoutsOf(db, rich.user_id)
  assert.deepEqual(await payoutsOf(db, poor.user_id), [])
  const listed = await svc('list', '--status', 'paid')
  assert.match(listed.stdout, new RegExp(`^${payout?.id} .* paid +${rich.user_id} 2250 cents\\n$`))
  const shown = await svc('show', payout?.id ?? '')
  assert.match(shown.stdout, new RegExp(`^stripe_transfer_id +${payout?.stripe_transfer_id}$`, 'm'))
  assert.match(shown.stdout, /^amount_cents +2250$/m)
  const sums = await svc('earnings', rich.email)
  assert.match(sums.stdout, /^total_paid_out_credits +22500007$/m)
  assert.match(sums.stdout, /^reserve_held_credits +2500000$/m)

  await earn(db, rich.user_id, { amounts: [10_000_000n], at: new Date() })
  const later = new Date(Date.now() + 100 * DAY).toISOString()
  const rolled = await svc('run', '--now', later)
  assert.match(rolled.stdout, /gross 12500000 reserve 1250000 cents 1125\n/, rolled.stderr)
  const agreed = await svc('reconcile')
  assert.equal(agreed.code, 0, agreed.stdout + agreed.stderr)
  assert.match(
    agreed.stdout,
    /^2 paid payouts of 3375 cents here\n2 transfers of 3375 cents .*\nthey agree\n$/,
  )
})

test('a transfer that nobody here knows is named, and the exit says so', async () => {
  const { account_id } = await makeEarner([1n])
  const { id } = await stand_in.stripe.transfers.create({
    amount: 5,
    currency: 'usd',
    destination: account_id,
  })
  const compared = await svc('reconcile')
  assert.equal(compared.code, 1, compared.stderr)
  assert.match(
    compared.stdout,
    new RegExp(`^DIFF transfer ${id} of 5 cents: no payout of ours$`, 'm'),
  )
})

test('too little money stops the run with exit 1; a blocked developer is unblocked', async () => {
  const { user_id, email } = await makeEarner([30_000_000n])
  await stand_in.control('/balance', { amount: 0 })
  const stopped = await svc('run')
  assert.equal(stopped.code, 1, stopped.stderr)
  assert.match(
    stopped.stdout,
    /^stopped: balance_insufficient; 0 paid \(0 cents\), 1 failed, 0 pending$/m,
  )
  assert.match((await svc('list', '--status', 'failed')).stdout, / balance_insufficient\n$/)
  await stand_in.control('/balance', { amount: 1_000_000 })
  await sql(
    database_url,
    'update payout_account set payouts_blocked = true where developer_id = $1',
    [user_id],
  )
  assert.match((await svc('run')).stdout, /^0 paid/)
  assert.equal((await svc('unblock', email)).stdout, `${email} is paid again\n`)
  assert.match((await svc('run')).stdout, /^1 paid \(2700 cents\)/m)
})

test('while a batch runs anywhere, another does nothing and says so', async () => {
  const other = new Client({ connectionString: database_url })
  await other.connect()
  try {
    await other.query('select pg_advisory_lock(7233005)')
    const { code, stdout } = await svc('run')
    assert.deepEqual([code, stdout], [0, 'a batch is running: nothing was done\n'])
  } finally {
    await other.end()
  }
})

test('what is typed wrongly exits with 2, says why, and does nothing', async () => {
  const keyless = { SVC_MODE: 'live', STRIPE_SECRET_KEY: '' }
  const live = { SVC_MODE: 'live', STRIPE_SECRET_KEY: 'sk_test_x' }
  for (const [args, why, more] of [
    [['run', '--status', 'paid'], /--status is an option of `list`/, {}],
    [['show', 'x'], /there is no payout x/, {}],
    [['run', '--now', 'soon'], /soon is no time/, {}],
    [['run', '--now', '2027-01-01'], /--now is for sandbox mode only/, live],
    [['run'], /STRIPE_SECRET_KEY is not set/, keyless],
  ] as const) {
    const { code, stdout, stderr } = await svcWith(more, ...args)
    assert.equal(code, 2, `${args.join(' ')}: ${stdout}${stderr}`)
    assert.match(stderr, why)
    assert.doesNotMatch(stderr, /^ +at /m)
  }
})
