import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { fc } from '../../test/support/same-cases.ts'
import { deliveryHeaders, mintWebhookSecret } from './signature.ts'

const EVENT = { event_type: 'balance.updated', event_id: 'evt_1' }

test('a secret is whsec_ and 32 random bytes in standard base64', () => {
  const secrets = Array.from({ length: 100 }, mintWebhookSecret)
  assert.equal(new Set(secrets).size, 100)
  for (const secret of secrets) {
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    assert.equal(Buffer.from(secret.slice(6), 'base64').length, 32)
  }
})

test('the headers are the four of the specification and the three of Standard Webhooks', () => {
  const secret = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
  const body = '{"id":"evt_1"}'
  const at = new Date('2026-03-01T12:00:00.999Z')
  const headers = deliveryHeaders({ ...EVENT, body, secret, at })
  assert.deepEqual(headers, {
    'Content-Type': 'application/json',
    'User-Agent': 'Svc-Webhooks/1.0',
    'X-Svc-Event': 'balance.updated',
    'X-Svc-Signature': hex(secret, body),
    'webhook-id': 'evt_1',
    'webhook-timestamp': '1772366400',
    'webhook-signature': headers['webhook-signature'],
  })
})

test('W16: both signatures verify for any payload, as text and as bytes', () => {
  const texts = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constant('{"name":"Zoë 🦊 日本 \u2028"}'),
  )
  fc.assert(
    fc.property(texts, (text) => {
      const secret = mintWebhookSecret()
      const body = JSON.stringify({ text })
      const at = new Date()
      const headers = deliveryHeaders({ ...EVENT, body, secret, at })
      assert.equal(headers['X-Svc-Signature'], hex(secret, body))
      assert.deepEqual(new Webhook(secret).verify(body, headers), JSON.parse(body))
      assert.deepEqual(deliveryHeaders({ ...EVENT, body: Buffer.from(body), secret, at }), headers)
    }),
  )
})

test('a signature does not verify with another secret, another body or another event', () => {
  const secret = mintWebhookSecret()
  const headers = deliveryHeaders({ ...EVENT, body: '{}', secret, at: new Date() })
  assert.throws(() => new Webhook(mintWebhookSecret()).verify('{}', headers))
  assert.throws(() => new Webhook(secret).verify('{ }', headers))
  assert.throws(() => new Webhook(secret).verify('{}', { ...headers, 'webhook-id': 'evt_2' }))
})

test('while a secret is being rotated, receivers with the old one and with the new one verify', () => {
  const [previous_secret, secret] = [mintWebhookSecret(), mintWebhookSecret()]
  const body = '{"note":"naïve"}'
  const headers = deliveryHeaders({ ...EVENT, body, secret, previous_secret, at: new Date() })
  assert.equal(headers['X-Svc-Signature'], hex(previous_secret, body))
  assert.equal(headers['X-Svc-Signature-Next'], hex(secret, body))
  assert.match(headers['webhook-signature'] ?? '', /^v1,\S+ v1,\S+$/)
  for (const one of [previous_secret, secret]) {
    assert.deepEqual(new Webhook(one).verify(body, headers), { note: 'naïve' })
  }
})

/** An HMAC of our own by RFC 2104: the key is the whole text, padded to a block of 64 bytes. */
function hex(secret: string, body: string): string {
  const key = Buffer.alloc(64)
  key.write(secret)
  const sha256 = (pad: number, content: Buffer) =>
    hash('sha256', Buffer.concat([key.map((byte) => byte ^ pad), content]), 'buffer')
  return sha256(0x5c, sha256(0x36, Buffer.from(body))).toString('hex')
}
