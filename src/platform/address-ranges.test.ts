import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { AddressRanges, normaliseRange } from './address-ranges.ts'

test('a range is kept in one spelling, a single address as the range that holds only it', () => {
  for (const [given, kept] of [
    ['203.0.113.7', '203.0.113.7/32'],
    ['203.0.113.7/24', '203.0.113.0/24'],
    ['203.0.113.7/024', '203.0.113.0/24'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::1', '2001:db8::1/128'],
    ['2001:db8:1:2:3::/48', '2001:db8:1::/48'],
    ['::/0', '::/0'],
  ] as const) {
    assert.equal(normaliseRange(given), kept)
  }
})

test('what is no range is refused', () => {
  const wrong = [
    '',
    'example.com',
    '10.0.0/8',
    '010.0.0.1',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/8 ',
    '2001:db8::/129',
    'fe80::1%eth0/64',
    '::ffff:10.0.0.1',
    '::ffff:10.0.0.0/104',
    '10.0.0.0-10.0.0.9',
    '*',
  ]
  for (const text of wrong) assert.equal(normaliseRange(text), undefined, text)
})

test('an address is found in its range in every spelling, and only there', () => {
  const ranges = new AddressRanges(['203.0.113.0/24', '2001:db8:1::/48'])
  const inside = [
    '203.0.113.9',
    '::ffff:203.0.113.9',
    '203.0.113.9:4711',
    '2001:db8:1:ffff::1',
    '[2001:db8:1::2]:443',
  ]
  const outside = ['203.0.114.9', '::ffff:203.0.114.9', '2001:db8:2::1', 'unknown', '']
  for (const ip of inside) assert.equal(ranges.contains(ip), true, ip)
  for (const ip of outside) assert.equal(ranges.contains(ip), false, ip)
})

test('any text is read or refused, and what was read is read again as itself and holds its network', () => {
  const text = fc.oneof(
    fc.string(),
    fc.tuple(fc.ipV4(), fc.nat(40)).map(([ip, bits]) => `${ip}/${bits}`),
    fc.tuple(fc.ipV6(), fc.nat(140)).map(([ip, bits]) => `${ip}/${bits}`),
  )
  fc.assert(
    fc.property(text, (given) => {
      const kept = normaliseRange(given)
      if (kept === undefined) return
      assert.equal(normaliseRange(kept), kept)
      assert.ok(new AddressRanges([kept]).contains(kept.split('/')[0] ?? ''))
    }),
    { numRuns: 2_000 },
  )
})
