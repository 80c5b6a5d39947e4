// Nobody can make us dial what only we can reach: the W rows of docs/security.md at the level of a single attempt.

import assert from 'node:assert/strict'
import { stat } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import { Webhook } from 'standardwebhooks'
import { CallSignal, HttpFailure } from '../../src/platform/http-call.ts'
import { createHttpClient } from '../../src/platform/http-client.ts'
import { type NameLookup, resolverLookup } from '../../src/platform/name-lookup.ts'
import { guardedConnector, judgeUrl } from '../../src/platform/public-address.ts'
import { type AttemptOptions, sendAttempt } from '../../src/webhooks/attempt.ts'
import { createWebhookClient, type WebhookClient } from '../../src/webhooks/client.ts'
import { deliveryHeaders, mintWebhookSecret } from '../../src/webhooks/signature.ts'
import { AUTHORITY, OTHER_NAME } from '../support/certificates.ts'
import { eventually } from '../support/eventually.ts'
import { startNameServer, type Zone } from '../support/name-server.ts'
import { startReceiver } from '../support/receiver.ts'

const MODES = [{ allow_loopback: false }, { allow_loopback: true }]
const LIMITS = { headers_ms: 5_000, idle_ms: 5_000, total_ms: 5_000 }
const PUBLIC = '8.8.8.8'
const REQUEST = { headers: {}, body: '{}' }

type Internal = Awaited<ReturnType<typeof startReceiver>>
let internal: Internal
before(async () => {
  tls.setDefaultCACertificates([AUTHORITY])
  // Wherever a proxy setting would lead, nobody may follow it.
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy', 'ALL_PROXY']) {
    process.env[name] = 'http://127.0.0.1:9'
  }
  internal = await startReceiver((_request, response) => void response.end('internal'))
})

function clientWith(options: { allow_loopback: boolean; lookup?: NameLookup }): WebhookClient {
  const client = createWebhookClient({ connect_ms: 1_000, ...options })
  after(() => client.close())
  return client
}

async function assertBlocked(client: WebhookClient, url: string): Promise<void> {
  const connections = internal.seen.connections
  const result = await sendAttempt(client, { ...REQUEST, url })
  assert.equal(result.outcome, 'blocked', `${url}: ${result.reason}`)
  assert.equal(result.response_status, 0)
  assert.equal(result.response_body, 'blocked address')
  assert.equal(internal.seen.connections, connections)
}

describe('an address is refused where it is registered, and nothing is dialled', () => {
  const refuse = (urls: readonly string[]) => {
    for (const url of urls) {
      for (const mode of MODES) assert.ok('refused' in judgeUrl(url, mode), url)
    }
  }

  test('W1: another scheme than https', async () => {
    refuse(['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'data:text/plain,x'])
    refuse(['javascript:alert(1)', 'gopher://example.com/', 'unix:/run/docker.sock', 'https:'])
  })

  test('W2: a literal that is not public', async () => {
    const literals =
      `10.1.2.3 192.168.1.1 172.31.0.1 169.254.169.254 100.64.0.1 0.0.0.0 198.18.0.1 240.0.0.1
      224.0.0.1 168.63.129.16 127.0.0.2 255.255.255.255`.split(/\s+/)
    refuse(literals.flatMap((literal) => [`https://${literal}/`, `http://${literal}/`]))
    for (const literal of literals) {
      await assertBlocked(
        clientWith({ allow_loopback: true }),
        `https://${literal}:${internal.port}/`,
      )
    }
  })

  test('W3: 127.0.0.1 in disguise, also where loopback is allowed', async () => {
    const disguises =
      `2130706433 0x7f000001 0177.0.0.1 127.1 127.0.1 0x7f.1 017700000001 127.0.0.1. 127.00.0.1
      ①②⑦.⓪.⓪.① 127。0。0。1 127．0．0．1 １２７.0.0.1 %31%32%37.0.0.1`.split(/\s+/)
    for (const host of disguises) {
      assert.equal(URL.parse(`http://${host}/`)?.hostname, '127.0.0.1', host)
      refuse([`https://${host}/`, `http://${host}/`])
      const url = `http://${host}:${internal.port}/`
      await assertBlocked(clientWith({ allow_loopback: true }), url)
    }
  })

  test('W4: addresses of IPv6 that are not public', async () => {
    const literals =
      `::1 :: ::ffff:127.0.0.1 ::127.0.0.1 fe80::1 fc00::1 fd00:ec2::254 fec0::1 ff02::1 ::ffff:10.0.0.1
      ::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b:1::1 2002:7f00:1:: 2001::1 0:0:0:0:0:0:0:1 ::ffff:a9fe:a9fe`.split(
        /\s+/,
      )
    refuse(literals.flatMap((literal) => [`https://[${literal}]/`, `http://[${literal}]/`]))
    for (const literal of literals) {
      const url = `https://[${literal}]:${internal.port}/`
      await assertBlocked(clientWith({ allow_loopback: true }), url)
    }
  })
})

describe('a public name is judged by where it leads when it is dialled', () => {
  const serve = async (zone: Zone) => {
    const server = await startNameServer(zone)
    after(() => server.close())
    return { ...server, lookup: resolverLookup({ servers: [server.address] }) }
  }
  const url = () => `https://hooks.example.com:${internal.port}/`

  const zones: [what: string, A: string[], AAAA: string[]][] = [
    ['this machine', ['127.0.0.1'], []],
    ['this machine by IPv6', [], ['::1']],
    ['a private address', ['10.0.0.1'], []],
    ['a mapped address', [], ['::ffff:127.0.0.1']],
    ['one public and one private address', [PUBLIC, '127.0.0.1'], []],
    ['a public IPv4 and a private IPv6 address', [PUBLIC], ['fd00::1']],
    ['the metadata of a cloud', ['169.254.169.254'], ['fd00:ec2::254']],
  ]
  for (const [what, A, AAAA] of zones) {
    test(`W7: a name that leads to ${what} is registered and never dialled`, async () => {
      const { lookup, asked } = await serve((_name, type) => (type === 'A' ? A : AAAA))
      for (const mode of MODES) {
        assert.ok('url' in judgeUrl(url(), mode))
        await assertBlocked(clientWith({ ...mode, lookup }), url())
      }
      assert.deepEqual(asked.slice(0, 2).sort(), ['A hooks.example.com', 'AAAA hooks.example.com'])
    })
  }

  test('W7: what a name leads to is not told to whoever registered it', async () => {
    const { lookup } = await serve((_name, type) => (type === 'A' ? ['10.9.8.7'] : []))
    const result = await sendAttempt(clientWith({ allow_loopback: false, lookup }), {
      ...REQUEST,
      url: url(),
    })
    assert.doesNotMatch(JSON.stringify(result), /10\.9\.8\.7/)
    assert.match(result.reason, /^hooks\.example\.com leads to an address that is not public/)
  })

  test('W8: a name that is public when it is checked and ours when it is dialled is refused', async () => {
    let answers = 0
    const { lookup } = await serve((_name, type) => {
      if (type === 'AAAA') return []
      answers += 1
      return [answers === 1 ? PUBLIC : '127.0.0.1']
    })
    const checked = await new Promise((resolve) =>
      lookup('hooks.example.com', (_error, found) => resolve(found)),
    )
    assert.deepEqual(checked, [{ address: PUBLIC }])
    await assertBlocked(clientWith({ allow_loopback: true, lookup }), url())
    assert.equal(answers, 2)
  })

  test('W8: the address of the socket counts, whatever the lookup said', async () => {
    let reads = 0
    const shifty = {
      get address() {
        reads += 1
        return reads === 1 ? PUBLIC : '127.0.0.1'
      },
    }
    const lookup: NameLookup = (_name, done) => done(null, [shifty])
    const client = clientWith({ allow_loopback: false, lookup })
    const trusted = await startReceiver((_request, response) => void response.end(), {
      cert: OTHER_NAME,
    })
    await assertBlocked(client, `https://hooks.example.com:${trusted.port}/`)
    assert.equal(trusted.seen.connections, 1)
    assert.equal(trusted.received.length, 0)
    assert.ok(reads > 1)
  })

  test('a name that leads nowhere, and one whose servers are silent, are failures of the name', async () => {
    const { lookup } = await serve((name) => (name.startsWith('silent') ? null : []))
    const client = createWebhookClient({ allow_loopback: false, lookup })
    after(() => client.close())
    const expected = {
      empty: 'The name empty.example.com was not found in the DNS.',
      silent: 'The name servers of silent.example.com did not answer.',
    }
    for (const [name, reason] of Object.entries(expected)) {
      const target = { ...REQUEST, url: `https://${name}.example.com/` }
      const result = await sendAttempt(client, target)
      assert.deepEqual([result.outcome, result.reason], ['dns', reason])
    }
  })

  test('forty names with silent servers hold up neither other names nor the thread pool', async () => {
    const { lookup } = await serve((name) => (name.startsWith('silent') ? null : ['10.0.0.1']))
    const client = clientWith({ allow_loopback: false, lookup })
    let over = 0
    const silent = Array.from({ length: 40 }, async (_, index) => {
      const url = `https://silent-${index}.example.com/`
      const { outcome } = await sendAttempt(client, { ...REQUEST, url })
      over += 1
      return outcome
    })
    const quick = await sendAttempt(client, { ...REQUEST, url: 'https://quick.example.com/' })
    assert.equal(quick.outcome, 'blocked')
    await stat('.')
    assert.equal(over, 0)
    for (const outcome of await Promise.all(silent)) assert.match(outcome, /dns|connect_timeout/)
  })
})

describe('the connector needs nobody before it', () => {
  const dial = async (url: string, allow_loopback: boolean, lookup?: NameLookup) => {
    const rules = { allow_loopback, connect_ms: 1_000, ...(lookup && { lookup }) }
    const client = createHttpClient({ connect: guardedConnector(rules) })
    after(() => client.close())
    const sent = client.send({ url, headers: {}, limits: LIMITS, signal: new CallSignal() })
    return sent.then(
      (reply) => reply.status,
      (error: unknown) =>
        error instanceof HttpFailure && error.cause instanceof Error && 'code' in error.cause
          ? error.cause.code
          : error,
    )
  }

  test('W9: literals, for which undici calls no lookup, are refused by the connector', async () => {
    const connections = internal.seen.connections
    const lookup: NameLookup = (_name, done) => done(null, [{ address: '127.0.0.1' }])
    for (const host of [
      '127.0.0.1',
      '2130706433',
      '[::ffff:127.0.0.1]',
      '[::1]',
      '10.0.0.1',
      'localhost',
    ]) {
      for (const scheme of ['http', 'https']) {
        const url = `${scheme}://${host}:${internal.port}/`
        assert.equal(await dial(url, false, lookup), 'SVC_BLOCKED_ADDRESS', url)
      }
    }
    assert.equal(internal.seen.connections, connections)
  })

  test('W9: where loopback is allowed, only localhost and 127.0.0.1 are this machine', async () => {
    const lookup: NameLookup = (_name, done) => done(null, [{ address: '127.0.0.1' }])
    const at = (host: string) => dial(`http://${host}:${internal.port}/`, true, lookup)
    assert.equal(await at('localhost'), 200)
    assert.equal(await at('127.0.0.1'), 200)
    for (const host of ['127.0.0.2', '[::1]', '0.0.0.0', 'foo.localhost', 'hooks.example.com']) {
      assert.equal(await at(host), 'SVC_BLOCKED_ADDRESS', host)
    }
  })

  test('W9: the resolver is not asked where localhost is', async () => {
    const lookup: NameLookup = (_name, done) => done(null, [{ address: PUBLIC }])
    assert.equal(await dial(`http://localhost:${internal.port}/`, true, lookup), 200)
  })
})

describe('a receiver cannot lead us on or keep us', () => {
  const attempt = async (answer: RequestListener, options: AttemptOptions = {}) => {
    const receiver = await startReceiver(answer)
    const client = clientWith({ allow_loopback: true })
    const result = await sendAttempt(client, { ...REQUEST, url: receiver.url }, options)
    return { ...result, receiver }
  }

  test('W10: no redirect is followed, by status or by a page', async () => {
    const location = `http://127.0.0.1:${internal.port}/`
    const connections = internal.seen.connections
    for (const status of [301, 302, 303, 307, 308]) {
      const result = await attempt((_request, response) => {
        response.writeHead(status, { location, refresh: `0; url=${location}` }).end()
      })
      assert.deepEqual([result.outcome, result.response_status], ['redirect', status])
    }
    const page = `<meta http-equiv="refresh" content="0; url=${location}">`
    const result = await attempt((_request, response) => void response.end(page))
    assert.deepEqual([result.outcome, result.response_body], ['delivered', page])
    assert.equal(internal.seen.connections, connections)
  })

  test('W13: a body without end is left after 64 KiB, and its connection closed', async () => {
    let sent = 0
    const result = await attempt((_request, response) => {
      const piece = Buffer.alloc(64 * 1024, 'x')
      const pump = () => {
        while (!response.destroyed && sent < 2 ** 30) {
          sent += piece.length
          if (!response.write(piece)) return void response.once('drain', pump)
        }
      }
      pump()
    })
    assert.deepEqual([result.outcome, result.response_status], ['delivered', 200])
    assert.equal(result.response_body, 'x'.repeat(4096))
    await eventually('the connection is closed', () => result.receiver.seen.cut === 1)
    assert.ok(sent < 32 * 2 ** 20, `${sent} bytes were sent`)
  })

  test('W13: a body that drips is cut when the time is over; the status decides', async () => {
    for (const [status, outcome] of [
      [200, 'delivered'],
      [500, 'http_error'],
    ] as const) {
      const result = await attempt(
        (_request, response) => {
          response.writeHead(status)
          const drip = setInterval(() => response.write('.'), 20)
          response.on('close', () => clearInterval(drip))
        },
        { total_ms: 300 },
      )
      assert.deepEqual([result.outcome, result.response_status], [outcome, status])
      assert.match(result.response_body, /^\.+$/)
      assert.ok(result.duration_ms >= 290 && result.duration_ms < 3_000)
      await eventually('the connection is closed', () => result.receiver.seen.cut === 1)
    }
  })

  test('W13: a receiver that never answers is left when the time is over', async () => {
    const result = await attempt(() => {}, { total_ms: 200 })
    assert.deepEqual([result.outcome, result.response_status], ['timeout', 0])
    assert.match(result.reason, /did not answer within 0\.2 s\.$/)
    await eventually('the connection is closed', () => result.receiver.seen.cut === 1)
  })

  test('W13: a bomb is not unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20))
    const before = process.memoryUsage().rss
    const result = await attempt((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb)
    })
    assert.equal(result.response_body, `(gzip, ${bomb.length} bytes)`)
    assert.ok(process.memoryUsage().rss - before < 40 * 2 ** 20)
  })

  test('W13: 100 kB of headers are not read', async () => {
    const result = await attempt((_request, response) => {
      for (let i = 0; i < 100; i += 1) response.setHeader(`x-${i}`, 'x'.repeat(1_000))
      response.end()
    })
    assert.deepEqual([result.outcome, result.response_status], ['too_many_headers', 0])
  })

  test('W13: after all of that the client still delivers, and has no call open', async () => {
    const client = clientWith({ allow_loopback: true })
    const silent = await startReceiver(() => {})
    const url = silent.url
    const given_up = Array.from({ length: 20 }, () =>
      sendAttempt(client, { ...REQUEST, url }, { total_ms: 100 }),
    )
    for (const { outcome } of await Promise.all(given_up)) assert.equal(outcome, 'timeout')
    await wait(20)
    const result = await sendAttempt(client, { ...REQUEST, url: internal.url })
    assert.equal(result.response_body, 'internal')
  })
})

test('W16: what arrives verifies, by the specification and by the official library', async () => {
  const secret = mintWebhookSecret()
  const receiver = await startReceiver((_request, response) => void response.end())
  const client = clientWith({ allow_loopback: true })
  const body = '{"id":"evt_1","data":{"note":"Zoë 🦊 日本 \\u0000 \u2028"}}'
  const event = { event_type: 'usage.completed', event_id: 'evt_1', body, secret, at: new Date() }
  const sent = await sendAttempt(client, {
    url: receiver.url,
    headers: deliveryHeaders(event),
    body,
  })
  assert.equal(sent.outcome, 'delivered')
  const [got] = receiver.received
  assert.ok(got)
  const headers = Object.fromEntries(
    Object.entries(got.headers).map(([name, value]) => [name, String(value)]),
  )
  const key = await crypto.subtle.importKey(
    'raw',
    new TextEncoder().encode(secret),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['verify'],
  )
  const signature = new Uint8Array(Buffer.from(headers['x-svc-signature'] ?? '', 'hex'))
  assert.ok(await crypto.subtle.verify('HMAC', key, signature, new Uint8Array(got.body)))
  assert.deepEqual(new Webhook(secret).verify(got.body, headers), JSON.parse(body))
  assert.equal(headers['x-svc-event'], 'usage.completed')
  assert.equal(headers['content-type'], 'application/json')
  assert.equal(headers['user-agent'], 'Svc-Webhooks/1.0')
})
