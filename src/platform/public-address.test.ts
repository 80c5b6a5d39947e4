import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { isPublicAddress, judgeUrl } from './public-address.ts'

const LIVE = { allow_loopback: false }
const SANDBOX = { allow_loopback: true }

const GOOD = [
  'https://hooks.example.com',
  'https://hooks.example.com/path?query=1&b=%20',
  'HTTPS://Hooks.Example.COM:8443/',
  'https://hooks.example.com:443',
  'https://bücher.example/',
  'https://xn--bcher-kva.example/',
  'https://a_b.example.com/',
  'https://8.8.8.8/',
  'https://[2606:4700:4700::1111]/',
  'https://[2606:4700:4700::1111]:8443/',
  `https://example.com/${'a'.repeat(2048 - 'https://example.com/'.length)}`,
]

describe('an address is accepted', () => {
  for (const text of GOOD) {
    test(`${text.slice(0, 60)}, in every mode`, () => {
      for (const rules of [LIVE, SANDBOX]) assert.ok('url' in judgeUrl(text, rules))
    })
  }

  test('on this machine outside live mode only, with http or https, at any port that is not odd', () => {
    for (const text of [
      'http://localhost:3000/hook',
      'http://localhost',
      'https://localhost:8443/',
      'http://127.0.0.1:3000/',
      'https://127.0.0.1/',
    ]) {
      assert.ok('url' in judgeUrl(text, SANDBOX), text)
      assertRefused(text, LIVE, /is not a public address\.$/)
    }
  })
})

describe('an address is refused by a sentence that says why', () => {
  const wrong: [text: string, why: RegExp][] = [
    ['', /must begin with https/],
    ['hooks.example.com', /must begin with https/],
    ['//hooks.example.com', /must begin with https/],
    ['https:hooks.example.com', /must begin with https/],
    ['https:///hooks.example.com', /must begin with https/],
    ['https://', /must begin with https/],
    ['https://:443/', /must begin with https/],
    ['https://example.com:99999/', /must begin with https/],
    ['https://example.com:https/', /must begin with https/],
    ['http://hooks.example.com/', /must begin with https/],
    ['http://8.8.8.8/', /must begin with https/],
    ['ws://hooks.example.com/', /must begin with https/],
    [' https://hooks.example.com/', /a space, a backslash or an invisible/],
    ['https://hooks.example.com/a b', /a space, a backslash or an invisible/],
    ['https://hooks.exam\tple.com/', /a space, a backslash or an invisible/],
    ['https://hooks.exam\u200bple.com/', /a space, a backslash or an invisible/],
    ['https://hooks.exam\u00adple.com/', /a space, a backslash or an invisible/],
    ['https://hooks.example.com\\@10.0.0.1/', /a space, a backslash or an invisible/],
    ['https://user@hooks.example.com/', /user name or password/],
    ['https://:secret@hooks.example.com/', /user name or password/],
    ['https://@hooks.example.com/', /user name or password/],
    ['https://hooks.example.com/#', /fragment/],
    ['https://hooks.example.com/#part', /fragment/],
    ['https://hooks.example.com:0/', /Port 0 is not allowed/],
    ['https://hooks.example.com:25/', /Port 25 is not allowed/],
    ['http://localhost:6667/', /Port 6667 is not allowed/],
    [`https://example.com/${'a'.repeat(2048)}`, /more than 2048 characters/],
    ['https://hooks/', /not the full name of a public host/],
    ['https://hooks.example.com./', /not the full name of a public host/],
    ['https://hooks..example.com/', /not the full name of a public host/],
    [`https://${'a'.repeat(64)}.example.com/`, /not the full name of a public host/],
    [`https://${'a.'.repeat(127)}com/`, /not the full name of a public host/],
  ]
  for (const [text, why] of wrong) {
    test(JSON.stringify(text.slice(0, 60)), () => {
      for (const rules of [LIVE, SANDBOX]) assertRefused(text, rules, why)
    })
  }

  test('if its name is for use inside a network, in every mode', () => {
    for (const name of [
      'localhost.',
      'foo.localhost',
      'foo.localhost.',
      'localhost.localdomain',
      'metadata.google.internal',
      'metadata.google.internal.',
      'printer.local',
      'router.home.arpa',
      'METADATA.google.INTERNAL',
    ]) {
      for (const rules of [LIVE, SANDBOX]) {
        assertRefused(`https://${name}/`, rules, /for use inside a network/)
        assertRefused(`http://${name}/`, rules, /must begin with https/)
      }
    }
  })

  test('if it is a public address in disguise', () => {
    for (const host of [
      '134744072',
      '0x08080808',
      '010.8.8.8',
      '8.8.8.8.',
      '⑧.8.8.8',
      '8。8。8。8',
    ]) {
      assertRefused(`https://${host}/`, LIVE, /^Write the host as 8\.8\.8\.8\.$/)
    }
    const long = 'https://[2606:4700:4700:0:0:0:0:1111]/'
    assertRefused(long, LIVE, /^Write the host as \[2606:4700:4700::1111\]\.$/)
  })

  test('if it says localhost in another spelling, in every mode', () => {
    for (const host of [
      'LOCALHOST',
      'Localhost',
      '%6cocalhost',
      'ｌｏｃａｌｈｏｓｔ',
      '127.0.0.1.',
    ]) {
      for (const rules of [LIVE, SANDBOX]) {
        assertRefused(`http://${host}:3000/`, rules, /is not a public address/)
      }
    }
  })
})

test('the odd ports are zero and the bad ports of the Fetch Standard', () => {
  const path = '../../node_modules/undici/lib/web/fetch/constants.js'
  const { badPorts }: { badPorts: string[] } = createRequire(import.meta.url)(path)
  const odd = Array.from({ length: 65_536 }, (_, port) => String(port)).filter(
    (port) => 'refused' in judgeUrl(`https://hooks.example.com:${port}/`, LIVE),
  )
  assert.deepEqual(odd, ['0', ...badPorts])
})

test('public addresses are told from all others', () => {
  const inside =
    `0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 100.100.100.200 127.0.0.1 127.255.255.254
    161.26.0.1 166.8.0.1 166.11.255.255 168.63.129.16 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1
    192.88.99.1 192.168.1.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1
    255.255.255.255 :: ::1 ::7f00:1 ::127.0.0.1 ::808:808 ::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1
    ::ffff:168.63.129.16 ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1 100::1 1::1 2001::1 2001:2::1 2001:db8::1
    2002:7f00:1:: 2002:808:808:: 3fff::1 4000::1 5f00::1 8000::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0
    fec0::1 ff02::1`.split(/\s+/)
  assert.deepEqual(inside.filter(isPublicAddress), [])
  const outside =
    `1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 161.25.255.255
    161.27.0.0 166.7.255.255 166.12.0.0 168.63.129.15 168.63.129.17 169.253.255.255 172.15.255.255 172.32.0.0 192.167.255.255
    192.169.0.0 198.17.255.255 198.20.0.0 223.255.255.255 ::ffff:8.8.8.8 2600:1f00::1 2606:4700:4700::1111
    2a00:1450:4001::1`.split(/\s+/)
  assert.deepEqual(
    outside.filter((address) => !isPublicAddress(address)),
    [],
  )
  const none = [
    '',
    'localhost',
    'example.com',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    'g::1',
    '1.2.3.4/8',
    ' 8.8.8.8',
  ]
  assert.deepEqual(none.filter(isPublicAddress), [])
})

function assertRefused(text: string, rules: { allow_loopback: boolean }, why: RegExp): void {
  const verdict = judgeUrl(text, rules)
  assert.ok('refused' in verdict, `${text} was accepted`)
  assert.match(verdict.refused, why)
  assert.match(verdict.refused, /^["A-Z0-9a-z].*\.$/)
}
