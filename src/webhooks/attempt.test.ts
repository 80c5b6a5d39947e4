import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, before, describe, test } from 'node:test'
import tls from 'node:tls'
import { gzipSync } from 'node:zlib'
import {
  AUTHORITY,
  EXPIRED,
  GOOD,
  OTHER_NAME,
  SELF_SIGNED,
} from '../../test/support/certificates.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startReceiver } from '../../test/support/receiver.ts'
import { CallSignal } from '../platform/http-call.ts'
import { NameNotFound } from '../platform/name-lookup.ts'
import { type AttemptOptions, sendAttempt } from './attempt.ts'
import { createWebhookClient, type WebhookClient } from './client.ts'

let client: WebhookClient
before(() => {
  tls.setDefaultCACertificates([AUTHORITY])
  client = createWebhookClient({ allow_loopback: true, connect_ms: 1_000 })
})
after(() => client.close())

const REQUEST = { headers: { 'Content-Type': 'application/json', 'X-Svc-Event': 'e' }, body: '{}' }

const send = (url: string, options: AttemptOptions = {}) =>
  sendAttempt(client, { ...REQUEST, url }, options)

async function answered(listener: RequestListener, options: AttemptOptions = {}) {
  const receiver = await startReceiver(listener)
  const result = await send(receiver.url, options)
  return { ...result, receiver }
}

/** A server that speaks no HTTP of its own. */
async function rawPort(onSocket: (socket: Socket) => void): Promise<number> {
  const server = createServer((socket) => onSocket(socket.on('error', () => {}))).listen(0)
  await once(server, 'listening')
  after(() => server.close())
  return (server.address() as AddressInfo).port
}

describe('an answer decides by its status', () => {
  test('2xx is delivered; the bytes and headers arrive as they were given', async () => {
    const receiver = await startReceiver((_request, response) => void response.end('thanks'))
    const body = Buffer.from('{"name":"Zoë 🦊"}')
    const url = `${receiver.url}?token=1`
    const result = await sendAttempt(client, { ...REQUEST, url, body })
    assert.equal(result.outcome, 'delivered')
    assert.equal(result.response_status, 200)
    assert.equal(result.response_body, 'thanks')
    assert.equal(result.reason, `localhost:${receiver.port} answered 200 OK.`)
    assert.ok(Number.isInteger(result.duration_ms) && result.duration_ms >= 0)
    const [got] = receiver.received
    assert.deepEqual(got?.body, body)
    assert.equal(got?.path, '/hook?token=1')
    assert.equal(got?.headers['x-svc-event'], 'e')
    assert.equal(got?.headers['accept-encoding'], 'identity')
    assert.equal(got?.headers['content-length'], String(body.length))
  })

  test('a connection is used again', async () => {
    const receiver = await startReceiver((_request, response) => void response.end('thanks'))
    for (let round = 0; round < 5; round += 1) await send(receiver.url)
    assert.ok(receiver.seen.connections <= 2, String(receiver.seen.connections))
  })

  const statuses = [
    [204, 'delivered', 'No Content.'],
    [299, 'delivered', '299.'],
    [304, 'redirect', 'Not Modified. Redirects are not followed'],
    [404, 'http_error', 'Not Found; any status from 200 to 299 counts as delivered.'],
    [410, 'gone', 'Gone: no further attempts are made.'],
    [500, 'http_error', 'Internal Server Error; any status'],
    [599, 'http_error', '599; any status'],
  ] as const
  for (const [status, outcome, words] of statuses) {
    test(`${status} is ${outcome}`, async () => {
      const result = await answered((_request, response) => void response.writeHead(status).end())
      assert.deepEqual([result.outcome, result.response_status], [outcome, status])
      assert.equal(result.response_body, '')
      assert.ok(result.reason.includes(words), result.reason)
    })
  }

  test('a redirect is not followed, and its target is named without its query', async () => {
    const result = await answered((_request, response) => {
      response.writeHead(307, { location: 'https://www.example.com/hook?key=secret' }).end()
    })
    assert.equal(result.outcome, 'redirect')
    assert.match(
      result.reason,
      /Redirect and points to https:\/\/www\.example\.com\/hook\. Redirects/,
    )
    assert.equal(result.receiver.received.length, 1)
  })
})

describe('of a body is kept', () => {
  const body = async (bytes: Buffer | string, headers: Record<string, string> = {}) => {
    const listener: RequestListener = (_request, response) => {
      response.writeHead(200, headers).end(bytes)
    }
    return (await answered(listener)).response_body
  }

  test('text, without NUL and other control characters', async () => {
    assert.equal(await body('a\0b\u001b[31mc\td\r\ne'), 'ab[31mc\td\r\ne')
    // Terminals take one character for the escape and the bracket together.
    assert.equal(await body('a\u009b31mb'), 'a31mb')
  })

  test('at most 4 KiB, cut between two characters', async () => {
    assert.equal(await body('x'.repeat(4096)), 'x'.repeat(4096))
    assert.equal(await body('x'.repeat(5000)), 'x'.repeat(4096))
    for (const character of ['é', '日', '🦊']) {
      for (let shift = 0; shift < 4; shift += 1) {
        const kept = await body('x'.repeat(shift) + character.repeat(4000))
        const size = Buffer.byteLength(kept)
        assert.ok(size <= 4096 && size > 4092, `${character} ${shift}: ${size}`)
        assert.match(kept, new RegExp(`^x{${shift}}(${character})+$`, 'u'))
      }
    }
  })

  test('a note in place of what is no text', async () => {
    assert.equal(await body(Buffer.from([0xff, 0xd8, 0xff, 0xe0])), '(binary, 4 bytes)')
    assert.equal(await body(Buffer.from('Zoë', 'latin1')), '(binary, 3 bytes)')
    assert.equal(await body(Buffer.alloc(5000, 0x80)), '(binary, 5000 bytes)')
    assert.equal(await body(Buffer.alloc(200_000, 0xff)), '(binary, more than 65536 bytes)')
  })

  test('a note in place of what is encoded', async () => {
    const packed = gzipSync('text')
    const note = `(gzip, ${packed.length} bytes)`
    assert.equal(await body(packed, { 'content-encoding': 'gzip' }), note)
    assert.equal(await body('text', { 'content-encoding': 'a, b"' }), '(encoded, 4 bytes)')
    assert.equal(await body('text', { 'content-encoding': 'Identity' }), 'text')
    assert.equal(await body('', { 'content-encoding': 'gzip' }), '')
  })

  test('what came before the receiver cut it', async () => {
    const cut = await answered((_request, response) => {
      response.writeHead(200)
      response.write('half a cha\xf0', 'latin1', () => response.destroy())
    })
    assert.deepEqual([cut.outcome, cut.response_status], ['delivered', 200])
    assert.equal(cut.response_body, 'half a cha')
  })
})

describe('without an answer the status is 0, and the reason says what to do', () => {
  const fails = async (url: string, outcome: string, reason: RegExp, words: string) => {
    const result = await send(url, { total_ms: 2_000 })
    assert.deepEqual([result.outcome, result.response_status], [outcome, 0], result.reason)
    assert.match(result.reason, reason)
    assert.equal(result.response_body, words)
  }

  test('nothing listens', async () => {
    const receiver = await startReceiver((_request, response) => void response.end())
    receiver.close()
    const reason = new RegExp(
      `^Nothing listens at port ${receiver.port} of localhost \\(connection refused\\)\\.$`,
    )
    await fails(receiver.url, 'refused', reason, 'connection refused')
  })

  test('the connection is closed or reset', async () => {
    for (const end of ['destroy', 'resetAndDestroy', 'end'] as const) {
      const port = await rawPort((socket) => socket.once('data', () => socket[end]()))
      const reason = /^localhost:\d+ closed the connection before it answered\.$/
      await fails(`http://localhost:${port}/`, 'reset', reason, 'connection closed')
    }
  })

  test('the answer is no HTTP', async () => {
    const port = await rawPort((socket) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'))
    const reason = /^What localhost:\d+ answered is not HTTP\.$/
    await fails(`http://localhost:${port}/`, 'invalid_answer', reason, 'not an HTTP answer')
  })

  test('the port speaks no TLS', async () => {
    const { port } = await startReceiver((_request, response) => void response.end())
    const reason = /^No TLS connection could be made to port \d+ of localhost \([A-Z_0-9]+\)\.$/
    await fails(`https://localhost:${port}/`, 'tls', reason, 'TLS handshake failed')
  })

  const certificates = [
    ['expired', EXPIRED, /^The TLS certificate of localhost expired on 2020-01-02\.$/],
    ['for another name', OTHER_NAME, /^The TLS certificate of localhost is for another name\.$/],
    ['self-signed', SELF_SIGNED, /^The TLS certificate of localhost is self-signed\.$/],
  ] as const
  for (const [what, cert, reason] of certificates) {
    test(`the certificate is ${what}, and nothing is sent, however often it is tried`, async () => {
      const receiver = await startReceiver((_request, response) => void response.end(), { cert })
      for (let round = 0; round < 3; round += 1) {
        await fails(receiver.url, 'tls', reason, 'TLS handshake failed')
      }
      assert.equal(receiver.received.length, 0)
    })
  }

  test('the name does not exist', async () => {
    const lost = createWebhookClient({
      allow_loopback: false,
      lookup: (_name, done) => done(new NameNotFound({ is_silence: false }), []),
    })
    after(() => lost.close())
    const result = await sendAttempt(lost, { ...REQUEST, url: 'https://gone.example.com/?key=1' })
    assert.deepEqual([result.outcome, result.response_status], ['dns', 0])
    assert.equal(result.reason, 'The name gone.example.com was not found in the DNS.')
  })

  test('no connection in time', async () => {
    const slow = createWebhookClient({ allow_loopback: false, connect_ms: 100, lookup: () => {} })
    after(() => slow.close())
    const result = await sendAttempt(slow, { ...REQUEST, url: 'https://slow.example.com:8443/' })
    assert.deepEqual([result.outcome, result.response_status], ['connect_timeout', 0])
    assert.equal(result.reason, 'slow.example.com:8443 did not accept a connection within 0.1 s.')
  })

  test('an address that may not be dialled any more', async () => {
    const reason = /^printer\.local is a name for use inside a network: it is not public\.$/
    await fails('https://printer.local/', 'blocked', reason, 'blocked address')
    await fails('nonsense', 'blocked', /^The address must begin with/, 'blocked address')
  })

  test('we gave it up', async () => {
    const signal = new CallSignal()
    const receiver = await startReceiver(() => signal.abort())
    const result = await send(receiver.url, { signal })
    assert.deepEqual([result.outcome, result.response_status], ['not_sent', 0])
    await eventually('the receiver is left', () => receiver.seen.cut === 1)
  })
})

test('a certificate that is right and trusted is enough', async () => {
  const receiver = await startReceiver((_request, response) => void response.end('hello'), {
    cert: GOOD,
  })
  const result = await send(receiver.url)
  assert.deepEqual([result.outcome, result.response_body], ['delivered', 'hello'])
})
