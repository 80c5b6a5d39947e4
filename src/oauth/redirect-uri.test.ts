import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesRedirectUri, requireRedirectUris } from './redirect-uri.ts'

const GOOD = [
  'https://app.example/callback',
  'https://app.example',
  'https://app.example:8443/callback?tenant=7',
  'https://xn--bcher-kva.example/callback',
  'https://sub.app.example/a/b/../c',
  'http://localhost:3000/callback',
  'http://localhost/callback',
  'http://127.0.0.1:49152/callback',
  'http://127.0.0.1',
]

const BAD = [
  'http://app.example/callback',
  'http://localhost.app.example/callback',
  'http://localhost@app.example/callback',
  'http://127.0.0.1.app.example/',
  'http://127.0.0.2/callback',
  'http://[::1]:3000/callback',
  'http://localhost:0/callback',
  'http://localhost:65536/callback',
  'https://*.app.example/callback',
  'https://app.example/*',
  'https://app.example/callback#fragment',
  'https://app.example/callback#',
  'https://user@app.example/callback',
  'https://user:word@app.example/callback',
  'https://app.example\\@evil.example/',
  'https://app.example/ callback',
  'https://app.example/\tcallback',
  'https://app.example/\u0000',
  'https://bücher.example/',
  'https://127.1/callback',
  'https://0x7f000001/callback',
  'https:///callback',
  'https://',
  '//app.example/callback',
  'javascript:alert(1)',
  'data:text/html,hello',
  'myapp://callback',
  'ftp://app.example/',
  'callback',
  '',
  `https://app.example/${'a'.repeat(2100)}`,
]

test('https with a host, and plain http on this machine with any port, can be registered', () => {
  for (const uri of GOOD) assert.deepEqual(requireRedirectUris([uri]), [uri], uri)
})

test('wildcards, fragments, user names, other schemes and odd spellings cannot', () => {
  for (const uri of BAD) {
    assert.throws(() => requireRedirectUris([uri]), { code: 'invalid_request' }, uri)
  }
})

test('an app has one to ten of them, each kept once', () => {
  const ten = Array.from({ length: 10 }, (_, i) => `https://app.example/${i}`)
  assert.equal(requireRedirectUris(ten).length, 10)
  assert.throws(() => requireRedirectUris([...ten, 'https://app.example/11']))
  assert.throws(() => requireRedirectUris([]))
  assert.deepEqual(requireRedirectUris(['https://a.example', 'https://a.example']), [
    'https://a.example',
  ])
})

test('an address matches only itself, character for character', () => {
  const registered = ['https://app.example/callback']
  assert.ok(matchesRedirectUri(registered, 'https://app.example/callback'))
  for (const near of [
    'https://app.example/callback/',
    'https://app.example/callback/more',
    'https://app.example/callbac',
    'https://app.example/callback?x=1',
    'https://app.example/callback#x',
    'https://app.example/Callback',
    'https://APP.example/callback',
    'https://app.example:443/callback',
    'https://app.example:444/callback',
    'https://app.example/./callback',
    'https://app.example/x/../callback',
    'https://app.example/%63allback',
    'https://app.example@evil.example/callback',
    'https://app.example.evil.example/callback',
    'https://evil.example/?https://app.example/callback',
    'http://app.example/callback',
    ' https://app.example/callback',
    'https://app.example\\.evil.example/callback',
  ]) {
    assert.equal(matchesRedirectUri(registered, near), false, near)
  }
})

test('on this machine any port matches, and nothing else may differ', () => {
  const registered = ['http://localhost:3000/callback']
  assert.ok(matchesRedirectUri(registered, 'http://localhost:51234/callback'))
  assert.ok(matchesRedirectUri(registered, 'http://localhost/callback'))
  for (const near of [
    'http://localhost:3000/other',
    'http://127.0.0.1:3000/callback',
    'http://[::1]:3000/callback',
    'http://localhost:0/callback',
    'http://localhost:65536/callback',
    'http://localhost:03000/callback',
    'http://localhost:/callback',
    'http://LOCALHOST:3000/callback',
    'https://localhost:3000/callback',
    'http://localhost:3000@evil.example/callback',
    'http://localhost:3000/callback#x',
  ]) {
    assert.equal(matchesRedirectUri(registered, near), false, near)
  }
})
