import assert from 'node:assert/strict'
import { createHash, randomInt } from 'node:crypto'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import {
  digestKey,
  digestSecret,
  equalSecrets,
  isUuid,
  isWellFormedApiKey,
  mintApiKey,
  mintId,
  mintSecret,
} from './tokens.ts'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

describe('an API key', () => {
  test('is sk-svc- and 32 characters of base62, well formed, and never the same twice', () => {
    const keys = Array.from({ length: 2_000 }, mintApiKey)
    for (const key of keys) {
      assert.match(key, /^sk-svc-[0-9A-Za-z]{32}$/)
      assert.ok(isWellFormedApiKey(key), key)
    }
    assert.equal(new Set(keys).size, keys.length)
  })

  test('uses every character of base62 at every random place', () => {
    const seen = Array.from({ length: 26 }, () => new Set<string>())
    // A character has a chance of (61/62)^3000, about 1 in 10^21, to be missing at one place.
    for (let i = 0; i < 3_000; i++) {
      const key = mintApiKey()
      seen.forEach((characters, place) => characters.add(key.charAt(7 + place)))
    }
    for (const characters of seen) assert.equal(characters.size, BASE62.length)
  })

  test('ends in the CRC-32 of what stands before, in base62: a scanner elsewhere can check it', () => {
    for (let i = 0; i < 200; i++) {
      const key = mintApiKey()
      assert.equal(fromBase62(key.slice(-6)), BigInt(crc32OfText(key.slice(0, -6))), key)
    }
  })

  test('with any one character changed to any other is refused', () => {
    for (let i = 0; i < 20; i++) {
      const key = mintApiKey()
      for (let place = 7; place < key.length; place++) {
        for (const character of BASE62) {
          if (character === key[place]) continue
          const changed = key.slice(0, place) + character + key.slice(place + 1)
          assert.equal(isWellFormedApiKey(changed), false, `${key} -> ${changed}`)
        }
      }
    }
  })

  test('with two neighbours swapped is refused', () => {
    for (let i = 0; i < 200; i++) {
      const key = mintApiKey()
      for (let place = 7; place < key.length - 1; place++) {
        const [left = '', right = ''] = key.slice(place, place + 2)
        if (left === right) continue
        const swapped = key.slice(0, place) + right + left + key.slice(place + 2)
        assert.equal(isWellFormedApiKey(swapped), false, `${key} -> ${swapped}`)
      }
    }
  })

  test('guessed at random is refused before any query: none of 100,000', () => {
    const passed: string[] = []
    for (let i = 0; i < 100_000; i++) {
      let guess = 'sk-svc-'
      for (let place = 0; place < 32; place++)
        guess += BASE62.charAt(Math.floor(Math.random() * 62))
      if (isWellFormedApiKey(guess)) passed.push(guess)
    }
    assert.deepEqual(passed, [])
  })

  test('of another shape is refused: longer, shorter, another prefix, a line end, any text', () => {
    const key = mintApiKey()
    const others = [
      '',
      key.slice(0, -1),
      `${key}0`,
      `${key}\n`,
      ` ${key}`,
      key.toUpperCase(),
      key.replace('sk-svc-', 'sk-ant-'),
      `${key}${key}`,
    ]
    for (const text of others) assert.equal(isWellFormedApiKey(text), false, JSON.stringify(text))
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isWellFormedApiKey(text)))
  })
})

describe('a secret', () => {
  test('carries its prefix and 256 random bits in characters that need no escape', () => {
    const secrets = Array.from({ length: 500 }, () => mintSecret('sess_'))
    for (const secret of secrets) assert.match(secret, /^sess_[A-Za-z0-9_-]{43}$/)
    assert.equal(new Set(secrets).size, secrets.length)
  })

  test('is kept as SHA-256, and its cache key is the same digest, one character a byte', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
        const expected = createHash('sha256').update(secret, 'utf8').digest()
        assert.deepEqual(digestSecret(secret), expected)
        assert.deepEqual(Buffer.from(digestKey(secret), 'latin1'), expected)
        assert.equal(digestKey(secret).length, 32)
      }),
    )
  })

  test('equals itself and no other, whatever their lengths', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (left, right) => {
        assert.equal(equalSecrets(left, left), true)
        assert.equal(equalSecrets(left, right), left === right)
        assert.equal(equalSecrets(left, `${left}x`), false)
      }),
    )
  })
})

describe('an id', () => {
  const moments = fc.date({
    min: new Date(0),
    max: new Date(2 ** 48 - 1),
    noInvalidDate: true,
  })

  test('is a UUID of version 7 with the time in its first 48 bits', () => {
    fc.assert(
      fc.property(moments, (at) => {
        const id = mintId({ at })
        assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        assert.equal(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16), at.getTime())
        assert.ok(isUuid(id))
      }),
    )
  })

  test('sorts by its time', () => {
    fc.assert(
      fc.property(moments, moments, (one, other) => {
        if (one.getTime() === other.getTime()) return
        const [earlier, later] = one < other ? [one, other] : [other, one]
        assert.ok(mintId({ at: earlier, tag: randomInt(4096) }) < mintId({ at: later, tag: 0 }))
      }),
    )
  })

  test('takes the present time when it is given none', () => {
    const earliest = Date.now()
    const time = Number.parseInt(mintId().replaceAll('-', '').slice(0, 12), 16)
    assert.ok(time >= earliest && time <= Date.now())
  })

  test('carries its tag in the 12 bits after the version', () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xfff }), (tag) => {
        assert.equal(Number.parseInt(mintId({ tag }).slice(15, 18), 16), tag)
      }),
    )
  })

  test('is never the same twice within one millisecond, tagged or not', () => {
    const at = new Date('2026-01-01T00:00:00Z')
    const ids = Array.from({ length: 5_000 }, (_, i) => mintId(i % 2 ? { at } : { at, tag: 7 }))
    assert.equal(new Set(ids).size, ids.length)
  })

  test('is told from other text', () => {
    const id = mintId()
    assert.ok(isUuid(id.toUpperCase()))
    for (const text of ['', `${id}\n`, `{${id}}`, id.replaceAll('-', ''), `${id}0`, id.slice(1)]) {
      assert.equal(isUuid(text), false, JSON.stringify(text))
    }
  })
})

function fromBase62(digits: string): bigint {
  let value = 0n
  for (const digit of digits) value = value * 62n + BigInt(BASE62.indexOf(digit))
  return value
}

/** The textbook form, bit by bit: independent of the one under test. */
function crc32OfText(text: string): number {
  let crc = 0xffffffff
  for (const byte of Buffer.from(text, 'ascii')) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
