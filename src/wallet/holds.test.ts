import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { createDatabase, openDb, sql } from '../../test/support/database.ts'
import {
  assertBooks,
  chargeOf,
  expireHolds,
  holdOf,
  makeLedger,
  makeWallets,
  silent,
} from '../../test/wallet/support.ts'
import { createMetrics } from '../platform/metrics.ts'
import { CREDITS_MAX } from '../platform/money.ts'
import { mintWalletId } from './bucket.ts'
import { grantCredits, readBalance } from './postings.ts'
import { sweepHolds } from './sweeper.ts'

const url = await createDatabase()
const db = openDb(url)
const ledger = await makeLedger(url, { hold_wait_ms: 300 })
after(async () => {
  await ledger.stop()
  await db.close()
})

async function wallet(credits: bigint): Promise<string> {
  const [wallet_id] = await makeWallets(db, 1, credits)
  assert.ok(wallet_id)
  return wallet_id
}

describe('a hold', () => {
  it('takes as much as fits between its minimum and maximum', async () => {
    const wallet_id = await wallet(100n)
    const range = { wallet_id, min_credits: 10n, max_credits: 70n }
    const first = await ledger.hold({ ...range, id: mintWalletId(wallet_id, new Date()) })
    const second = await ledger.hold({ ...range, id: mintWalletId(wallet_id, new Date()) })
    assert.equal(first.amount, 70n)
    assert.equal(second.amount, 30n)
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 100n,
      held: 100n,
      available: 0n,
      promotional: 100n,
    })
  })

  it('is refused at once when the wallet does not have the minimum', async () => {
    const wallet_id = await wallet(9n)
    await assert.rejects(ledger.hold(holdOf(wallet_id, 10n)), { code: 'insufficient_credits' })
  })

  it('waits for other holds to end before it is refused', async () => {
    const wallet_id = await wallet(100n)
    const first = await ledger.hold(holdOf(wallet_id, 80n))
    const second = ledger.hold(holdOf(wallet_id, 60n))
    await ledger.settle(chargeOf(first, 20n))
    assert.equal((await second).amount, 60n)
    const begun = performance.now()
    await assert.rejects(ledger.hold(holdOf(wallet_id, 60n)), { code: 'insufficient_credits' })
    assert.ok(performance.now() - begun >= 300)
  })

  it('is not seen a second time when it is asked for again with the same id', async () => {
    const wallet_id = await wallet(100n)
    const request = holdOf(wallet_id, 60n)
    const first = await ledger.hold(request)
    assert.deepEqual(await ledger.hold(request), first)
    const other = holdOf(wallet_id, 10n)
    const [left, right] = await Promise.all([ledger.hold(other), ledger.hold(other)])
    assert.deepEqual(left, right)
    assert.equal((await readBalance(db, wallet_id))?.held, 70n)
  })

  it('of an amount that is none never reaches the database', async () => {
    const wallet_id = await wallet(CREDITS_MAX)
    for (const bad of [0n, -1n, CREDITS_MAX + 1n, 1.5, '5', null, undefined, 5]) {
      const request = { ...holdOf(wallet_id, 1n), min_credits: bad, max_credits: bad }
      await assert.rejects(ledger.hold(request as never), { code: 'pricing_error' })
      const hold = { id: request.id, wallet_id, amount: 1n }
      if (bad !== 0n) {
        await assert.rejects(ledger.settle(chargeOf(hold, bad as never)), { code: 'pricing_error' })
      }
      await assert.rejects(
        db.transaction((tx) =>
          grantCredits(tx, { id: request.id, account_id: wallet_id, amount: bad as never }),
        ),
        { code: 'bad_request' },
      )
    }
    const whole = await ledger.hold(holdOf(wallet_id, CREDITS_MAX))
    assert.equal(whole.amount, 9_007_199_254_740_991n)
    const settled = await ledger.settle(chargeOf(whole, CREDITS_MAX))
    assert.equal(settled.balance_before, 9_007_199_254_740_991n)
    assert.equal(settled.balance_after, 0n)
  })
})

describe('a settlement', () => {
  it('charges what was used and gives the rest back', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(holdOf(wallet_id, 500n))
    const settled = await ledger.settle(chargeOf(hold, 110n, 100n))
    assert.deepEqual(settled, {
      id: hold.id,
      state: 'settled',
      credits_used: 110n,
      markup_credits: 10n,
      shortfall_credits: 0n,
      balance_before: 1_000n,
      balance_after: 890n,
    })
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 890n,
      held: 0n,
      available: 890n,
      promotional: 890n,
    })
    const lines = await sql(
      url,
      'select account, amount::text from journal where tx = $1 order by line',
      [hold.id],
    )
    assert.deepEqual(lines, [
      { account: 'wallet', amount: '-110' },
      { account: 'revenue', amount: '100' },
      { account: 'dev_payable', amount: '10' },
    ])
  })

  it('answers the same numbers when it is asked again, and charges once', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(holdOf(wallet_id, 500n))
    const other = await ledger.hold(holdOf(wallet_id, 100n))
    const first = await ledger.settle(chargeOf(hold, 110n))
    await ledger.settle(chargeOf(other, 7n))
    assert.deepEqual(await ledger.settle(chargeOf(hold, 110n)), first)
    const both = await Promise.all([
      ledger.settle(chargeOf(hold, 110n)),
      ledger.settle(chargeOf(hold, 110n)),
    ])
    assert.deepEqual(both, [first, first])
    assert.equal((await readBalance(db, wallet_id))?.balance, 883n)
  })

  it('asked twice in one batch charges once', async () => {
    const wallet_id = await wallet(1_000n)
    const hold = await ledger.hold(holdOf(wallet_id, 500n))
    const [first, second] = await Promise.all([
      ledger.settle(chargeOf(hold, 110n)),
      ledger.settle(chargeOf(hold, 110n)),
    ])
    assert.deepEqual(first, second)
    assert.equal((await readBalance(db, wallet_id))?.balance, 890n)
  })

  it('without its hold charges what is free, covers the cost first and writes off the rest', async () => {
    const wallet_id = await wallet(100n)
    const hold = await ledger.hold(holdOf(wallet_id, 50n))
    const other = await ledger.hold(holdOf(wallet_id, 40n))
    assert.equal(await ledger.release(hold), true)
    assert.equal(await ledger.release(hold), false)
    const third = await ledger.hold(holdOf(wallet_id, 30n))
    const late = await ledger.settle(chargeOf(hold, 50n, 45n))
    assert.equal(late.state, 'late')
    assert.equal(late.credits_used, 30n)
    assert.equal(late.shortfall_credits, 20n)
    assert.equal(late.markup_credits, 0n)
    assert.equal(late.balance_after, 70n)
    assert.deepEqual(await ledger.settle(chargeOf(hold, 50n, 45n)), late)
    const lines = await sql(
      url,
      'select account, amount::text from journal where tx = $1 order by line',
      [hold.id],
    )
    assert.deepEqual(lines, [
      { account: 'wallet', amount: '-30' },
      { account: 'revenue', amount: '45' },
      { account: 'write_off', amount: '-15' },
    ])
    await ledger.settle(chargeOf(other, 40n))
    await ledger.settle(chargeOf(third, 30n))
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 0n,
      held: 0n,
      available: 0n,
      promotional: 0n,
    })
  })

  it('of nothing gives the hold back and leaves a usage row without a posting', async () => {
    const wallet_id = await wallet(100n)
    const hold = await ledger.hold(holdOf(wallet_id, 50n))
    const settled = await ledger.settle(chargeOf(hold, 0n))
    assert.equal(settled.balance_after, 100n)
    assert.equal((await sql(url, 'select 1 from journal where tx = $1', [hold.id])).length, 0)
    assert.equal((await sql(url, 'select 1 from usage_event where id = $1', [hold.id])).length, 1)
  })

  it('writes usage, earning and outbox rows with it', async () => {
    const wallet_id = await wallet(100n)
    const hold = await ledger.hold(holdOf(wallet_id, 50n))
    await ledger.settle(chargeOf(hold, 33n, 30n))
    const [row] = await sql(
      url,
      `select u.credits_used::text, u.output_tokens::text, u.model, e.amount::text, o.payload, o.kind
       from usage_event u
       join developer_earning e using (bucket, id)
       join outbox o on o.source_id = u.id
       where u.id = $1`,
      [hold.id],
    )
    assert.deepEqual(row, {
      credits_used: '33',
      output_tokens: '20',
      model: 'openai/gpt-test',
      amount: '3',
      payload: { model: 'openai/gpt-test' },
      kind: 'usage.completed',
    })
  })
})

describe('a poison item', () => {
  it('among 128 fails alone', async () => {
    const wallet_id = await wallet(100_000n)
    const holds = await Promise.all(
      Array.from({ length: 128 }, () => ledger.hold(holdOf(wallet_id, 100n))),
    )
    const results = await Promise.allSettled(
      holds.map((hold, index) => {
        const charge = chargeOf(hold, 10n)
        // A character that no text column can hold: only the database notices.
        if (index === 77) charge.usage.model = 'bad\u0000model'
        return ledger.settle(charge)
      }),
    )
    const failed = results.flatMap((result, index) => (result.status === 'rejected' ? [index] : []))
    assert.deepEqual(failed, [77])
    assert.deepEqual(await readBalance(db, wallet_id), {
      balance: 98_730n,
      held: 0n,
      available: 98_730n,
      promotional: 98_730n,
    })
  })
})

describe('the sweeper', () => {
  const metrics = createMetrics()

  it('gives back holds past their time, and those of a node without a lease', async () => {
    const wallet_id = await wallet(100n)
    const sweep = () => sweepHolds({ db, log: silent, metrics })
    const live = await makeLedger(url)
    await live.hold(holdOf(wallet_id, 10n))
    assert.equal(await sweep(), 0)
    const dead = await makeLedger(url)
    await dead.hold(holdOf(wallet_id, 20n))
    await dead.stop()
    assert.equal(await sweep(), 1)
    assert.equal((await readBalance(db, wallet_id))?.held, 10n)
    await expireHolds(url)
    assert.ok((await sweep()) >= 1)
    assert.equal((await readBalance(db, wallet_id))?.held, 0n)
    await live.stop()
  })
})

describe('after all of this', () => {
  it('the books agree', () => assertBooks(db))
})
