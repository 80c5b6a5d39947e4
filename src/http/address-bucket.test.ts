import assert from 'node:assert/strict'
import { isIPv6 } from 'node:net'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { addressBucket } from './rate-limit.ts'

describe('the bucket of an address', () => {
  const octet = fc.nat({ max: 255 })
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((parts) => parts.join('.'))
  const group = fc.oneof(fc.constant(0), fc.nat({ max: 0xffff }))
  const network = fc
    .tuple(group, group, group, group)
    // ::/64 holds IPv4 in disguise, which has a test of its own.
    .filter((groups) => groups.some((one) => one !== 0))
  const host = fc.tuple(group, group, group, group)

  test('is an IPv4 address itself', () => {
    fc.assert(fc.property(ipv4, (address) => assert.equal(addressBucket(address), address)))
  })

  test('is the IPv4 address for one that is mapped into IPv6, however it is written', () => {
    fc.assert(
      fc.property(ipv4, fc.nat(), (address, seed) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number)
        const groups = [0, 0, 0, 0, 0, 0xffff, a * 256 + b, c * 256 + d]
        assert.equal(addressBucket(`::ffff:${address}`), address)
        assert.equal(addressBucket(`::FFFF:${address}`), address)
        assert.equal(addressBucket(`0:0:0:0:0:ffff:${address}`), address)
        assert.equal(addressBucket(write(groups, seed)), address)
      }),
    )
  })

  test('is one for a whole /64 of IPv6, however its addresses are written', () => {
    fc.assert(
      fc.property(
        network,
        fc.tuple(host, fc.nat()),
        fc.tuple(host, fc.nat()),
        (net, one, other) => {
          const left = write([...net, ...one[0]], one[1])
          const right = write([...net, ...other[0]], other[1])
          assert.equal(addressBucket(left), addressBucket(right), `${left} ${right}`)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('is another for every other /64', () => {
    fc.assert(
      fc.property(network, network, host, fc.nat(), (one, other, rest, seed) => {
        if (one.join() === other.join()) return
        const left = write([...one, ...rest], seed)
        const right = write([...other, ...rest], seed)
        assert.notEqual(addressBucket(left), addressBucket(right), `${left} ${right}`)
      }),
      { numRuns: 500 },
    )
  })

  test('does not see the interface of a link-local address', () => {
    assert.equal(addressBucket('fe80::1%eth0'), addressBucket('fe80::2%eth1'))
    assert.equal(addressBucket('fe80::1%eth0'), addressBucket('fe80::1'))
  })

  test('does not see a port that a proxy put behind the address', () => {
    assert.equal(addressBucket('203.0.113.7:50123'), '203.0.113.7')
    assert.equal(addressBucket('[2001:db8::1]:50123'), addressBucket('2001:db8::2'))
  })

  test('is one and the same for everything that is no address', () => {
    const bucket = addressBucket('unknown')
    for (const text of ['', '_hidden', 'a:b', '1.2.3', '1:2:3', 'proxy.example', '::1::2', '%']) {
      assert.equal(addressBucket(text), bucket, JSON.stringify(text))
    }
  })
})

/** One of the ways RFC 4291 lets eight groups be written, chosen by the seed. */
function write(groups: number[], seed: number): string {
  const upper = seed % 2 === 1
  const padded = seed % 3 === 1
  const dotted = seed % 5 === 1
  const texts = groups.map((one) => one.toString(16).padStart(padded ? 4 : 1, '0'))
  if (dotted) {
    const [high = 0, low = 0] = groups.slice(6)
    texts.splice(6, 2, [high >> 8, high & 255, low >> 8, low & 255].join('.'))
  }
  const zeros = texts.map((text) => /^0+$/.test(text))
  const start = zeros.indexOf(true)
  let text = texts.join(':')
  if (seed % 7 !== 1 && start >= 0) {
    let end = start
    while (zeros[end]) end++
    text = `${texts.slice(0, start).join(':')}::${texts.slice(end).join(':')}`
  }
  text = upper ? text.toUpperCase() : text
  assert.ok(isIPv6(text), text)
  return text
}
