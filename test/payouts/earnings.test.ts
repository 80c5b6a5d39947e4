import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createApp } from '../support/app.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { assertBooks, chargeOf, holdOf, makeLedger, makeWallets } from '../wallet/support.ts'
import { assertPaidOnce, batch, DAY, earn, makeDeveloper, standInAt } from './support.ts'

const service = await createApp()
const { db } = service.parts
const { database_url, clock } = service
const stand_in = standInAt(service.sandbox.urls.stripe)
const bench = { db, database_url, stand_in }

async function makeEarner() {
  const person = await service.register()
  const { accounts } = await stand_in.control<{ accounts: string[] }>('/seed', { accounts: 1 })
  await sql(
    database_url,
    `insert into payout_account (developer_id, stripe_account_id, payouts_enabled, mirrored_at, created_at)
     values ($1, $2, true, now(), now())`,
    [person.user_id, accounts[0]],
  )
  const cookie = { cookie: `svc_session=${person.token}` }
  const get = (url: string, headers: Record<string, string> = cookie) =>
    service.request({ method: 'GET', url, headers })
  return { ...person, get }
}

type Payout = { id: string; status: string; created_at: string; [field: string]: unknown }
type Earnings = {
  summary: Record<string, number | string>
  recent_payouts: Payout[]
  series?: unknown
}

describe('GET /developers/earnings', () => {
  it('takes the session cookie and nothing else', async () => {
    const { get, bearer } = await makeEarner()
    for (const url of ['/developers/earnings', '/developers/payouts']) {
      assert.equal((await get(url)).statusCode, 200)
      for (const headers of [bearer, {}, { cookie: 'svc_session=sess_wrong' }]) {
        const reply = await get(url, headers)
        assert.equal(reply.statusCode, 401)
        assert.equal(reply.json<{ error: { code: string } }>().error.code, 'unauthorized')
      }
    }
  })

  it('shows sums that close, the next batch, recent payouts and, when asked, series', async () => {
    const { get, user_id } = await makeEarner()
    const now = clock.now()
    await earn(db, user_id, {
      amounts: [25_000_000n, 7n],
      at: new Date(now.getTime() - 8 * DAY),
      client_id: 'app_one',
    })
    await earn(db, user_id, { amounts: [5n], at: now })
    await batch(bench, { now })
    const { summary, recent_payouts, series } = (await get('/developers/earnings')).json<Earnings>()
    assert.equal(series, undefined)
    const { next_batch_at, ...credits } = summary
    assert.ok(new Date(String(next_batch_at)).getTime() > now.getTime())
    assert.deepEqual(credits, {
      total_earned_credits: 25_000_012,
      pending_payout_credits: 0,
      accumulating_credits: 0,
      reserve_held_credits: 2_500_000,
      total_paid_out_credits: 22_500_007,
      on_hold_credits: 5,
      in_flight_credits: 0,
      released_reserve_credits: 0,
      not_payable_credits: 0,
    })
    const [payout] = recent_payouts
    assert.deepEqual(
      { ...payout, id: 0, period_start: 0, period_end: 0 },
      {
        id: 0,
        gross_amount_credits: 25_000_007,
        reserve_amount_credits: 2_500_000,
        transfer_amount_credits: 22_500_007,
        amount_cents: 2250,
        currency: 'usd',
        earnings_count: 2,
        status: 'paid',
        failure_code: null,
        failure_reason: null,
        reserve_release_at: new Date(now.getTime() + 90 * DAY).toISOString(),
        period_start: 0,
        period_end: 0,
        created_at: now.toISOString(),
      },
    )
    const by_app = (await get('/developers/earnings?group_by=app')).json<Earnings>()
    assert.deepEqual(by_app.series, [
      { name: 'app_one', earned_credits: 25_000_007, calls: 2 },
      { name: '', earned_credits: 5, calls: 1 },
    ])
    const by_day = (await get('/developers/earnings?group_by=day')).json<Earnings>()
    assert.equal((by_day.series as unknown[]).length, 2)
    const by_both = (await get('/developers/earnings?group_by=day_and_app')).json<Earnings>()
    const day = (time: Date) => time.toISOString().slice(0, 10)
    assert.deepEqual(by_both.series, [
      {
        name: day(new Date(now.getTime() - 8 * DAY)),
        client_id: 'app_one',
        earned_credits: 25_000_007,
        calls: 2,
      },
      { name: day(now), client_id: '', earned_credits: 5, calls: 1 },
    ])
    for (const query of [
      'group_by=week',
      'group_by=day&from=2020-01-01&to=2026-01-01',
      'group_by=day&from=x',
      'group_by=day&from=0000-01-01&to=0000-01-02',
      'group_by=app&to=0000-01-05',
      'group_by=app&to=0001-01-05',
      'group_by=day&from=2026-02-30&to=2026-03-01',
      'group_by=day&from=2026-11-02&to=2026-11-01',
    ]) {
      assert.equal((await get(`/developers/earnings?${query}`)).statusCode, 400)
    }
  })

  it('adds the same up by day, by app and by both, also with more apps than it names', async () => {
    const { get, user_id } = await makeEarner()
    const now = clock.now()
    for (let one = 0; one < 23; one++) {
      const at = new Date(now.getTime() - (one % 3) * DAY)
      await earn(db, user_id, { amounts: [BigInt(one + 1)], at, client_id: `app_${one}` })
    }
    type Cell = { name: string; client_id?: string | null; earned_credits: number }
    const read = async (group_by: string) =>
      (await get(`/developers/earnings?group_by=${group_by}`)).json<{ series: Cell[] }>().series
    const [by_day, by_app, by_both] = [
      await read('day'),
      await read('app'),
      await read('day_and_app'),
    ]
    const sum = (cells: Cell[]) => cells.reduce((total, cell) => total + cell.earned_credits, 0)
    assert.deepEqual([by_day, by_app, by_both].map(sum), [276, 276, 276])
    for (const { name, earned_credits } of by_day) {
      assert.equal(sum(by_both.filter((cell) => cell.name === name)), earned_credits)
    }
    const named = new Set(by_both.map(({ client_id }) => client_id))
    assert.equal(named.size, 21)
    assert.equal(sum(by_both.filter(({ client_id }) => client_id === null)), 1 + 2 + 3)
  })

  it('lists every payout page by page, with the reason of a failure', async () => {
    const { get, user_id } = await makeEarner()
    const now = clock.now()
    await earn(db, user_id, { amounts: [10_000_000n], at: new Date(now.getTime() - 8 * DAY) })
    await stand_in.control('/faults', {
      method: 'POST',
      path: '/v1/transfers',
      fault: 'status',
      status: 400,
      when: 'during',
      code: 'insufficient_capabilities_for_transfer',
      message: 'The account cannot receive transfers.',
    })
    await batch(bench, { now })
    for (let day = 1; day < 5; day++) {
      await earn(db, user_id, { amounts: [10_000_000n], at: new Date(now.getTime() - 8 * DAY) })
      await batch(bench, { now: new Date(now.getTime() + day * DAY) })
    }
    const seen: Payout[] = []
    let cursor = ''
    do {
      const page = (await get(`/developers/payouts?limit=2${cursor}`)).json<{
        data: Payout[]
        next_cursor: string | null
      }>()
      seen.push(...page.data)
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`
    } while (cursor !== '')
    assert.deepEqual(
      seen.map(({ status }) => status),
      ['paid', 'paid', 'paid', 'paid', 'failed'],
    )
    const failed = seen.at(-1)
    assert.equal(failed?.['failure_code'], 'insufficient_capabilities_for_transfer')
    assert.equal(failed?.['failure_reason'], 'The account cannot receive transfers.')
    assert.equal(failed?.['reserve_release_at'], null)
    assert.equal((await get('/developers/payouts?cursor=nonsense')).statusCode, 400)
    await assertPaidOnce(bench)
  })

  it('counts a call from the moment it is settled', async () => {
    const { get, user_id } = await makeEarner()
    const [wallet] = await makeWallets(db, 1, 1_000n)
    assert.ok(wallet)
    const ledger = service.parts.call_ledger
    for (let call = 0; call < 3; call++) {
      const charge = chargeOf(await ledger.hold(holdOf(wallet, 100n)), 55n, 50n)
      await ledger.settle({
        ...charge,
        usage: { ...charge.usage, developer_id: user_id, client_id: 'app_two' },
      })
    }
    const earnings = (await get('/developers/earnings?group_by=app')).json<Earnings>()
    assert.equal(earnings.summary['on_hold_credits'], 15)
    assert.equal(earnings.summary['total_earned_credits'], 15)
    assert.deepEqual(earnings.series, [{ name: 'app_two', earned_credits: 15, calls: 3 }])
    await assertPaidOnce(bench)
  })
})

describe('the whole book', () => {
  it('is right when what real calls earned is paid out', async () => {
    const url = await createDatabase()
    const own = openDb(url)
    const developer_id = await makeDeveloper(own, stand_in)
    const [wallet] = await makeWallets(own, 1, 1_000_000_000n)
    assert.ok(wallet)
    const ledger = await makeLedger(url)
    const charge = chargeOf(await ledger.hold(holdOf(wallet, 30_000_000n)), 25_000_000n, 50n)
    await ledger.settle({ ...charge, usage: { ...charge.usage, developer_id } })
    await assertBooks(own)
    const now = new Date(Date.now() + 8 * DAY)
    const { paid_cents } = await batch({ db: own, database_url: url, stand_in }, { now })
    // 24,999,950 credits; a tenth is kept back, and of the rest the cents are paid.
    assert.equal(paid_cents, 2_249n)
    await assertBooks(own)
    await ledger.stop()
    await own.close()
  })
})
