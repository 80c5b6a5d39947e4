// Redirect addresses, for any text at all: what matches is what was registered, but for a loopback's port.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesRedirectUri, requireRedirectUris } from '../../src/oauth/redirect-uri.ts'
import { fc } from '../support/same-cases.ts'

const RUNS = { numRuns: 5_000 }

// Written without the code under test: a second reading of the rule.
const LOOPBACK = /^http:\/\/(localhost|127\.0\.0\.1)(:[1-9][0-9]{0,4})?(?=[/?]|$)/

function differsInPortOnly(left: string, right: string): boolean {
  const [one, two] = [LOOPBACK.exec(left), LOOPBACK.exec(right)]
  if (!one || !two || one[1] !== two[1]) return false
  if ([one, two].some(([, , port]) => Number(port?.slice(1) ?? 80) > 65_535)) return false
  return left.slice(one[0].length) === right.slice(two[0].length)
}

const scheme = fc.constantFrom('https://', 'http://', 'HTTP://', 'https:/', '//', 'javascript:', '')
const host = fc.oneof(
  fc.constantFrom(
    'localhost',
    '127.0.0.1',
    'app.example',
    'LOCALHOST',
    'localhost.evil.example',
    'localhost@evil.example',
    '127.0.0.1.evil.example',
    '[::1]',
    '127.1',
    'localhost%2eevil.example',
    'localhost\\evil.example',
  ),
  fc.domain(),
)
const port = fc.oneof(
  fc.constantFrom(
    '',
    ':',
    ':0',
    ':80',
    ':03000',
    ':65535',
    ':65536',
    ':99999',
    ':+1',
    ':3000@evil',
  ),
  fc.integer({ min: 1, max: 70_000 }).map((number) => `:${number}`),
)
const rest = fc.oneof(
  fc.constantFrom('', '/', '/callback', '/callback/', '/Callback', '/callback?x=1', '/callback#x'),
  fc.constantFrom(
    '/a/../callback',
    '/%63allback',
    '?x',
    '#',
    '/callback\u0000',
    '/call back',
    '@evil',
  ),
  fc.webPath(),
  fc.string({ unit: 'binary', maxLength: 8 }),
)
const address = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(scheme, host, port, rest).map((pieces) => pieces.join('')) },
  { weight: 1, arbitrary: fc.webUrl({ withFragments: true, withQueryParameters: true }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
)

/** Two addresses that share all but the port, or the end, or the host. */
const near = fc
  .tuple(fc.constantFrom('https://', 'http://'), host, port, rest, host, port, rest, fc.nat(5))
  .map(([a, b, c, d, other_host, other_port, other_rest, change]): [string, string] => [
    a + b + c + d,
    change === 0 ? a + other_host + c + d : a + b + other_port + (change === 1 ? other_rest : d),
  ])
const pair = fc.oneof(fc.tuple(address, address), { weight: 9, arbitrary: near })

function isRegistrable(uri: string): boolean {
  try {
    return requireRedirectUris([uri])[0] === uri
  } catch {
    return false
  }
}

test('O1: what matches is equal, or a loopback address that differs in its port only', () => {
  let by_port = 0
  fc.assert(
    fc.property(pair, ([registered, given]) => {
      if (!isRegistrable(registered)) return
      const expected = registered === given || differsInPortOnly(registered, given)
      const matches = matchesRedirectUri([registered], given)
      if (matches) assert.ok(expected, JSON.stringify([registered, given]))
      if (registered !== given && matches) by_port++
    }),
    RUNS,
  )
  assert.ok(
    by_port > 10,
    `only ${by_port} pairs differed in the port alone: the test sees too little`,
  )
})

test('O2: every port of this machine matches, and what matches leads to this machine', () => {
  const ports = fc.integer({ min: 1, max: 65_535 })
  const plain = fc.constantFrom('', '/', '/callback', '/callback?tenant=7', '?x=1')
  const loopback = fc.constantFrom('localhost', '127.0.0.1')
  fc.assert(
    fc.property(loopback, ports, ports, plain, (name, one, two, tail) => {
      const registered = `http://${name}:${one}${tail}`
      const given = `http://${name}:${two}${tail}`
      assert.ok(matchesRedirectUri(requireRedirectUris([registered]), given))
      assert.equal(new URL(given).hostname, name)
    }),
    RUNS,
  )
})

test('O3: what can be registered is https, or plain http to this machine, as any parser reads it', () => {
  let registrable = 0
  fc.assert(
    fc.property(address, (uri) => {
      if (!isRegistrable(uri)) return
      registrable++
      const { protocol, hostname, username, password, hash } = new URL(uri)
      assert.equal(username + password + hash, '')
      assert.ok(!uri.includes('#') && !uri.includes('*') && !uri.includes('\\'), uri)
      if (protocol !== 'https:') {
        assert.equal(protocol, 'http:')
        assert.match(hostname, /^(localhost|127\.0\.0\.1)$/)
      }
    }),
    RUNS,
  )
  assert.ok(registrable > 100, `only ${registrable} could be registered: the test sees too little`)
})
