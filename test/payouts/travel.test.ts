import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { foldEarnings } from '../../src/payouts/earnings.ts'
import { reversePayout } from '../../src/payouts/payouts.ts'
import { createDatabase, openDb, sql } from '../support/database.ts'
import { fc } from '../support/same-cases.ts'
import { LONG } from '../wallet/support.ts'
import {
  assertPaidOnce,
  batch,
  DAY,
  earn,
  makeDeveloper,
  makeDevelopers,
  payoutsOf,
  startStandIn,
  summaryOf,
} from './support.ts'

const DEVELOPERS = LONG ? 50 : 4
const HISTORIES = LONG ? 1_000 : 12
const seed = Number(process.env['SVC_SEED'] ?? 1)
const start = new Date('2026-11-20T00:00:00Z')

async function open(name: string) {
  const database_url = await createDatabase()
  const db = openDb(database_url)
  const stand_in = await startStandIn(name)
  after(async () => {
    await db.close()
    await stand_in.close()
  })
  // Beyond the months that a start makes.
  await sql(database_url, 'select make_ledger_partitions($1, 4)', [start])
  return { db, database_url, stand_in }
}

describe('travel', () => {
  it(`closes on each of 101 days, with ${DEVELOPERS} developers who earn at random`, async () => {
    const bench = await open('travel')
    const { db } = bench
    const developers = await makeDevelopers(db, bench.stand_in, DEVELOPERS)
    await bench.stand_in.control('/balance', { amount: 99_999_999_999 })
    let random = seed
    const draw = (below: number) => {
      random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0
      // The low bits repeat soon.
      return Math.floor((random / 2 ** 32) * below)
    }
    let released_on: number | undefined
    let rolled_on: number | undefined
    for (let day = 0; day <= 100; day++) {
      const now = new Date(start.getTime() + day * DAY)
      for (const developer of developers) {
        const amounts = Array.from({ length: draw(4) }, () => BigInt(1 + draw(9_000_000)))
        const at = new Date(now.getTime() - draw(DAY))
        if (amounts.length > 0) await earn(db, developer, { amounts, at })
      }
      const result = await batch(bench, { now })
      assert.equal(result.status, 'done')
      if (day % 10 === 0) await foldEarnings(db, new AbortController().signal)
      for (const developer of developers) await summaryOf(db, developer, now)
      const [reserves] = await sql<{ released: number; rolled: number; first: Date | null }>(
        bench.database_url,
        `select count(*) filter (where release_at <= $1)::integer as released, count(rolled_into)::integer as rolled,
           min(release_at) as first
         from payout_reserve`,
        [now],
      )
      if (reserves?.released && released_on === undefined) {
        released_on = day
        assert.equal(reserves.first?.getTime(), now.getTime())
      }
      if (reserves?.rolled) rolled_on ??= day
    }
    const [first] = await sql<{ created_at: Date }>(
      bench.database_url,
      'select min(created_at) as created_at from payout',
    )
    const first_day = ((first?.created_at.getTime() ?? 0) - start.getTime()) / DAY
    assert.equal(released_on, first_day + 90)
    assert.ok(rolled_on !== undefined && rolled_on >= first_day + 90)
    await assertPaidOnce(bench)
  })

  it(`closes after every step of ${HISTORIES} random histories`, async () => {
    const bench = await open('histories')
    const { db, database_url, stand_in } = bench
    await stand_in.control('/balance', { amount: 99_999_999_999 })
    let time = start.getTime()
    const step = fc.oneof(
      fc.record({
        kind: fc.constant('earn' as const),
        amounts: fc.array(fc.bigInt(1n, 12_000_000n), { minLength: 1, maxLength: 5 }),
      }),
      fc.record({ kind: fc.constant('travel' as const), days: fc.nat(40) }),
      fc.record({
        kind: fc.constant('batch' as const),
        fault: fc.constantFrom(
          undefined,
          { fault: 'status', status: 400, when: 'during' },
          { fault: 'status', status: 500, when: 'before' },
          { fault: 'status', status: 500, when: 'after' },
          { fault: 'cut', when: 'after' },
        ),
      }),
      fc.record({ kind: fc.constant('reverse' as const) }),
      fc.record({ kind: fc.constant('fold' as const) }),
    )
    const history = fc.array(step, { minLength: 4, maxLength: 14 })
    await fc.assert(
      fc.asyncProperty(history, async (steps) => {
        const developer = await makeDeveloper(db, stand_in)
        const look = async () => await summaryOf(db, developer, new Date(time))
        for (const one of steps) {
          const now = new Date(time)
          if (one.kind === 'earn') await earn(db, developer, { amounts: one.amounts, at: now })
          else if (one.kind === 'travel') time += one.days * DAY
          else if (one.kind === 'fold') await foldEarnings(db, new AbortController().signal)
          else if (one.kind === 'batch') {
            if (one.fault)
              await stand_in.control('/faults', {
                method: 'POST',
                path: '/v1/transfers',
                ...one.fault,
              })
            await batch(bench, { now })
            await fetch(`${stand_in.url}/_sandbox/stripe/faults`, { method: 'DELETE' })
          } else {
            const last = (await payoutsOf(db, developer)).findLast(
              ({ status }) => status === 'paid',
            )
            if (!last?.stripe_transfer_id) continue
            const reversed = await reversePayout(db, {
              transfer_id: last.stripe_transfer_id,
              reversed_cents: last.amount_cents,
              now,
            })
            if (reversed === 'reversed')
              await stand_in.stripe.transfers.createReversal(last.stripe_transfer_id)
            await sql(
              database_url,
              'update payout_account set payouts_blocked = false where developer_id = $1',
              [developer],
            )
          }
          await look()
        }
        // What is left unknown is known in the end.
        await batch(bench, { now: new Date(time) })
        assert.equal((await look()).in_flight_credits, 0n)
        await sql(
          database_url,
          'update payout_account set payouts_blocked = true where developer_id = $1',
          [developer],
        )
      }),
      { numRuns: HISTORIES, seed, endOnFailure: true },
    )
    await assertPaidOnce(bench)
  })
})
