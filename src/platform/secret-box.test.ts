import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/same-cases.ts'
import { mintSecretKey, parseSecretKeys, SecretBox, SecretNotOpened } from './secret-box.ts'

const [OLD, NEW] = [mintSecretKey(), mintSecretKey()]

function boxWith(text: string): SecretBox {
  return new SecretBox(() => parseSecretKeys(text) ?? [])
}

test('a secret opens as it was sealed, and its sealed form shows nothing of it', () => {
  const box = boxWith(OLD)
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, row) => {
      const sealed = box.seal(text, row)
      assert.equal(box.open(sealed, row), text)
      assert.match(sealed, /^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/)
      assert.notEqual(box.seal(text, row), sealed)
    }),
  )
})

test('a secret opens only for its row, unchanged, and with its key', () => {
  const box = boxWith(`k1:${OLD}`)
  const sealed = box.seal('whsec_text', 'wh_1')
  assert.throws(() => box.open(sealed, 'wh_2'), SecretNotOpened)
  const [version, id, content = ''] = sealed.split('.')
  const bytes = Buffer.from(content, 'base64url')
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ 1
    const text = `${version}.${id}.${changed.toString('base64url')}`
    assert.throws(() => box.open(text, 'wh_1'), SecretNotOpened)
  }
  assert.throws(() => boxWith(`k1:${NEW}`).open(sealed, 'wh_1'), /key k1 does not open/)
  const short = `v1.k1.${bytes.subarray(0, 27).toString('base64url')}`
  for (const text of ['', 'whsec_text', 'v1.k1.', `v2.${id}.${content}`, short]) {
    assert.throws(() => box.open(text, 'wh_1'), /not a sealed secret/)
  }
})

test('of several keys the first seals and all open, so that keys can be changed', () => {
  const before = boxWith(`a:${OLD}`)
  const sealed = before.seal('text', 'row')
  const between = boxWith(`b:${NEW}, a:${OLD}`)
  assert.equal(between.open(sealed, 'row'), 'text')
  assert.equal(between.isCurrent(sealed), false)
  const again = between.seal(between.open(sealed, 'row'), 'row')
  assert.equal(between.isCurrent(again), true)
  const after = boxWith(`b:${NEW}`)
  assert.equal(after.open(again, 'row'), 'text')
  assert.throws(
    () => after.open(sealed, 'row'),
    (error) => {
      assert.ok(error instanceof SecretNotOpened)
      assert.match(error.message, /sealed with key a, .* \(it has b\): add that key to SECRETS_KEY/)
      return true
    },
  )
})

test('a key without an id is known by itself, alone and in a list', () => {
  const sealed = boxWith(OLD).seal('text', 'row')
  assert.equal(boxWith(`${NEW},${OLD}`).open(sealed, 'row'), 'text')
  assert.equal(boxWith(`b:${NEW},${OLD.replace('=', '')}`).open(sealed, 'row'), 'text')
})

test('what is no key, or names two keys alike, is not taken', () => {
  for (const text of [
    '',
    'short',
    OLD.slice(1),
    `x${OLD}`,
    `${OLD},`,
    `a:${OLD},a:${NEW}`,
    `${OLD},${OLD}`,
    `a b:${OLD}`,
    `a:b:${OLD}`,
    `:${OLD}`,
  ]) {
    assert.equal(parseSecretKeys(text), undefined, text)
  }
})

test('the keys are read once, when they are first needed', () => {
  let reads = 0
  const box = new SecretBox(() => {
    reads += 1
    return parseSecretKeys(OLD) ?? []
  })
  assert.equal(reads, 0)
  box.prepare()
  box.open(box.seal('text', 'row'), 'row')
  assert.equal(reads, 1)
})
