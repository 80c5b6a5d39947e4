import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import {
  CREDITS_MAX,
  CREDITS_PER_DOLLAR,
  divideRoundUp,
  formatDollars,
  parseDollars,
  toJson,
} from './money.ts'

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

test('dollars for a reader are exact, and have cents', () => {
  const written: [bigint, string][] = [
    [0n, '$0.00'],
    [1n, '$0.000001'],
    [5_000_000n, '$5.00'],
    [12_500_000n, '$12.50'],
    [1_234_567_890n, '$1,234.56789'],
    [CREDITS_MAX, '$9,007,199,254.740991'],
  ]
  for (const [credits, text] of written) assert.equal(formatDollars(credits), text)
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

test('an amount is read as a person means it, and not at all where it can be meant in two ways', () => {
  const read: [string, bigint][] = [
    ['10', 10_000_000n],
    [' $2.50 ', 2_500_000n],
    ['2,5', 2_500_000n],
    ['0.000001', 1n],
    ['1,000.00', 1_000_000_000n],
    ['$12,345.6', 12_345_600_000n],
  ]
  for (const [text, credits] of read) assert.equal(parseDollars(text), credits, text)
  for (const text of [
    '',
    '1,000',
    '2,500',
    '1.000,00',
    '-1',
    '1e3',
    'ten',
    '1 000',
    '$',
    '9'.repeat(10),
  ]) {
    assert.equal(parseDollars(text), undefined, text)
  }
})

test('what is written out is read back the same', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 999_999_999n * CREDITS_PER_DOLLAR }), (credits) => {
      assert.equal(parseDollars(formatDollars(credits)), credits)
    }),
  )
})
