import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import {
  DAY_MS,
  eligibleUntil,
  lastBatchAt,
  MINIMUM_CREDITS,
  nextBatchAt,
  reachesMinimum,
  releaseAt,
  splitEligible,
  splitGross,
} from './rules.ts'

const at = (text: string) => new Date(text)

describe('the arithmetic of payouts', () => {
  it('withholds a tenth rounded down and transfers whole cents, for each gross from 10,000,000 to 10,010,009', () => {
    for (let gross = 10_000_000; gross <= 10_010_009; gross++) {
      const split = splitGross({ earnings: BigInt(gross), released_reserve: 0n })
      const reserve = Math.floor(gross / 10)
      const transfer = gross - reserve
      const cents = (transfer - (transfer % 10_000)) / 10_000
      assert.deepEqual(
        [split.gross_credits, split.reserve_credits, split.transfer_credits, split.amount_cents],
        [gross, reserve, transfer, cents].map(BigInt),
      )
      assert.equal(split.rounding_credits, BigInt(transfer % 10_000))
    }
  })

  it('loses and makes no credit, and drops less than a cent, whatever the sums', () => {
    const credits = fc.bigInt(0n, 9_007_199_254_740_991n)
    fc.assert(
      fc.property(credits, credits, (earnings, released_reserve) => {
        const split = splitGross({ earnings, released_reserve })
        const { gross_credits, reserve_credits, transfer_credits, amount_cents } = split
        assert.equal(gross_credits, earnings + released_reserve)
        assert.equal(reserve_credits + transfer_credits, gross_credits)
        assert.ok(
          reserve_credits * 10n <= gross_credits && gross_credits < reserve_credits * 10n + 10n,
        )
        assert.equal(amount_cents * 10_000n + split.rounding_credits, transfer_credits)
        assert.ok(split.rounding_credits >= 0n && split.rounding_credits < 10_000n)
      }),
    )
  })

  it('has nothing to transfer up to 11,110 credits, and a cent from there on', () => {
    assert.equal(splitGross({ earnings: 11_110n, released_reserve: 0n }).amount_cents, 0n)
    assert.equal(splitGross({ earnings: 11_111n, released_reserve: 0n }).amount_cents, 1n)
    assert.equal(splitGross({ earnings: 11_000n, released_reserve: 111n }).amount_cents, 1n)
  })

  it('shows what is eligible on one side of ten dollars', () => {
    assert.equal(MINIMUM_CREDITS, 10_000_000n)
    assert.deepEqual(splitEligible(9_999_999n), { pending_payout: 0n, accumulating: 9_999_999n })
    assert.deepEqual(splitEligible(10_000_000n), { pending_payout: 10_000_000n, accumulating: 0n })
    assert.equal(reachesMinimum(9_999_999n), false)
    assert.equal(reachesMinimum(10_000_000n), true)
    assert.equal(reachesMinimum(4n, 5n), false)
    assert.equal(reachesMinimum(5n, 5n), true)
  })

  it('holds earnings for 7 days and reserves for 90', () => {
    assert.equal(DAY_MS, 86_400_000)
    assert.deepEqual(eligibleUntil(at('2026-11-20T10:00:00.001Z')), at('2026-11-13T10:00:00.001Z'))
    assert.deepEqual(releaseAt(at('2026-11-20T10:00:00.001Z')), at('2027-02-18T10:00:00.001Z'))
  })

  it('has one batch a day, at six in the morning UTC', () => {
    assert.deepEqual(lastBatchAt(at('2026-11-20T06:00:00.000Z')), at('2026-11-20T06:00:00Z'))
    assert.deepEqual(lastBatchAt(at('2026-11-20T05:59:59.999Z')), at('2026-11-19T06:00:00Z'))
    assert.deepEqual(nextBatchAt(at('2026-11-20T05:59:59.999Z')), at('2026-11-20T06:00:00Z'))
    assert.deepEqual(nextBatchAt(at('2026-12-31T06:00:00.000Z')), at('2027-01-01T06:00:00Z'))
  })
})
