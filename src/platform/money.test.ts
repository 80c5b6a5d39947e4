import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { CREDITS_MAX, CREDITS_PER_DOLLAR, divideRoundUp, toJson } from './money.ts'

const amounts = fc.bigInt({ min: 0n, max: CREDITS_MAX * CREDITS_MAX })

test('a division rounds up to the next whole unit, and never further', () => {
  fc.assert(
    fc.property(amounts, fc.bigInt({ min: 1n, max: CREDITS_MAX }), (amount, divisor) => {
      const result = divideRoundUp(amount, divisor)
      assert.ok(result * divisor >= amount, 'too little')
      assert.ok((result - 1n) * divisor < amount, 'too much')
    }),
  )
})

test('one unit of a million costs one credit, and nothing costs nothing', () => {
  assert.equal(divideRoundUp(1n, 1_000_000n), 1n)
  assert.equal(divideRoundUp(1_000_000n, 1_000_000n), 1n)
  assert.equal(divideRoundUp(1_000_001n, 1_000_000n), 2n)
  assert.equal(divideRoundUp(0n, 1_000_000n), 0n)
})

test('a dollar is a million credits, and the largest balance is exact for every JSON reader', () => {
  assert.equal(CREDITS_PER_DOLLAR, 1_000_000n)
  assert.equal(CREDITS_MAX, BigInt(Number.MAX_SAFE_INTEGER))
})

test('credits are written as plain JSON numbers, to the last digit, wherever they stand', () => {
  const credits = fc.bigInt({ min: -CREDITS_MAX, max: CREDITS_MAX })
  fc.assert(
    fc.property(credits, (amount) => {
      const text = toJson({ balance: amount, list: [amount], name: 'x' })
      assert.equal(text, `{"balance":${amount},"list":[${amount}],"name":"x"}`)
    }),
  )
})
