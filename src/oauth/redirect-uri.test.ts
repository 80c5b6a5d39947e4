import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeRedirectUri, matchesRedirectUri, requireRedirectUris } from './redirect-uri.ts'

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

/** P4: which kinds may register each spelling; n: native, b: browser (and with it a web server). */
const SPELLINGS: Record<string, '' | 'n' | 'bn'> = {
  'https://app.example/callback': 'bn',
  'https://app.example': 'bn',
  'https://app.example:8443/a?b=c': 'bn',
  'http://localhost/callback': 'bn',
  'http://localhost:3000/callback': 'bn',
  'http://127.0.0.1:49152': 'bn',
  'http://127.0.0.1/': 'bn',
  'http://[::1]/callback': 'n',
  'http://[::1]:51004/callback': 'n',
  'http://[::1]': 'n',
  'com.example.app:/callback': 'n',
  'com.example.app:/': 'n',
  'com.example.app:/callback?tenant=7': 'n',
  'com.example.my-app2:/oauth/callback': 'n',
  'com.example.app:/callback/../x': 'n',
  'io.svc:/%2F': 'n',
  'http://[::2]/callback': '',
  'http://[0:0:0:0:0:0:0:1]/callback': '',
  'http://[::ffff:127.0.0.1]/callback': '',
  'http://[::1%25eth0]/callback': '',
  'http://[::1]:0/callback': '',
  'http://[::1]:65536/callback': '',
  'http://[::1]@evil.example/callback': '',
  'http://[::1].evil.example/callback': '',
  'https://[::1]/callback': '',
  'http://::1/callback': '',
  'http://127.0.0.2/callback': '',
  'http://127.1/callback': '',
  'http://2130706433/callback': '',
  'http://0x7f000001/callback': '',
  'http://0177.0.0.1/callback': '',
  'http://127.0.0.1.evil.example/': '',
  'http://localhost.evil.example/': '',
  'http://localhost@evil.example/': '',
  'http://LOCALHOST/callback': '',
  'http://localhost:/callback': '',
  'http://localhost:080/callback': '',
  'http://localhost%2Fevil.example/': '',
  'http://app.example/callback': '',
  'https://app.example%2F@evil.example/': '',
  'https://app.example%5C@evil.example/': '',
  'https://app.example\\@evil.example/': '',
  'https://*.app.example/callback': '',
  'https://app.example/callback#x': '',
  'https:/app.example/callback': '',
  'https:app.example/callback': '',
  'com.example.app://callback': '',
  'com.example.app:///callback': '',
  'com.example.app:callback': '',
  'com.example.app:': '',
  'com.example.app:/callback#x': '',
  'com.example.app:/call back': '',
  'com.example.app:/*': '',
  'COM.example.app:/callback': '',
  'com..app:/callback': '',
  '.example.app:/callback': '',
  'com.example.:/callback': '',
  'com.example_app:/callback': '',
  '1com.example.app:/callback': '',
  'myapp:/callback': '',
  'myapp://callback': '',
  'javascript:alert(1)': '',
  'javascript:/callback': '',
  'data:text/html,hello': '',
  'data:/text.html': '',
  'file:/etc/passwd': '',
  'file:///etc/passwd': '',
  'blob:https://app.example/1': '',
  'about:/blank': '',
  'ws://localhost/callback': '',
  'wss:/app.example': '',
  'intent:/callback': '',
  'intent://callback#Intent;scheme=https;end': '',
  'view-source:/app.example': '',
  'ftp://app.example/': '',
  ' com.example.app:/callback': '',
  'com.example.app:/callback\n': '',
  'com.exämple.app:/callback': '',
}

test('P4: of every spelling only those that lead to the app itself can be registered, for each kind', () => {
  assert.ok(Object.keys(SPELLINGS).length >= 60)
  for (const [uri, kinds] of Object.entries(SPELLINGS)) {
    for (const client_type of ['web_server', 'browser', 'native'] as const) {
      const register = () => requireRedirectUris([uri], client_type)
      const letter = client_type === 'native' ? 'n' : 'b'
      const what = `${client_type} ${JSON.stringify(uri)}`
      if (kinds.includes(letter)) assert.deepEqual(register(), [uri], what)
      else assert.throws(register, { code: 'invalid_request' }, what)
    }
  }
})

test('P4: what can be registered matches itself, and no other spelling matches it but another port of this machine', () => {
  const uris = Object.keys(SPELLINGS)
  const plain = (uri: string) =>
    uri.replace(/^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::[1-9]\d*)?(?=[/?]|$)/, '$1')
  for (const registered of uris.filter((uri) => SPELLINGS[uri] !== '')) {
    for (const given of uris) {
      const is_same_place =
        given === registered ||
        (registered.startsWith('http:') &&
          given !== 'http://[::1]:65536/callback' &&
          plain(given) === plain(registered))
      assert.equal(matchesRedirectUri([registered], given), is_same_place, `${registered} ${given}`)
    }
  }
})

test('a person is told the host, the scheme of a program, and what is on this computer', () => {
  const shown = (uri: string) => describeRedirectUri(uri)
  assert.deepEqual(shown('https://app.example/x'), { place: 'app.example', is_loopback: false })
  assert.deepEqual(shown('http://[::1]:5/x'), { place: '[::1]:5', is_loopback: true })
  assert.deepEqual(shown('http://127.0.0.1/x'), { place: '127.0.0.1', is_loopback: true })
  assert.deepEqual(shown('com.example.app:/x'), { place: 'com.example.app:', is_loopback: false })
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
